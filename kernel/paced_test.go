package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
)

// TestAServerThatIsDownIsNotAskedInALoop: a caller that does nothing but call again,
// while its server is down or refuses everything, gets a few errors a second and not
// thousands, whatever it calls.
func TestAServerThatIsDownIsNotAskedInALoop(t *testing.T) {
	gate.Skip(t, "counts what 300 callers do in a second")
	for state, unfit := range map[string]func(t *testing.T, s *keywrighttest.Server){
		"down": func(t *testing.T, s *keywrighttest.Server) { s.Kill() },
		"a replica without its primary": func(t *testing.T, s *keywrighttest.Server) {
			s.Do("CONFIG", "SET", "replica-serve-stale-data", "no")
			s.Do("REPLICAOF", "127.0.0.1", "1")
		},
	} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, keywrighttest.Redis)
			c := open(t, s.URL(), keywright.Options{Sealer: servertest.Ring(t, "a")})
			unfit(t, s)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			var wg sync.WaitGroup
			for name, call := range everything(t, c) {
				if slices.Contains(probes, name) || second(name) { // the second store says so, and no server is asked
					continue
				}
				wg.Go(func() { paced(t, ctx, name, call) })
			}
			wg.Wait()
		})
	}
}

// probes say how a server is at this moment: their callers ask at times of their own.
var probes = []string{"Client.Check", "Client.Memory", "Client.Primaries", "Keys.Pressure.Once", "Open"}

// paced makes a call again and again.
func paced(t *testing.T, ctx context.Context, name string, call func(context.Context) error) {
	failed := 0
	var last error
	for ctx.Err() == nil && failed < 1000 {
		err := sound(ctx, call)
		if class, ok := keywright.ClassOf(err); !ok || class == keywright.Invalid {
			return
		}
		failed, last = failed+1, err
	}
	if failed > 30 {
		t.Errorf("%s failed %d times in a second: %v", name, failed, last)
	}
}

// promoted makes a replica a primary once it has refused so many writes, and waits
// for what is done meanwhile.
func promoted(t *testing.T, refused int, do func(ctx context.Context, c *keywright.Client)) *keywrighttest.Server {
	t.Helper()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	replica := keywrighttest.Start(t, keywrighttest.Redis, keywrighttest.ReplicaOf(s))
	replica.Await("master_link_status", "up")
	c := open(t, replica.URL(), keywright.Options{Attempts: 1000})
	var wg sync.WaitGroup
	wg.Go(func() { do(t.Context(), c) })
	until(t, "writes are refused", func() bool {
		var n int
		_, _ = fmt.Sscanf(replica.Info("errorstat_READONLY"), "count=%d", &n)
		return n >= refused
	})
	replica.Do("REPLICAOF", "NO", "ONE")
	wg.Wait()
	return replica
}

// TestABatchIsSentAgain: what was not applied for a passing reason is, with the pauses
// of single calls and in its order. What comes before an operation of the same key
// that has had its turn is not sent after it.
func TestABatchIsSentAgain(t *testing.T) {
	var b keywright.Batch
	var early *keywright.Pending[struct{}]
	var err error
	s := promoted(t, 10, func(ctx context.Context, c *keywright.Client) {
		early = keywright.Queue(&b, note(c, "read").Set("x"))
		keywright.Queue(&b, note(c, "read").Get())
		keywright.Queue(&b, note(c, "1").Set("first"))
		keywright.Queue(&b, note(c, "1").Set("second"))
		err = b.Run(ctx)
	})
	_, failed := early.Result()
	class(t, failed, keywright.NotApplied)
	if own, ok := errors.AsType[*keywright.Error](failed); !ok || own.Attempts != 1 || err == nil ||
		strings.Count(err.Error(), "not applied") != 1 {
		t.Errorf("the write before a read that was answered: %v; all: %v", failed, err)
	}
	if n, v := s.Do("EXISTS", "note:read"), s.Do("GET", "note:1"); n != int64(0) || v != "second" {
		t.Errorf("EXISTS says %v, GET %v", n, v)
	}
}

// TestATransactionBeginsAgain when nothing of it was applied for a passing reason.
func TestATransactionBeginsAgain(t *testing.T) {
	began := 0
	s := promoted(t, 3, func(ctx context.Context, c *keywright.Client) {
		must(t, c.Transact(ctx, func(tx *keywright.Tx) error {
			began++
			keywright.Queue(tx, note(c, "1").Set("x"))
			return nil
		}))
	})
	if began < 4 || s.Do("GET", "note:1") != "x" {
		t.Errorf("it began %d times", began)
	}
}

// TestATransactionOfScriptsBeginsAgain: what a script may not write is refused at EXEC, and nothing of it is applied.
func TestATransactionOfScriptsBeginsAgain(t *testing.T) {
	began := 0
	s := promoted(t, 3, func(ctx context.Context, c *keywright.Client) {
		must(t, c.Transact(ctx, func(tx *keywright.Tx) error {
			began++
			keywright.Queue(tx, note(c, "1").Get())
			keywright.Queue(tx, hits(c, "1").Add(2))
			return nil
		}))
	})
	if began < 4 || s.Do("GET", "hits:1") != "2" {
		t.Errorf("it began %d times", began)
	}
}

// TestATransactionThatWatchesBeginsAgain when its Watch could not read for a passing
// reason, and not when its function says that it is over for another one.
func TestATransactionThatWatchesBeginsAgain(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL(), keywright.Options{Attempts: 1000})
	s.Do("CONFIG", "SET", "replica-serve-stale-data", "no")
	s.Do("REPLICAOF", "127.0.0.1", "1")
	began, mine := 0, errors.New("mine")
	watch := func(tx *keywright.Tx) error {
		if began++; began == 3 {
			s.Do("REPLICAOF", "NO", "ONE")
		}
		_, err := keywright.Watch(tx, note(c, "1").Get())
		return err
	}
	if err := c.Transact(t.Context(), func(tx *keywright.Tx) error { _ = watch(tx); return mine }); err != mine ||
		began != 1 {
		t.Errorf("after %d attempts: %v", began, err)
	}
	if err := c.Transact(t.Context(), watch); err != keywright.ErrNotFound || began != 3 {
		t.Errorf("after %d attempts: %v", began, err)
	}
}
