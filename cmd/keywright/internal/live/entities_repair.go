package live

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/change"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
	"github.com/spf13/cobra"
)

func entitiesRepairCommand(a *cli.App) *cobra.Command {
	var o change.Changing
	c := &cobra.Command{
		Use:   "repair [entry]...",
		Short: "Put right what keywright entities check finds",
		Long: `Sweeps what has expired, and puts right what keywright entities check finds: the items
decide, none of their fields is changed; one that never expires and should gets the
TTL of its ttl_by, or the declared default (where an entity is in several slots of a
cluster it is passed over). Each item is compared with its entries and put right in
one step of the server. Indexes that are not complete are built, as by keywright
entities index.

` + change.PlanHelp + `

` + change.ExitCodesOfChanges,
		Example: `  keywright entities repair
  keywright entities repair item --apply --rate 5000
  keywright entities repair --plan repair.plan`,
		RunE: func(c *cobra.Command, args []string) error {
			return change.Change(c.Context(), a, Verbs()["entities repair"], plan.Request{Entries: args}, &o)
		},
	}
	o.Flags(a, c)
	c.ValidArgsFunction = a.CompleteConstructs(keyspace.Entity)
	return c
}

func loadEntities(_ context.Context, r *change.Run) error {
	return loadConstructs(r, keyspace.Entity)
}

// entityWork represents the work of the verbs that go through the stores of entities.
type entityWork struct{ *change.Run }

// each runs for each store of the request, and gives what could not be read.
func (w *entityWork) each(ctx context.Context,
	run func(e *keyspace.Entry, of *finding.JSONKey, s *bind.Items) error) (*answer.Gaps, error) {
	c, err := w.Client()
	if err != nil {
		return nil, err
	}
	g := &answer.Gaps{}
	return g, w.ConstructReader(c).EachEntity(ctx, constructs(w.Run, keyspace.Entity), g, run)
}

// reasonsOf gives gaps as a plan has them.
func reasonsOf(g *answer.Gaps) []plan.Reason {
	f := change.Findings{}
	gaps(&f, g)
	return f.Incomplete
}

// summaryOf gives gaps as the end of a walk has them.
func summaryOf(g *answer.Gaps) (sum source.Summary) {
	for _, r := range reasonsOf(g) {
		sum.Incomplete = sum.Incomplete.Add(source.Reason{Code: source.Ended, What: r.What, Database: source.NoDatabase})
	}
	return sum
}

// repairing represents the work of `entities repair`.
type repairing struct{ entityWork }

func openRepair(_ context.Context, r *change.Run) (change.Work, error) {
	return &repairing{entityWork{r}}, nil
}

// Plan checks all items. Those that have expired are swept, too.
func (w *repairing) Plan(ctx context.Context, p *plan.Plan, _ *terminal.Progress) error {
	t := plan.NewTally()
	g, err := w.each(ctx, func(e *keyspace.Entry, _ *finding.JSONKey, s *bind.Items) error {
		st, err := s.Stats(ctx)
		if err == nil && st.Expired > 0 {
			t.Change(e.Name, st.Expired, nil, p.Request.DB)
		}
		if err != nil {
			return err
		}
		_, err = s.Check(ctx, entity.CheckOptions{Wrong: func(_ context.Context, problems []entity.Problem) error {
			key := []byte(s.KeyOf(problems[0].ID))
			if problems[0].What == newerForm {
				t.Leave(e.Name, plan.Left{Code: plan.NewerForm, Keys: 1, Examples: []plan.Example{{Key: key, DB: p.Request.DB}}})
				return nil
			}
			t.Change(e.Name, 1, key, p.Request.DB)
			return nil
		}})
		return err
	})
	if err != nil {
		return err
	}
	t.Into(p)
	p.Incomplete = reasonsOf(g)
	return nil
}

// Do sweeps, repairs and completes, one store after the other.
func (w *repairing) Do(ctx context.Context, p *plan.Plan, o apply.KeysOptions) (apply.KeysReport, error) {
	return apply.Walk(ctx, func(ctx context.Context, run *apply.Run) (source.Summary, error) {
		g, err := w.each(ctx, func(e *keyspace.Entry, _ *finding.JSONKey, s *bind.Items) error {
			if err := w.sweep(ctx, run, e, s); err != nil {
				return err
			}
			return w.repair(ctx, run, e, s)
		})
		if err != nil {
			return source.Summary{}, err
		}
		return summaryOf(g), nil
	}, o)
}

