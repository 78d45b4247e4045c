package keywright_test

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
	"github.com/keywright/keywright/internal/everykeys"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/redis/rueidis"
)

// nothing is a client that no call is made of.
type nothing struct{ rueidis.Client }

func (nothing) Mode() rueidis.ClientMode { return rueidis.ClientModeStandalone }

// panicked is the error of a call that panics.
type panicked struct{ error }

// sound makes a call, and gives its panic as an error.
func sound(ctx context.Context, call func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked{fmt.Errorf("it panicked: %v", p)}
		}
	}()
	return call(ctx)
}

// hurry calls everything, each with a context of 300 ms. What does not end with it
// waits for the timeout of the client, three times the bound here.
func hurry(t *testing.T, c *keywright.Client, check func(name string, err error)) {
	t.Helper()
	all := everything(c)
	var names []string
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	var wg sync.WaitGroup
	room := make(chan struct{}, 32)
	for _, name := range names {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			began, done := time.Now(), make(chan error, 1)
			go func() { done <- sound(ctx, all[name]) }()
			select {
			case err := <-done:
				if took := time.Since(began); took > bound {
					t.Errorf("%s took %v: %v", name, took, err)
				}
				if _, ok := errors.AsType[panicked](err); ok {
					t.Errorf("%s: %v", name, err)
				}
				if check != nil {
					check(name, err)
				}
			case <-time.After(patience + bound):
				t.Errorf("%s hangs", name)
			}
		})
	}
	wg.Wait()
}

const (
	bound    = 10 * time.Second
	patience = 30 * time.Second // the timeout of the client
)

// applies is an error that says that something may have been applied.
func applies(err error) bool {
	class, ok := keywright.ClassOf(err)
	return ok && (class == keywright.UnknownOutcome || class == keywright.Partial)
}

// unsent fails the test for a call that says that something may have been applied.
// Not asked are calls that may travel with those of others of whom one still waits.
func unsent(t *testing.T) func(string, error) {
	return func(name string, err error) {
		if strings.HasPrefix(name, "Keys.ItemStore.") || strings.HasSuffix(name, "Cache.GetMany") || strings.HasSuffix(name, "Cache.GetOrLoadMany") {
			return // many items: each has an error of its own, and one without a key is never asked for
		}
		if err == nil || applies(err) {
			t.Errorf("%s, of which nothing was sent: %v", name, err)
		}
	}
}

// patient is a client that gives a silent server much time.
func patient(t *testing.T, url string) *keywright.Client {
	c := open(t, url, keywright.Options{Timeout: patience, Connections: -1})
	must(t, everykeys.New(c).Str(1).Set(t.Context(), "x"))
	return c
}

// TestEveryCallEndsWithItsContext: whatever the server and other callers do.
func TestEveryCallEndsWithItsContext(t *testing.T) {
	t.Run("frozen", func(t *testing.T) {
		t.Parallel()
		s := keywrighttest.Start(t, keywrighttest.Redis)
		c := patient(t, s.URL())
		s.Stop()
		defer s.Continue()
		hurry(t, c, nil)
	})
	t.Run("frozen, with more callers than fit into a connection", func(t *testing.T) {
		t.Parallel()
		s := keywrighttest.Start(t, keywrighttest.Valkey)
		c := patient(t, s.URL())
		s.Stop()
		defer s.Continue()
		var wg sync.WaitGroup
		for range 3000 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				_, _ = everykeys.New(c).Str(1).Get(ctx)
			})
		}
		within(t, "3,000 callers with 50 ms", wg.Wait)
		hurry(t, c, nil)
	})
	t.Run("another caller dials", func(t *testing.T) {
		t.Parallel()
		s := keywrighttest.Start(t, keywrighttest.Redis)
		p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
		c := patient(t, "redis://"+p.Addr())
		p.Freeze() // it takes connections, and nothing answers the login
		p.Cut()
		defer p.Thaw()
		life, end := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		dialled := p.Connections()
		for range 4 {
			wg.Go(func() { _, _ = everykeys.New(c).Str(1).Get(life) })
		}
		until(t, "a caller dials", func() bool { return p.Connections() > dialled })
		hurry(t, c, unsent(t))
		end()
		wg.Wait()
	})
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		s := keywrighttest.Start(t, keywrighttest.Valkey)
		c := patient(t, s.URL())
		s.Kill()
		until(t, "the loss is noticed", func() bool {
			_, err := everykeys.New(c).Str(1).Exists(t.Context())
			return err != nil
		})
		hurry(t, c, unsent(t))
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		s := keywrighttest.StartCluster(t, keywrighttest.Redis, 3, 0)
		c := patient(t, s.URL())
		for _, n := range s.Nodes {
			n.Stop()
			defer n.Continue()
		}
		hurry(t, c, nil)
	})
	t.Run("closed", func(t *testing.T) {
		t.Parallel()
		s := keywrighttest.Start(t, keywrighttest.Redis)
		c := patient(t, s.URL())
		c.Close()
		hurry(t, c, unsent(t))
	})
	for name, state := range busy {
		t.Run(name, state)
	}
}
