package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/ranking"
	"github.com/spf13/cobra"
)

// reading holds the flags of what reads one ranking.
type reading struct {
	output string
	limit  int
}

func (o *reading) Flags(a *cli.App, c *cobra.Command, limit int, what string) {
	a.ServerFlags(c)
	a.NamespaceFlag(c)
	cli.Outputs(c, &o.output, "table", "json")
	c.Flags().IntVar(&o.limit, "limit", limit, what)
}

func (o *reading) valid(least, most int) error {
	if o.limit < least || o.limit > most {
		return cli.Usage("write --limit 10", "--limit %d: it takes %d to %s", o.limit, least, terminal.Count(int64(most)))
	}
	return cli.OneOf("output", o.output, "table", "json")
}

func rankingsTopCommand(a *cli.App) *cobra.Command {
	var o reading
	c := &cobra.Command{
		Use:   "top KEY",
		Short: "The first members of a ranking",
		Long: `Gives the first members of the ranking with this key: a period, or a kept sum over several
periods. Members with one score are in the order that is declared (ties). How many
more there are is said.

Exit codes: 0 read, 1 the key is not there, 2 usage, 3 unreachable, 4 refused.`,
		Example: `  keywright rankings top ranking:product:sales:2025-01-15
  keywright rankings top ranking:product:sales:2025-01-15 --limit 100 -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usage("`keywright rankings` lists them", "rankings top takes the key of a ranking")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.valid(1, ranking.MaxRows); err != nil {
				return err
			}
			return readRanking(c.Context(), a, args[0], &o, func(ctx context.Context, r *bind.Ranking) ([]bind.Row, error) {
				return r.Top(ctx, o.limit)
			})
		},
	}
	o.Flags(a, c, 10, fmt.Sprintf("how many; at most %s", terminal.Count(ranking.MaxRows)))
	return c
}

func rankingsAroundCommand(a *cli.App) *cobra.Command {
	var o reading
	const most = (ranking.MaxRows - 1) / 2
	c := &cobra.Command{
		Use:   "around KEY MEMBER",
		Short: "A member of a ranking, with those above and below it",
		Long: `Gives the rank and the score of a member of the ranking with this key, and the members
above and below it. With --limit 0 it is the member alone.

Exit codes: 0 read, 1 the member or the key is not there, 2 usage, 3 unreachable, 4
refused.`,
		Example: `  keywright rankings around ranking:product:sales:2025-01-15 123
  keywright rankings around ranking:product:sales:2025-01-15 123 --limit 0`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return cli.Usage("`keywright rankings` lists them", "rankings around takes the key of a ranking and a member")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.valid(0, most); err != nil {
				return err
			}
			return readRanking(c.Context(), a, args[0], &o, func(ctx context.Context, r *bind.Ranking) ([]bind.Row, error) {
				rows, err := r.Around(ctx, args[1], o.limit)
				if errors.Is(err, keywright.ErrNotFound) {
					members, err := r.Len(ctx)
					if members == 0 || err != nil {
						return nil, err
					}
					return nil, noMember(args[1], r)
				}
				return rows, err
			})
		},
	}
	o.Flags(a, c, 5, fmt.Sprintf("how many above and how many below; at most %s", terminal.Count(most)))
	return c
}

func noMember(member string, r *bind.Ranking) error {
	return &cli.Exit{Code: cli.ExitFindings,
		Message: fmt.Sprintf("%s is no member of %s", finding.Key([]byte(member)), finding.Key([]byte(r.Name()))),
		Hint:    "`keywright rankings top` gives members"}
}

// RowsReport represents some rows of one ranking; its JSON names are stable.
type RowsReport struct {
	Entry   string          `json:"entry"` // with .window: the kept sum over several periods
	Key     finding.JSONKey `json:"key"`
	Members int64           `json:"members"` // of the whole ranking
	Rows    []answer.Row    `json:"rows"`
	Left    int64           `json:"not_listed,omitempty"`         // members that are not in rows
	Expires float64         `json:"expires_in_seconds,omitempty"` // absent: it does not expire
}

// readRanking reads rows of the ranking with a key, and prints them.
func readRanking(ctx context.Context, a *cli.App, key string, o *reading,
	read func(context.Context, *bind.Ranking) ([]bind.Row, error)) error {
	return a.WithConstructs(ctx, keyspace.Ranking, nil, func(c *keywright.Client, entries []*keyspace.Entry) error {
		k := rankingWith(entries, key)
		if k == nil {
			return cli.Usage("`keywright rankings` lists those that there are", "%q is the key of no declared ranking", key)
		}
		r := bind.RankingAt(c, a.Keyspace, k, key)
		rows, err := read(ctx, r)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return &cli.Exit{Code: cli.ExitFindings, Message: finding.Key([]byte(key)) + " is not there",
				Hint: "`keywright rankings` lists those that there are"}
		}
		report := RowsReport{Entry: k.Name, Key: finding.JSONKey(key)}
		for _, row := range rows {
			report.Rows = append(report.Rows, answer.RowOf(row))
		}
		if report.Members, err = r.Len(ctx); err != nil {
			return err
		}
		report.Left = max(0, report.Members-int64(len(rows)))
		if report.Expires, err = answer.ExpiresIn(ctx, r); err != nil {
			return err
		}
		return printRows(a, &report, o)
	})
}

// rankingWith returns the declared key of a ranking that a key is one of, nil if it is of none.
func rankingWith(entries []*keyspace.Entry, key string) *keyspace.Key {
	for _, e := range entries {
		for _, k := range e.Keys {
			if _, ok := k.Pattern.Match([]byte(key)); ok {
				return k
			}
		}
	}
	return nil
}

func printRows(a *cli.App, report *RowsReport, o *reading) error {
	if o.output == "json" {
		return a.JSON(report)
	}
	rows := make([][]string, len(report.Rows))
	for i, r := range report.Rows {
		rows[i] = []string{terminal.Count(r.Rank), finding.Key(r.Member), scoreText(r.Scored)}
	}
	err := terminal.Table(a.Out,
		[]terminal.Column{{Title: "rank", Right: true}, {Title: "member", Least: 12}, {Title: "score", Right: true}}, rows)
	if report.Left > 0 {
		a.Print("and %s", terminal.Plural(report.Left, "more member"))
	}
	return cmp.Or(err, a.Out.Err())
}