// sweep sweeps what has expired. Where another process sweeps it is left to that.
func (w *repairing) sweep(ctx context.Context, run *apply.Run, e *keyspace.Entry, s *bind.Items) error {
	st, err := s.Stats(ctx)
	if err != nil || st.Expired == 0 {
		return err
	}
	if err := run.Begin(ctx, map[string]int64{e.Name: st.Expired}, 0); err != nil {
		return err
	}
	done, err := s.Sweep(ctx, entity.SweepOptions{Rate: w.Rate})
	run.Add(e.Name, journal.KeyCounts{Keys: int64(done.Gone), Changed: int64(done.Gone)})
	if err == nil && done.Busy > 0 {
		run.LeaveAll(e.Name, plan.Left{Code: plan.OtherSweeps, Keys: max(st.Expired-int64(done.Gone), 0)})
	}
	return err
}

// wrongItem represents an item with problems: its id, and the indexes that they are in.
type wrongItem struct {
	id   string
	keys []string
}

// newerForm is the problem of an item that only a newer program can put right.
const newerForm = "form"

// repairBatch is how many items are put right in a batch, and repairsAtOnce how many of
// them at a time.
const (
	repairBatch   = 256
	repairsAtOnce = 16
)

// repair puts right the items of a store.
func (w *repairing) repair(ctx context.Context, run *apply.Run, e *keyspace.Entry, s *bind.Items) error {
	var open []wrongItem
	_, err := s.Check(ctx, entity.CheckOptions{Wrong: func(ctx context.Context, problems []entity.Problem) error {
		item := wrongItem{id: problems[0].ID}
		if problems[0].What == newerForm {
			run.Leave(e.Name, plan.NewerForm, []byte(s.KeyOf(item.id)), w.Request.DB)
			return nil
		}
		for _, p := range problems {
			item.keys = append(item.keys, p.Key)
		}
		if open = append(open, item); len(open) < repairBatch {
			return nil
		}
		some := open
		open = nil
		return w.batch(ctx, run, e, s, some)
	}})
	if err == nil {
		err = w.batch(ctx, run, e, s, open)
	}
	if err == nil {
		err = completeIndexes(ctx, run, e, s, entity.IndexOptions{Apply: true})
	}
	return err
}

// batch puts a batch of items right. What has begun is waited for.
func (w *repairing) batch(ctx context.Context, run *apply.Run, e *keyspace.Entry, s *bind.Items,
	items []wrongItem) error {
	if len(items) == 0 {
		return ctx.Err()
	}
	if err := run.Begin(ctx, map[string]int64{e.Name: int64(len(items))}, 0); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	done, errs := make([]int, len(items)), make([]error, len(items))
	var group sync.WaitGroup
	places := make(chan struct{}, repairsAtOnce)
	for i, item := range items {
		places <- struct{}{}
		group.Go(func() {
			done[i], errs[i] = s.Repair(ctx, item.id, item.keys...)
			<-places
		})
	}
	group.Wait()
	var last error
	for i, item := range items {
		switch {
		case errs[i] != nil:
			run.Add(e.Name, journal.KeyCounts{Keys: 1, Unknown: 1})
			last = errs[i]
		case done[i] == 0:
			run.Leave(e.Name, plan.Waits, []byte(s.KeyOf(item.id)), w.Request.DB)
		default:
			run.Add(e.Name, journal.KeyCounts{Keys: 1, Changed: 1})
		}
	}
	return last
}

// completeIndexes builds what is not complete, and removes what the options name.
func completeIndexes(ctx context.Context, run *apply.Run, e *keyspace.Entry, s *bind.Items,
	o entity.IndexOptions) error {
	began := 0
	o.Before = func(ctx context.Context, items int) error {
		began = items
		return run.Begin(ctx, map[string]int64{e.Name: int64(items)}, 0)
	}
	o.After = func(items int) {
		began = 0
		run.Add(e.Name, journal.KeyCounts{Keys: int64(items), Changed: int64(items)})
	}
	r, err := s.Indexes(ctx, o)
	if err != nil && began > 0 {
		run.Add(e.Name, journal.KeyCounts{Keys: int64(began), Unknown: int64(began)})
	}
	if err != nil {
		return err
	}
	var names []string
	for _, ix := range r.Indexes {
		if o.Apply && ix.Declared && !ix.Complete || !ix.Declared && ix.Items > 0 && slices.Contains(o.Remove, ix.Name) {
			names = append(names, ix.Name)
		}
	}
	if r.Interrupted || len(names) > 0 {
		return &unfinished{fmt.Sprintf("a program of another version has written meanwhile: of %s the index %s is not as it "+
			"should be", e.Name, strings.Join(names, ", "))}
	}
	return nil
}

// unfinished says that others kept a change from coming to its end.
type unfinished struct{ what string }

func (u *unfinished) Error() string { return u.what }
