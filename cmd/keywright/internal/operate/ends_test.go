package operate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/internal/expect"
)

// fixedPlanner makes plans of one change; what executes them is set by a test.
type fixedPlanner struct {
	execute func(context.Context) (Outcome, error)
	plan    func(context.Context) error
}

func (r *fixedPlanner) Request(a Ask) (plan.Request, string, error) {
	return plan.Request{}, a.Verb, nil
}

func (r *fixedPlanner) Plan(ctx context.Context, verb string, q plan.Request) (*plan.Plan, error) {
	if r.plan != nil {
		if err := r.plan(ctx); err != nil {
			return nil, err
		}
	}
	p := &plan.Plan{Format: plan.Format, Verb: verb, Request: q, Total: plan.Counts{Keys: 1, Change: 1},
		Entries: []plan.Part{{Entry: "e", Counts: plan.Counts{Keys: 1, Change: 1}}}}
	return p, p.Seal()
}

func (r *fixedPlanner) Execute(ctx context.Context, _ string, _ func(int64)) (Outcome, error) {
	return r.execute(ctx)
}

// waitableQueue represents a queue of plans that can be waited for.
type waitableQueue struct {
	*testing.T
	*PlanQueue
	told chan observe.Run
}

func opened(t *testing.T, dir string, r *fixedPlanner) *waitableQueue {
	t.Helper()
	d := &waitableQueue{T: t, told: make(chan observe.Run, 1000)}
	var err error
	if d.PlanQueue, err = Open(dir, Options{Now: time.Now, Planners: map[string]Planner{"t": r},
		Changed: func(_ string, _ []observe.Run, changed observe.Run) { d.told <- changed }}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// until waits for a run that is as it should be.
func (d *waitableQueue) until(good func(observe.Run) bool) observe.Run {
	d.Helper()
	for limit := time.After(expect.Patience); ; {
		select {
		case r := <-d.told:
			if good(r) {
				return r
			}
		case <-limit:
			d.Fatal("it is never told")
		}
	}
}

func (d *waitableQueue) made() string {
	d.Helper()
	id, made, err := d.Make("t", By{User: "u"}, Ask{Verb: "clean"})
	if err != nil {
		d.Fatal(err)
	}
	<-made
	return id
}

func hasEnded(r observe.Run) bool { return !r.Ended.IsZero() }

// TestPlansThatCannotBeRead: files of runs that are damaged, of another version or too large are
// said, and left as they are.
func TestPlansThatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"damaged.run": "{", "newer.run": `{"Format":99,"ID":"newer"}`,
		"renamed.run": `{"Format":1,"ID":"other"}`, "large.run": strings.Repeat(" ", maxRecord+1)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := opened(t, dir, &fixedPlanner{})
	said := strings.Join(d.Skipped, "\n")
	for _, name := range []string{"damaged.run: ", "newer.run: ", "renamed.run: ", "large.run: "} {
		if strings.Count(said, name) != 1 {
			t.Errorf("%s is not said: %s", name, said)
		}
		if _, err := os.Stat(filepath.Join(dir, strings.TrimSuffix(name, ": "))); err != nil {
			t.Error(err)
		}
	}
}

// TestNothingBeginsWhileItEnds: a queue of plans that is closed makes no plan.
func TestNothingBeginsWhileItEnds(t *testing.T) {
	t.Parallel()
	d := opened(t, t.TempDir(), &fixedPlanner{})
	d.end()
	_, _, err := d.Make("t", By{User: "u"}, Ask{Verb: "clean"})
	if r, ok := errors.AsType[*Refusal](err); !ok || r.Code != "stopping" || len(d.runs) > 0 {
		t.Errorf("%v, %d runs", err, len(d.runs))
	}
}

// TestAnEndThatCannotBeLogged: what was done is reported, and that the log does not have it.
func TestAnEndThatCannotBeLogged(t *testing.T) {
	t.Parallel()
	dir, goes := t.TempDir(), make(chan struct{})
	d := opened(t, dir, &fixedPlanner{execute: func(context.Context) (Outcome, error) {
		<-goes
		return Outcome{Complete: true, Total: journal.KeyCounts{Keys: 1}}, nil
	}})
	id := d.made()
	if err := d.Apply("t", id, By{User: "u"}); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "changes.log")
	if err := errors.Join(os.Remove(log), os.Mkdir(log, 0o700)); err != nil {
		t.Fatal(err)
	}
	close(goes)
	d.until(func(r observe.Run) bool {
		return r.State == observe.Done && strings.Contains(r.Problem, "not be logged")
	})
	if r, _ := d.Get("t", id); r.State != observe.Done || !strings.Contains(r.Problem, "not be logged") {
		t.Errorf("%+v", r)
	}
}

// TestAnErrorWhileItStops: what went wrong is reported, also where it was asked to stop; an
// interruption alone is none.
func TestAnErrorWhileItStops(t *testing.T) {
	t.Parallel()
	for what, want := range map[string]observe.RunState{"": observe.Stopped, "the disk is broken": observe.Failing} {
		d := opened(t, t.TempDir(), &fixedPlanner{execute: func(ctx context.Context) (Outcome, error) {
			<-ctx.Done()
			if what == "" {
				return Outcome{}, &Refusal{Code: Interrupted, Message: "interrupted"}
			}
			return Outcome{}, errors.New(what)
		}})
		id := d.made()
		if err := errors.Join(d.Apply("t", id, By{User: "u"}), d.Stop("t", id, By{User: "u"})); err != nil {
			t.Fatal(err)
		}
		if r := d.until(hasEnded); r.State != want || r.Problem != what {
			t.Errorf("%s %q, not %s %q", r.State, r.Problem, want, what)
		}
	}
	d := opened(t, t.TempDir(), &fixedPlanner{plan: func(ctx context.Context) error {
		<-ctx.Done()
		return errors.New("the disk is broken")
	}})
	id, made, err := d.Make("t", By{User: "u"}, Ask{Verb: "clean"})
	if err := errors.Join(err, d.Stop("t", id, By{User: "u"})); err != nil {
		t.Fatal(err)
	}
	<-made
	if r, _ := d.Get("t", id); r.Problem != "the disk is broken" {
		t.Errorf("%+v", r)
	}
}
