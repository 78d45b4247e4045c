package apply_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/apply/wait"
	"github.com/keywright/keywright/keyspace/selection"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
)

// goes are the ways in which a server goes while it is written to, and how it comes back.
var goes = map[string]struct{ away, back func(*kt.Server) }{
	"stopped": {(*kt.Server).Stop, (*kt.Server).Continue},
	"killed":  {(*kt.Server).Kill, (*kt.Server).Restart},
}

// leaving represents a server that goes, and what a run says of that.
type leaving struct {
	*kt.Server
	gone    atomic.Bool
	reports atomic.Int64 // how often since
}

// leave has the server go, once.
func (l *leaving) leave(away func(*kt.Server)) {
	if !l.gone.Swap(true) {
		away(l.Server)
	}
}

// waiting says how long a run waits. Notified much more often than it may be it would not end: then the server comes
// back, and the test fails by what the run returns.
func (l *leaving) waiting(t *testing.T, back func(*kt.Server)) wait.Waiting {
	return wait.Waiting{Server: "the target", Patience: 600 * time.Millisecond, OnWait: func(time.Duration, error) {
		if l.gone.Load() && l.reports.Add(1) == 12 { // answers that were on their way begin it again
			t.Error("the run is notified again and again")
			go back(l.Server)
		}
	}}
}

// isAway looks at the error of a run whose server went away.
func isAway(t *testing.T, err error, reports int64) {
	t.Helper()
	var away *wait.AwayError
	if !errors.As(err, &away) || away.Server != "the target" || away.Silent != 600*time.Millisecond ||
		!strings.Contains(err.Error(), "the target has not answered for 600ms") {
		t.Errorf("%v", err)
	}
	if reports == 0 {
		t.Error("nobody was told that the run waits")
	}
}

// TestRestoreEndsWhenTheServerIsGone: a run does not wait for longer than it says, however often it sends again, and
// with whom it compares. It has reported before that it waits. What it reports adds up, and it can be run again.
func TestRestoreEndsWhenTheServerIsGone(t *testing.T) {
	t.Parallel()
	for how, goes := range goes {
		for _, existing := range []restore.Existing{restore.Replace, restore.Different} {
			t.Run(fmt.Sprint(how, "/", existing), func(t *testing.T) {
				t.Parallel()
				to := kt.Start(t, kt.Redis, kt.Config("appendonly", "yes"), kt.Config("appendfsync", "always"))
				to.Do("SET", "v", "x")
				payload, version := applytest.Payload(to.Do("DUMP", "v").(string))
				to.Do("FLUSHALL")
				const count = 3000
				all := func(yield func(*archive.Record, error) bool) {
					for i := range count {
						r := &archive.Record{Entry: archive.Undeclared, Key: fmt.Append(nil, i), Form: archive.Dump, RDB: version,
							Payload: payload}
						if !yield(r, nil) {
							return
						}
					}
				}
				l := &leaving{Server: to}
				o := restore.Options{Existing: existing, Live: applytest.Live(t, to.URL(), 1<<20),
					Waiting: l.waiting(t, goes.back), Wrote: func(int, []byte) { l.leave(goes.away) }}
				r, err := restore.Restore(t.Context(), applytest.Open(t, to.URL()), all, o)
				isAway(t, err, l.reports.Load())
				if applytest.Adds(t, r); r.Unknown == 0 || r.Restored == 0 {
					t.Errorf("%+v", r.Counts)
				}
				goes.back(to)
				r, err = restore.Restore(t.Context(), applytest.Open(t, to.URL()), all,
					restore.Options{Existing: restore.Different, Live: applytest.Live(t, to.URL(), 1<<20)})
				must(t, err)
				if r.Restored+r.Same != count || to.Do("DBSIZE") != int64(count) {
					t.Errorf("%+v, %v keys", r.Counts, to.Do("DBSIZE"))
				}
			})
		}
	}
}

// TestPartsEndWhenTheServerIsGone: so does a value in parts, and what is left of it needs no answer.
func TestPartsEndWhenTheServerIsGone(t *testing.T) {
	t.Parallel()
	to := kt.Start(t, kt.Valkey)
	l := &leaving{Server: to}
	r, err := restore.Restore(t.Context(), applytest.Open(t, to.URL()), applytest.Parts("list", 40, func(part int) {
		if part == 20 {
			l.leave((*kt.Server).Stop)
		}
	}), restore.Options{Writers: 1, Waiting: l.waiting(t, (*kt.Server).Continue)})
	isAway(t, err, l.reports.Load())
	if applytest.Adds(t, r); r.Restored > 0 {
		t.Errorf("%+v", r.Counts)
	}
}

// TestChangesEndWhenTheServerIsGone: so does a run that changes the keys of a rule, and one that makes listed changes.
func TestChangesEndWhenTheServerIsGone(t *testing.T) {
	t.Parallel()
	for how, goes := range goes {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			to := kt.Start(t, kt.Redis)
			l := &leaving{Server: to}
			o := apply.KeysOptions{Waiting: l.waiting(t, goes.back)}
			scan := func(ctx context.Context, each func([]source.Key) error) (source.Summary, error) {
				for i := range 1000 {
					if i == 500 {
						l.leave(goes.away)
					}
					if err := each([]source.Key{{Name: fmt.Append(nil, "app:user:", i), Kind: source.String, TTL: -1}}); err != nil {
						return source.Summary{}, err
					}
				}
				return source.Summary{}, nil
			}
			rule, err := ruleOf("delete", selection.Request{Entries: []string{"user"}})
			must(t, err)
			r, err := apply.Keys(t.Context(), applytest.Open(t, to.URL()), scan, rule, o)
			isAway(t, err, l.reports.Load())
			if r.Unknown == 0 || r.Gone == 0 {
				t.Errorf("%+v", r.KeyCounts)
			}
		})
	}
}

// TestListedChangesEndWhenOneFails: after a change without an answer no other of its batch is begun.
func TestListedChangesEndWhenOneFails(t *testing.T) {
	t.Parallel()
	begun := 0
	r, err := apply.Changes(t.Context(), apply.Listed{Changes: make([]plan.Change, 100),
		Do: func(context.Context, *plan.Change) (plan.Code, error) {
			if begun++; begun == 3 {
				return "", &keywright.Error{Class: keywright.UnknownOutcome, Err: errors.New("gone")}
			}
			return "", nil
		}}, apply.KeysOptions{})
	if err == nil || begun != 3 || r.Changed != 2 || r.Keys != 3 {
		t.Errorf("%d were begun: %+v, %v", begun, r.KeyCounts, err)
	}
}
