package command

import (
	"cmp"
	"context"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	"github.com/spf13/cobra"
)

func (a *app) rankingsCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "rankings [entry]...",
		Short: "List the rankings of the keyspace; top and around read one",
		Long: `Lists the keys of the rankings, one per period, and the sums over several periods that
are kept: how many members they have, the first one with its score, and when they
expire. It changes nothing and makes no sum.

keywright rankings top gives the first members of one, keywright rankings around a member
with those above and below it.`,
		Example: `  keywright rankings
  keywright rankings daily_sales -o json
  keywright rankings top ranking:product:sales:2025-01-15
  keywright rankings around ranking:product:sales:2025-01-15 123`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := oneOf("output", output, "table", "json"); err != nil {
				return err
			}
			return a.withConstructs(c.Context(), keyspace.Ranking, args, func(client *keywright.Client, entries []*keyspace.Entry) error {
				return a.rankings(c.Context(), client, entries, output)
			})
		},
	}
	c.ValidArgsFunction = a.completeConstructs(keyspace.Ranking)
	a.serverFlags(c)
	a.namespaceFlag(c)
	outputs(c, &output, "table", "json")
	c.AddCommand(a.rankingsTopCommand(), a.rankingsAroundCommand())
	return c
}

// rankingsReport is what rankings has found; its JSON names are stable.
type rankingsReport struct {
	Rankings []rankingReport `json:"rankings"`
	gaps
}

// rankingReport is one key of a ranking.
type rankingReport struct {
	Entry   string          `json:"entry"` // with .window: the kept sum over several periods
	Key     finding.JSONKey `json:"key"`
	Members int64           `json:"members"`
	First   *rowReport      `json:"first,omitempty"`
	Expires float64         `json:"expires_in_seconds,omitempty"` // absent: it does not expire
}

// rowReport is a member of a ranking.
type rowReport struct {
	Rank   int64           `json:"rank"` // 1 is the top
	Member finding.JSONKey `json:"member"`
	scored
}

// reportRow is a row for a report.
func reportRow(r bind.Row) rowReport {
	return rowReport{r.Rank, finding.JSONKey(r.Member), scoreOf(r.Score)}
}

func (a *app) rankings(ctx context.Context, c *keywright.Client, entries []*keyspace.Entry, output string) error {
	report := rankingsReport{Rankings: []rankingReport{}}
	for _, e := range entries {
		err := a.rankingsOf(ctx, c, e, &report)
		if err := report.pass(ctx, e.Name, "", err); err != nil {
			return err
		}
	}
	var err error
	if output == "json" {
		err = a.json(report)
	} else {
		err = a.printRankings(&report)
	}
	return cmp.Or(err, report.verdict("rankings"))
}

func (a *app) rankingsOf(ctx context.Context, c *keywright.Client, e *keyspace.Entry, report *rankingsReport) error {
	found, bounded, err := bind.Rankings(ctx, c, a.keyspace, e)
	if err != nil {
		return err
	}
	if bounded {
		report.Cut = append(report.Cut, cutReport{e.Name, len(found)})
	}
	for _, r := range found {
		one, err := rankingOf(ctx, r)
		if err := report.pass(ctx, e.Name, r.Name(), err); err != nil {
			return err
		}
		if one.First != nil { // else it has expired meanwhile, or could not be read
			report.Rankings = append(report.Rankings, one)
		}
	}
	return nil
}

func rankingOf(ctx context.Context, r *bind.Ranking) (one rankingReport, err error) {
	one = rankingReport{Entry: r.Of.Name, Key: finding.JSONKey(r.Name())}
	first, err := r.Top(ctx, 1)
	if err != nil || len(first) == 0 {
		return one, err
	}
	if one.Members, err = r.Len(ctx); err != nil {
		return one, err
	}
	if one.Expires, err = expiresIn(ctx, r); err == nil {
		row := reportRow(first[0])
		one.First = &row
	}
	return one, err
}

// expiresIn is when a ranking expires, in seconds; 0: never, or it is gone.
func expiresIn(ctx context.Context, r *bind.Ranking) (float64, error) {
	left, _, err := r.TTL(ctx)
	if err == keywright.ErrNotFound {
		err = nil
	}
	return left.Seconds(), err
}

func (a *app) printRankings(report *rankingsReport) error {
	rows := make([][]string, len(report.Rankings))
	for i, r := range report.Rankings {
		rows[i] = []string{finding.Key(r.Key), terminal.Count(r.Members), finding.Key(r.First.Member), r.First.text(), seconds(r.Expires), r.Entry}
	}
	defer report.tell(a)
	if len(rows) == 0 {
		report.none(a, "no ranking has a key")
		return nil
	}
	return terminal.Table(a.out, []terminal.Column{{Title: "ranking", Least: 24}, {Title: "members", Right: true}, {Title: "first", Least: 8},
		{Title: "score", Right: true}, {Title: "expires in", Right: true, Drop: 1}, {Title: "entry", Drop: 2}}, rows)
}

// scored is a score as JSON has it, which has no infinite numbers.
type scored struct {
	Score    *float64 `json:"score,omitempty"`    // absent: it is infinite
	Infinite string   `json:"infinite,omitempty"` // inf or -inf
}

func scoreOf(f float64) scored {
	if f-f != 0 {
		return scored{Infinite: map[bool]string{true: "inf", false: "-inf"}[f > 0]}
	}
	return scored{Score: &f}
}

// text is a score in a table.
func (s scored) text() string {
	if s.Score == nil {
		return s.Infinite
	}
	if f := *s.Score; f == float64(int64(f)) && f < 1<<53 && f > -1<<53 {
		return terminal.Count(int64(f))
	}
	return strconv.FormatFloat(*s.Score, 'g', -1, 64)
}
