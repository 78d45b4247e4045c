package apply_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/writelease"
)

// listOf returns a list of changes of two entries.
func listOf(n int) (out []plan.Change) {
	for i := range n {
		out = append(out, plan.Change{Verb: "retry", Entry: []string{"a", "b"}[i%2], Key: fmt.Appendf(nil, "key:%d", i)})
	}
	return out
}

// A list is executed batch by batch. A run that ends in the middle of a batch, by an error
// or by a kill, is gone on with: each change is made, and counted once.
func TestListedRuns(t *testing.T) {
	t.Parallel()
	const n = 1000
	list := listOf(n)
	for _, fails := range []int{0, 1, 255, 256, 257, 700, 999} {
		path := filepath.Join(t.TempDir(), "journal")
		done := map[string]bool{}
		var mu sync.Mutex
		lost := errors.New("the connection broke")
		run := func(fail int) (apply.KeysReport, error) {
			j, _, err := journal.Open(path, "plan")
			must(t, err)
			defer j.Close()
			calls := 0
			return apply.Changes(t.Context(), apply.Listed{Changes: list, AtOnce: 8,
				Still: func(c *plan.Change) bool { mu.Lock(); defer mu.Unlock(); return !done[c.ID()] },
				Left:  []apply.LeftOf{{Entry: "c", Left: plan.Left{Code: plan.NotDead, Keys: 2}}},
				Do: func(_ context.Context, c *plan.Change) (plan.Code, error) {
					mu.Lock()
					defer mu.Unlock()
					if calls++; calls == fail {
						done[c.ID()] = fail%2 == 0 // it was done, or it was not
						return "", lost
					}
					if done[c.ID()] {
						t.Errorf("%s is done twice", c.Key)
					}
					done[c.ID()] = true
					return "", nil
				}}, apply.KeysOptions{Journal: j})
		}
		if fails > 0 {
			if r, err := run(fails); !errors.Is(err, lost) || r.Unknown != 1 {
				t.Fatalf("%d: %v, %+v", fails, err, r.KeyCounts)
			}
		}
		r, err := run(0)
		must(t, err)
		sums(t, &r)
		if len(done) != n || r.Keys != n+2 || r.Changed+r.Unknown != n || r.Left[0].Keys != 2 {
			t.Errorf("%d: %d of %d are done: %+v, %v", fails, len(done), n, r.KeyCounts, r.Left)
		}
		if _, err := run(0); !errors.Is(err, journal.ErrDone) {
			t.Errorf("%d: a second run: %v", fails, err)
		}
	}
}

// What changed meanwhile is left alone, what the server refuses is counted, and neither
// ends the run; a context that ends and a right that is lost do, between two batches.
func TestListedReasons(t *testing.T) {
	t.Parallel()
	list := listOf(600)
	do := func(_ context.Context, c *plan.Change) (plan.Code, error) {
		switch string(c.Key) {
		case "key:3":
			return plan.Changed, nil
		case "key:4":
			return "", &keywright.Error{Class: keywright.Refused, Op: "retry", Err: errors.New("NOPERM")}
		}
		return "", nil
	}
	r, err := apply.Changes(t.Context(), apply.Listed{Changes: list, Do: do,
		Still: func(c *plan.Change) bool { return string(c.Key) != "key:5" }}, apply.KeysOptions{})
	must(t, err)
	sums(t, &r)
	if got := why(&r); r.Keys != 600 || r.Changed != 597 || r.KeyCounts.Left != 2 || r.Refused != 1 ||
		got[plan.Changed] != 2 || got[plan.Refused] != 1 {
		t.Errorf("%+v, %v", r.KeyCounts, r.Left)
	}
	ctx, stop := context.WithCancel(t.Context())
	r, err = apply.Changes(ctx, apply.Listed{Changes: list, Do: func(context.Context, *plan.Change) (plan.Code, error) {
		stop()
		return "", nil
	}}, apply.KeysOptions{})
	if !errors.Is(err, context.Canceled) || r.Changed != 256 || r.Unknown != 0 {
		t.Errorf("%v: %+v", err, r.KeyCounts)
	}
	r, err = apply.Changes(t.Context(), apply.Listed{Changes: list, Do: do},
		apply.KeysOptions{StillHeld: func() error { return writelease.ErrHeld }})
	if !errors.Is(err, writelease.ErrHeld) || r.Keys != 0 {
		t.Errorf("%v: %+v", err, r.KeyCounts)
	}
}

// TestListedRunsEndTwiceInABatch: when a second run ends in the batch in which the first one ended, the journal still
// says of each change that was made that it may have been: else the plan is refused as one that does not hold.
func TestListedRunsEndTwiceInABatch(t *testing.T) {
	t.Parallel()
	list := listOf(200)
	path := filepath.Join(t.TempDir(), "journal")
	done := map[string]bool{}
	run := func(fail int) (r apply.KeysReport, may int64, err error) {
		j, _, err := journal.Open(path, "plan")
		must(t, err)
		defer j.Close()
		calls := 0
		r, err = apply.Changes(t.Context(), apply.Listed{Changes: list,
			Still: func(c *plan.Change) bool { return !done[c.ID()] },
			Do: func(_ context.Context, c *plan.Change) (plan.Code, error) {
				if calls++; calls == fail {
					return "", errors.New("the connection broke")
				}
				done[c.ID()] = true
				return "", nil
			}}, apply.KeysOptions{Journal: j})
		changed, maybe := j.Changed()
		return r, changed["a"] + changed["b"] + maybe["a"] + maybe["b"], err
	}
	for n, fails := range []int{150, 30, 5} {
		if _, may, err := run(fails); err == nil || may < int64(len(done)) {
			t.Errorf("after run %d: the journal knows of %d changes, and %d were made: %v", n, may, len(done), err)
		}
	}
	r, _, err := run(0)
	must(t, err)
	sums(t, &r)
	if len(done) != 200 || r.Keys != 200 || r.Changed+r.Unknown != 200 {
		t.Errorf("%d are done: %+v", len(done), r.KeyCounts)
	}
}
