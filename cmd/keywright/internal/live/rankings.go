package live

import (
	"cmp"
	"context"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/spf13/cobra"
)

func RankingsCommand(a *cli.App) *cobra.Command {
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
			if err := cli.OneOf("output", output, "table", "json"); err != nil {
				return err
			}
			return a.WithConstructs(c.Context(), keyspace.Ranking, args,
				func(client *keywright.Client, entries []*keyspace.Entry) error {
					return rankings(c.Context(), a, client, entries, output)
				})
		},
	}
	c.ValidArgsFunction = a.CompleteConstructs(keyspace.Ranking)
	a.ServerFlags(c)
	a.NamespaceFlag(c)
	cli.Outputs(c, &output, "table", "json")
	c.AddCommand(rankingsTopCommand(a), rankingsAroundCommand(a))
	return c
}

func rankings(ctx context.Context, a *cli.App, c *keywright.Client, entries []*keyspace.Entry, output string) error {
	report, err := a.ConstructReader(c).ReadRankings(ctx, entries)
	if err != nil {
		return err
	}
	err = a.WriteReport(output, report, func() error { return printRankings(a, &report) })
	return cmp.Or(err, cli.ListedInPart(&report.Gaps, "rankings"))
}

func printRankings(a *cli.App, report *answer.Rankings) error {
	rows := make([][]string, len(report.Rankings))
	for i, r := range report.Rankings {
		rows[i] = []string{finding.Key(r.Key), terminal.Count(r.Members), finding.Key(r.First.Member),
			scoreText(r.First.Scored), cli.Seconds(r.Expires), r.Entry}
	}
	defer a.PrintGaps(&report.Gaps)
	a.PrintScope()
	if len(rows) == 0 {
		a.PrintNone(&report.Gaps, "no ranking has a key")
		return nil
	}
	return terminal.Table(a.Out,
		[]terminal.Column{{Title: "ranking", Least: 24}, {Title: "members", Right: true}, {Title: "first", Least: 8},
			{Title: "score", Right: true}, {Title: "expires in", Right: true, Drop: 1}, {Title: "entry", Drop: 2}}, rows)
}

// scoreText returns a score in a table.
func scoreText(s answer.Scored) string {
	if s.Score == nil {
		return s.Infinite
	}
	if f := *s.Score; f == float64(int64(f)) && f < 1<<53 && f > -1<<53 {
		return terminal.Count(int64(f))
	}
	return strconv.FormatFloat(*s.Score, 'g', -1, 64)
}
