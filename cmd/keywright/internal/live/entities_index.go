package live

import (
	"cmp"
	"context"
	"fmt"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/spf13/cobra"
)

// indexReport represents one index; its JSON names are stable.
type indexReport struct {
	Entry    string           `json:"entry"`
	Of       *finding.JSONKey `json:"of,omitempty"` // what its keys share
	Index    finding.JSONKey  `json:"index"`
	Keys     finding.JSONKey  `json:"keys"` // the pattern of its keys
	Declared bool             `json:"declared"`
	Complete bool             `json:"complete"`
	Items    int              `json:"items"`
	Missing  int              `json:"missing"` // items that are not in it yet
}

// IndexesReport describes what `entities indexes` has found; its JSON names are stable.
type IndexesReport struct {
	Items   int           `json:"items"`
	Indexes []indexReport `json:"indexes"`
	answer.Gaps
}

func entitiesIndexesCommand(a *cli.App) *cobra.Command {
	var o entities
	c := &cobra.Command{
		Use:   "indexes [entry]...",
		Short: "Which indexes are complete",
		Long: `Shows which indexes of the entities are complete, and how many items are still to be
looked at. An index that is new in the declaration lacks the items that were written
by programs which do not know it, and its lists say so (Page.Incomplete).

keywright entities index builds them, and removes those that are no longer declared.
Exit code 1 means that an index is not complete.`,
		Example: `  keywright entities indexes
  keywright entities indexes item -o json`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.OneOf("output", o.output, "table", "json"); err != nil {
				return err
			}
			if o.rate < 1 {
				return cli.Usage("as in --rate 5000", "--rate must be at least 1")
			}
			return a.WithConstructs(c.Context(), keyspace.Entity, args,
				func(client *keywright.Client, entries []*keyspace.Entry) error {
					return listIndexes(c.Context(), a, client, entries, &o)
				})
		},
	}
	c.ValidArgsFunction = a.CompleteConstructs(keyspace.Entity)
	a.ServerFlags(c)
	a.NamespaceFlag(c)
	cli.Outputs(c, &o.output, "table", "json")
	c.Flags().IntVar(&o.rate, "rate", 20_000, "items per second to look at, at most")
	return c
}

func listIndexes(ctx context.Context, a *cli.App, c *keywright.Client, entries []*keyspace.Entry, o *entities) error {
	report := IndexesReport{Indexes: []indexReport{}}
	err := a.ConstructReader(c).EachEntity(ctx, entries, &report.Gaps,
		func(e *keyspace.Entry, of *finding.JSONKey, s *bind.Items) error {
			r, err := s.Indexes(ctx, entity.IndexOptions{Rate: o.rate})
			report.Items += r.Items
			for _, ix := range r.Indexes {
				report.Indexes = append(report.Indexes, indexReport{e.Name, of, finding.JSONKey(ix.Name),
					finding.JSONKey(ix.Pattern), ix.Declared, ix.Complete, ix.Items, ix.Missing})
			}
			return err
		})
	if err != nil {
		return err
	}
	err = a.WriteReport(o.output, report, func() error { return printIndexes(a, &report) })
	return cmp.Or(err, report.Verdict(), cli.ListedInPart(&report.Gaps, "entities"))
}

// Verdict returns exit code 1 where an index is not complete.
func (r *IndexesReport) Verdict() error {
	incomplete := 0
	for _, ix := range r.Indexes {
		if ix.Declared && !ix.Complete {
			incomplete++
		}
	}
	if incomplete == 0 {
		return nil
	}
	return &cli.Exit{Code: cli.ExitFindings, Message: fmt.Sprintf("not complete: %d of %d indexes", incomplete,
		len(r.Indexes)),
		Hint: "`keywright entities index` builds them"}
}

func printIndexes(a *cli.App, r *IndexesReport) error {
	rows := make([][]string, len(r.Indexes))
	others := false
	for i, ix := range r.Indexes {
		state := "complete"
		switch {
		case !ix.Declared:
			state, others = "not declared", true
		case !ix.Complete:
			state = "not complete"
		}
		rows[i] = []string{ix.Entry, cli.ShownName(ix.Of), finding.Key(ix.Index), finding.Key(ix.Keys), state,
			terminal.Count(int64(ix.Items)), cli.CountOrNone(int64(ix.Missing))}
	}
	columns := []terminal.Column{{Title: "entity"}, {Title: "of", Drop: 1}, {Title: "index"}, {Title: "keys", Drop: 2},
		{Title: "state"}, {Title: "items", Right: true}, {Title: "to do", Right: true}}
	if err := terminal.Table(a.Out, columns, rows); err != nil {
		return err
	}
	a.PrintGaps(&r.Gaps)
	if others {
		a.Print("`keywright entities index --remove NAME` removes an index that is not declared, when no program knows " +
			"it any more")
	}
	return nil
}
