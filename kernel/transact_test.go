package kernel_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keywrighttest"
)

// number returns a field of INFO.
func number(t *testing.T, s *keywrighttest.Server, field string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(s.Info(field)))
	must(t, err)
	return n
}

var (
	within = expect.Return
	until  = expect.Eventually
)

// TestAFunctionThatDoesNotReturn keeps no connection: not one that panics, and not
// one that ends its goroutine.
func TestAFunctionThatDoesNotReturn(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL(), keywright.Options{})
	before := number(t, s, "connected_clients")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for i := range 3 * kernel.MostOwn {
		within(t, "a transaction whose function does not return", func() {
			defer func() { _ = recover() }()
			_ = c.Transact(ctx, func(tx *keywright.Tx) error {
				_, _ = keywright.Watch(tx, note(c, "1").Get())
				if i%2 == 0 {
					runtime.Goexit()
				}
				panic("boom")
			})
		})
		if ctx.Err() != nil {
			t.Fatal("it waits for a connection")
		}
	}
	must(t, c.Transact(ctx, func(tx *keywright.Tx) error {
		keywright.Queue(tx, note(c, "1").Set("x"))
		return nil
	}))
	until(t, "the connections are closed", func() bool { return number(t, s, "connected_clients") <= before+2 })
}

// TestAnErrorOfTheFunction is returned as it is, and leaves no watch.
func TestAnErrorOfTheFunction(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	var log bytes.Buffer
	c := open(t, s.URL(), keywright.Options{Attempts: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	mine := errors.New("mine")
	var pending *keywright.Pending[struct{}]
	for range 3 {
		err := c.Transact(t.Context(), func(tx *keywright.Tx) error {
			if _, err := keywright.Watch(tx, note(c, "1").Get()); err != nil && err != keywright.ErrNotFound {
				return err
			}
			pending = keywright.Queue(tx, note(c, "2").Set("x"))
			return mine
		})
		if _, ok := keywright.ClassOf(err); err != mine || ok {
			t.Errorf("the error of the function: %#v", err)
		}
		if _, err := pending.Result(); err != mine {
			t.Errorf("the operation: %v", err)
		}
		s.Do("SET", "note:1", "changed")
		if err := c.Transact(t.Context(), func(tx *keywright.Tx) error {
			keywright.Queue(tx, note(c, "3").Set("x"))
			return nil
		}); err != nil {
			t.Fatalf("the next transaction failed for what the one before had watched: %v", err)
		}
	}
	if s.Do("EXISTS", "note:2") != int64(0) {
		t.Error("something was applied")
	}
	if strings.Contains(log.String(), "mine") || strings.Contains(log.String(), "WARN") {
		t.Errorf("the error of a function is told as a failure, with its text:\n%s", log.String())
	}
}

// TestPartOfATransaction: the error says that some of it was applied, and each
// result what has become of its operation.
func TestPartOfATransaction(t *testing.T) {
	brands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		c := open(t, s.URL(), keywright.Options{})
		s.Do("SADD", "hits:1", "no number")
		var first, last *keywright.Pending[struct{}]
		var bad *keywright.Pending[int64]
		err := c.Transact(t.Context(), func(tx *keywright.Tx) error {
			first = keywright.Queue(tx, note(c, "1").Set("x"))
			bad = keywright.Queue(tx, hits(c, "1").Add(1))
			last = keywright.Queue(tx, note(c, "2").Set("x"))
			return nil
		})
		class(t, err, keywright.Partial)
		if !errors.Is(err, keywright.ErrPartial) || !strings.Contains(err.Error(), "2 writes of 3 operations") ||
			!strings.Contains(err.Error(), "WRONGTYPE") {
			t.Errorf("%v", err)
		}
		_, a := first.Result()
		_, b := bad.Result()
		_, d := last.Result()
		if a != nil || d != nil {
			t.Errorf("what was applied says %v, %v", a, d)
		}
		class(t, b, keywright.Refused)
		if s.Do("GET", "note:1") != "x" || s.Do("GET", "note:2") != "x" {
			t.Error("it says that more was applied than was")
		}
		err = c.Transact(t.Context(), func(tx *keywright.Tx) error {
			keywright.Queue(tx, note(c, "1").Get())
			keywright.Queue(tx, hits(c, "1").Add(1))
			return nil
		})
		class(t, err, keywright.Refused) // nothing was applied
	})
}

// TestManyTransactions share a bounded number of connections, which go back when
// they are idle.
func TestManyTransactions(t *testing.T) {
	kernel.IdleFor(t, 500*time.Millisecond)
	s := keywrighttest.Start(t, keywrighttest.Redis, keywrighttest.Config("maxclients", "2000"))
	c := open(t, s.URL(), keywright.Options{})
	before := number(t, s, "connected_clients")
	var wg sync.WaitGroup
	var mu sync.Mutex
	running, most := 0, 0
	for range 1000 {
		wg.Go(func() {
			err := c.Transact(t.Context(), func(tx *keywright.Tx) error {
				mu.Lock()
				running++
				most = max(most, running)
				mu.Unlock()
				keywright.Queue(tx, hits(c, "1").Add(1))
				mu.Lock()
				running--
				mu.Unlock()
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := s.Do("GET", "hits:1"); got != "1000" {
		t.Errorf("%v of 1000 additions", got)
	}
	if most > kernel.MostOwn || number(t, s, "connected_clients") > before+kernel.MostOwn+2 {
		t.Errorf("%d ran at a time; %d connections", most, number(t, s, "connected_clients"))
	}
	until(t, "idle connections go back", func() bool { return number(t, s, "connected_clients") <= before+2 })
}

// shortly is the function of a short transaction.
func shortly(tx *keywright.Tx, c *keywright.Client, watch bool) error {
	if watch {
		if _, err := keywright.Watch(tx, note(c, "1").Get()); err != nil && err != keywright.ErrNotFound {
			return err
		}
	}
	keywright.Queue(tx, note(c, "late").Set("x"))
	return nil
}

// TestATransactionKeepsItsContext: also when the server is frozen, when another
// caller dials, and when all connections are taken; what was not sent says so and
// is not applied later.
func TestATransactionKeepsItsContext(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	c := open(t, s.URL(), keywright.Options{Timeout: patience})
	leave := make(chan struct{})
	var held sync.WaitGroup
	short := func(watch bool) error {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		var err error
		within(t, "a transaction with 300 ms", func() {
			err = c.Transact(ctx, func(tx *keywright.Tx) error {
				return shortly(tx, c, watch)
			})
		})
		return err
	}
	entered := make(chan struct{})
	for range kernel.MostOwn {
		held.Go(func() {
			_ = c.Transact(t.Context(), func(*keywright.Tx) error { entered <- struct{}{}; <-leave; return nil })
		})
		<-entered
	}
	class(t, short(false), keywright.NotApplied) // all are taken
	close(leave)
	held.Wait()
	until(t, "a transaction is made in 300 ms", func() bool { return short(true) == nil })
	s.Do("DEL", "note:late")

	s.Stop()
	for i := range 6 {
		if got, ok := keywright.ClassOf(short(i%2 == 0)); !ok || got == keywright.Invalid || got == keywright.Refused {
			t.Errorf("frozen: %v", got)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	err := c.Transact(gone, func(tx *keywright.Tx) error { t.Error("it runs for a caller who is gone"); return nil })
	class(t, err, keywright.NotApplied)
	s.Continue()
}
