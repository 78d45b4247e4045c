package lock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

// crowded fills the queue and the readers of a lock: what dead processes have
// left, by the hundred thousand.
func crowded(s *keywrighttest.Server, kind string, ends int64) {
	var all [][]string
	for i := 0; i < 100_000; i += 500 {
		waiters, readers := []string{"ZADD", "{lock:a}:waiters"}, []string{"ZADD", "{lock:a}:shared"}
		for j := i; j < i+500; j++ {
			waiters = append(waiters, fmt.Sprint(j+1), fmt.Sprintf("%s60000 dead/%06d", kind, j))
			readers = append(readers, fmt.Sprint(ends), fmt.Sprintf("ended/%06d", j))
		}
		all = append(all, waiters, readers)
	}
	s.Pipe(all...)
}

// TestBacklog: whatever is asked of a lock with a hundred thousand places in its
// queue, and as many readers that have ended or live, is a few commands, and none
// that goes through all of them.
func TestBacklog(t *testing.T) {
	gate.Skip(t, "200,000 keys in each of four servers")
	for name, ends := range map[string]int64{"readers have ended": 1000, "some readers live": 99_999_999_999_999} {
		for _, kind := range []string{"x", "s"} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				s := keywrighttest.Start(t, keywrighttest.Redis)
				w := s.WatchScripts()
				crowded(s, kind, ends)
				s.Do("ZADD", "{lock:a}:shared", "1000", "ended/last")
				before := len(w.Calls())
				c := open(t, s.URL(), keywright.Options{})
				if long := s.Long(5*time.Millisecond, func() { askEverything(t, c) }); len(long) > 0 {
					t.Errorf("they hold the server for more than 5 ms: %q", long)
				}
				calls := w.Calls()[before:]
				for _, call := range calls {
					if len(call.Commands) > 64*9 {
						t.Errorf("a script sends %d commands", len(call.Commands))
					}
					for _, words := range call.Commands {
						if len(words) > 70 {
							t.Errorf("%s has %d words", words[0], len(words))
						}
					}
				}
				t.Logf("%d scripts", len(calls))
			})
		}
	}
}

// askEverything asks all that can be asked of a lock, in both modes.
func askEverything(t *testing.T, c *keywright.Client) {
	t.Helper()
	for _, mode := range []lock.Mode{lock.Fair, lock.Fast} {
		l := lock.Open(c, "lock:a", lock.Options{Mode: mode, Claim: 50 * time.Millisecond})
		for _, ask := range []func(context.Context) (*lock.Lease, error){l.Try, l.TryShared, l.Acquire, l.AcquireShared} {
			ctx, cancel := context.WithTimeout(t.Context(), 1200*time.Millisecond) // it looks again meanwhile, after a second
			if lease, err := ask(ctx); err == nil {
				_ = lease.Release(t.Context())
			}
			cancel()
		}
		h, err := l.Holder(t.Context())
		must(t, err)
		_, err = l.Break(t.Context(), h.Token)
		must(t, err)
	}
}
