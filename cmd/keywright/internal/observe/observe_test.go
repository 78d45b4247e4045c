package observe

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keyspace"
)

func idleTarget(t *testing.T) *Target {
	t.Helper()
	target, err := New(Options{ID: "t", Now: time.Now, Every: time.Hour,
		Declaration: Declaration{Keyspace: &keyspace.Keyspace{}}})
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// next returns the next change that a subscriber receives.
func next(t *testing.T, changes <-chan Change) Change {
	t.Helper()
	select {
	case c := <-changes:
		return c
	case <-time.After(expect.Patience):
		t.Fatal("no change is told")
		return Change{}
	}
}

// TestASlowSubscriberMissesNothingFinal: however many changes there are while it does not listen,
// it is notified that an audit has ended, and the last word of each run; what waits for it is bounded.
func TestASlowSubscriberMissesNothingFinal(t *testing.T) {
	t.Parallel()
	target := idleTarget(t)
	changes, stop := target.Subscribe()
	defer stop()
	const runs = 50
	for i := range 10_000 {
		target.change(Progressed, func(*State) {})
		target.Ran(nil, Run{ID: fmt.Sprint(i % runs), Done: int64(i)})
	}
	target.change(Audited, func(*State) {})
	target.Ran(nil, Run{ID: "7", State: Done})
	last := map[string]Run{}
	for audited := false; !audited || last["7"].State != Done; {
		c := next(t, changes)
		if audited = audited || c.What == Audited; c.What == Ran {
			last[c.Run.ID] = c.Run
		}
	}
	for i := range runs {
		if r := last[fmt.Sprint(i)]; i != 7 && r.Done != int64(10_000-runs+i) {
			t.Errorf("the last word of run %d is %+v", i, r)
		}
	}
	for i := range 10_000 {
		target.Ran(nil, Run{ID: fmt.Sprint(i)})
	}
	target.mu.Lock()
	for s := range target.subscribers {
		if len(s.waiting) > most {
			t.Errorf("%d changes wait", len(s.waiting))
		}
	}
	target.mu.Unlock()
	for all := false; !all; {
		c := next(t, changes)
		all = c.What == Ran && c.Run.ID == "" // that the runs are others: the state has them
	}
}

// TestNextAudit: what has found anything is repeated in its time, also where it was not whole;
// what has found nothing sooner, ever more slowly.
func TestNextAudit(t *testing.T) {
	t.Parallel()
	target := idleTarget(t)
	if wait, retry := target.next(true, retryMost); wait != time.Hour || retry != retryFirst {
		t.Errorf("%v %v", wait, retry)
	}
	retry := retryFirst
	for _, want := range []time.Duration{5, 10, 20, 40, 80, 120, 120} {
		var wait time.Duration
		if wait, retry = target.next(false, retry); wait != want*time.Second {
			t.Errorf("%v, not %v", wait, want*time.Second)
		}
	}
}

// TestSinceTheFirstFailure: failures one after the other have the time of the first of them.
func TestSinceTheFirstFailure(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	first := failed(nil, at, errors.New("refused"))
	second := failed(first, at.Add(time.Minute), errors.New("refused\x1b"))
	if !second.Since.Equal(at) || !second.At.Equal(at.Add(time.Minute)) || second.What == "refused\x1b" {
		t.Errorf("%+v", second)
	}
}

// TestAway: the newest of all readings says whether the server answers. One that fails while others succeed is no server
// that is away, and neither is one that has not been made again since the server is back, which is noted.
func TestAway(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	target := idleTarget(t)
	now := began
	target.Now = func() time.Time { return now }
	target.state = State{Began: began}
	step := func(at *Mark, err string, away string, since int, back int) {
		t.Helper()
		now = now.Add(time.Second)
		target.change(Queued, func(s *State) {
			if err != "" {
				at.Failed = failed(at.Failed, now, errors.New(err))
			} else {
				*at = Mark{At: now}
			}
		})
		st := target.State()
		f, seconds := st.Away(), func(n int) time.Time { return began.Add(time.Duration(n) * time.Second) }
		if away == "" && f != nil || away != "" && (f == nil || f.What != away || !f.Since.Equal(seconds(since))) {
			t.Errorf("after %v: %+v, not %q since %d", now.Sub(began), f, away, since)
		}
		if want := seconds(back); back == 0 && !st.Back.IsZero() || back > 0 && !st.Back.Equal(want) {
			t.Errorf("after %v it is back since %v, not %v", now.Sub(began), st.Back, want)
		}
	}
	s := &target.state
	step(&s.Server.Mark, "refused", "refused", 1, 0) // nothing was ever read
	step(&s.Shards.Mark, "", "", 0, 2)
	step(&s.Queues.Mark, "no rights", "no rights", 3, 2) // until something else is read
	step(&s.Shards.Mark, "", "", 0, 4)
	step(&s.Queues.Mark, "no rights", "", 0, 4)
	step(&s.Shards.Mark, "refused", "refused", 6, 4)
	step(&s.Server.Mark, "refused", "refused", 6, 4)
	step(&s.Audits, "refused", "refused", 6, 4)
	step(&s.Moves.Mark, "", "refused", 6, 4) // it has files, and asks no server where there are none
	step(&s.Locks.Mark, "", "", 0, 10)
	step(&s.Shards.Mark, "", "", 0, 10)
}
