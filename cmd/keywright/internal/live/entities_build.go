package live

import (
	"context"
	"slices"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/cmd/keywright/internal/change"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
	"github.com/spf13/cobra"
)

func entitiesIndexCommand(a *cli.App) *cobra.Command {
	var o change.Changing
	var remove []string
	c := &cobra.Command{
		Use:   "index [entry]...",
		Short: "Build indexes that are not complete, and remove old ones, online",
		Long: `Puts the items into the indexes that are not complete, one in each step, while programs
of the old and the new version write. What is done is done: after it was stopped or
killed, run it again and it goes on. An index becomes complete when nothing is left to
do and no program has written meanwhile that does not know it. So deploy first, then
run it; while old programs write it ends with exit code 5.

--remove names indexes that the declaration no longer has, but the server does: their
entries are taken off the server, in small steps. Do so when no program knows them any
more. keywright entities indexes lists what is there.

` + change.PlanHelp + `

` + change.ExitCodesOfChanges,
		Example: `  keywright entities index
  keywright entities index item --apply --rate 5000
  keywright entities index item --remove priority --apply`,
		RunE: func(c *cobra.Command, args []string) error {
			q := plan.Request{Entries: args, Options: map[string]string{"remove": change.Packed(remove)}}
			return change.Change(c.Context(), a, Verbs()["entities index"], q, &o)
		},
	}
	o.Flags(a, c)
	c.ValidArgsFunction = a.CompleteConstructs(keyspace.Entity)
	c.Flags().StringSliceVar(&remove, "remove", nil, "indexes on the server that the declaration does not have")
	return c
}

// building represents the work of `entities index`. Its plan lists the indexes, and counts items.
type building struct {
	entityWork
	remove []string
}

func openIndexing(_ context.Context, r *change.Run) (change.Work, error) {
	return &building{entityWork{r}, change.Unpacked(r.Request.Options["remove"])}, nil
}

func (w *building) Plan(ctx context.Context, p *plan.Plan, _ *terminal.Progress) error {
	t, known := plan.NewTally(), map[string]bool{}
	g, err := w.each(ctx, func(e *keyspace.Entry, _ *finding.JSONKey, s *bind.Items) error {
		r, err := s.Indexes(ctx, entity.IndexOptions{})
		if err != nil {
			return err
		}
		items := 0
		for _, ix := range r.Indexes {
			c := plan.Change{Entry: e.Name, Key: finding.JSONKey(ix.Pattern), DB: p.Request.DB}
			switch {
			case ix.Declared && !ix.Complete:
				items = max(items, ix.Missing)
				c.Verb, c.Before, c.After = "build", "index "+ix.Name+" is not complete", "complete"
			case !ix.Declared && slices.Contains(w.remove, ix.Name):
				known[ix.Name], items = true, max(items, ix.Items)
				c.Verb, c.Before, c.After = "remove", "index "+ix.Name+" is not declared", "removed"
			default:
				continue
			}
			t.Note(c)
		}
		t.Change(e.Name, int64(items), nil, p.Request.DB)
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range w.remove {
		if !known[name] && w.File == nil && len(g.Unread) == 0 {
			return cli.Usage("take it out of the declaration first, and deploy that; `keywright entities indexes` lists what is "+
				"there", "the server has no index %s that is not declared", name)
		}
	}
	t.Into(p)
	p.Incomplete = reasonsOf(g)
	return nil
}

// Do builds and removes, one store after the other.
func (w *building) Do(ctx context.Context, p *plan.Plan, o apply.KeysOptions) (apply.KeysReport, error) {
	if len(p.Changes) == 0 {
		return apply.Walk(ctx, func(context.Context, *apply.Run) (s source.Summary, _ error) { return s, nil }, o)
	}
	return apply.Walk(ctx, func(ctx context.Context, run *apply.Run) (source.Summary, error) {
		g, err := w.each(ctx, func(e *keyspace.Entry, _ *finding.JSONKey, s *bind.Items) error {
			return completeIndexes(ctx, run, e, s, entity.IndexOptions{Apply: true, Remove: w.remove})
		})
		if err != nil {
			return source.Summary{}, err
		}
		return summaryOf(g), nil
	}, o)
}
