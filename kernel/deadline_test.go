package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/everykeys"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/redis/rueidis"
)

// nothing represents a client that no call is made of.
type nothing struct{ rueidis.Client }

func (nothing) Mode() rueidis.ClientMode { return rueidis.ClientModeStandalone }

// panicked represents the error of a call that panics.
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

// hurry calls everything, each with a context of 300 ms. A call ends with it, and not with the client's timeout, which
// is longer than the test waits. Where all of the tests run it ends at most 100 ms later, and what this process is late
// by itself at that moment: one that is later among all the others is made again by itself, and fails the test if it is
// late two times of three.
func hurry(t *testing.T, c *keywright.Client, check func(name string, err error)) {
	t.Helper()
	hurryOf(t, everything(t, c), check)
}

// hurryOf is hurry for some calls.
func hurryOf(t *testing.T, all map[string]func(context.Context) error, check func(name string, err error)) {
	t.Helper()
	once := func(name string) (late string) {
		h := hurried(t.Context(), all[name])
		if h.hangs {
			t.Errorf("%s hangs", name)
			return ""
		}
		if _, ok := errors.AsType[panicked](h.err); ok {
			t.Errorf("%s: %v", name, h.err)
		}
		if check != nil {
			check(name, h.err)
		}
		if gate.All() && h.late > tolerance+4*h.noise {
			late = fmt.Sprintf("by %v (a timer by %v): %v", h.late, h.noise, h.err)
		}
		return late
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var slow []string
	room := make(chan struct{}, 32)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			if once(name) != "" {
				mu.Lock()
				defer mu.Unlock()
				slow = append(slow, name)
			}
		})
	}
	wg.Wait()
	for _, name := range slow {
		var late []string
		for range 3 {
			if l := once(name); l != "" {
				late = append(late, l)
			}
		}
		if len(late) > 1 {
			t.Errorf("%s is late two times of three:\n%s", name, strings.Join(late, "\n"))
		}
	}
}

// outcome represents a call whose context has ended.
type outcome struct {
	err   error
	late  time.Duration // after the end of its context
	noise time.Duration // by which a goroutine was late that does nothing else, until the call was over
	hangs bool
}

func hurried(parent context.Context, call func(context.Context) error) outcome {
	return hurriedFor(parent, 300*time.Millisecond, call)
}

// hurriedFor makes a call with a context that ends after a time.
func hurriedFor(parent context.Context, d time.Duration, call func(context.Context) error) (h outcome) {
	ctx, cancel := context.WithTimeout(parent, d)
	defer cancel()
	end, _ := ctx.Deadline()
	done, over, idle := make(chan error, 1), make(chan struct{}), make(chan time.Duration, 1)
	go func() {
		<-ctx.Done()
		if time.Now().Before(end) { // the call was over before
			idle <- 0
			return
		}
		idle <- noise(end, over)
	}()
	go func() { done <- sound(ctx, call) }()
	select {
	case h.err = <-done:
		h.late = time.Since(end)
	case <-time.After(expect.Patience):
		h.hangs = true
	}
	close(over)
	cancel()
	h.noise = <-idle
	return h
}

// noise is by how much this process was late the most: to tell a goroutine of the end of
// a context, and then, until over is closed, with a timer and a goroutine in turn. What
// stalls it may come after the end of the context.
func noise(end time.Time, over <-chan struct{}) (most time.Duration) {
	for due := end; ; due = time.Now().Add(10 * time.Millisecond) {
		if wait := time.Until(due); wait > 0 {
			<-time.After(wait)
		}
		next := make(chan struct{})
		go close(next)
		<-next
		most = max(most, time.Since(due))
		select {
		case <-over:
			return most
		default:
		}
	}
}

const (
	tolerance = 100 * time.Millisecond
	patience  = time.Hour // the timeout of the client: what does not end with its context waits for it
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
		if many(name) || second(name) {
			return
		}
		if err == nil || applies(err) {
			t.Errorf("%s, of which nothing was sent: %v", name, err)
		}
	}
}

// many are calls that may travel with those of other callers, and calls of many items: each
// has an error of its own, and one without a key is never asked for.
func many(name string) bool {
	return strings.Contains(name, "Store.") || strings.HasSuffix(name, ".GetMany") ||
		strings.HasSuffix(name, ".GetOrLoadMany")
}

// second are calls that a second store may answer.
func second(name string) bool { return strings.HasPrefix(name, "Fallback.") }

// patient returns a client that gives a silent server much time.
func patient(t *testing.T, url string) *keywright.Client {
	c := open(t, url, keywright.Options{Timeout: patience, Connections: -1, Sealer: servertest.Ring(t, "a")})
	must(t, everykeys.New(c).Str(1).Set("x").Do(t.Context()))
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
		read := everykeys.New(c).Str(1).Get() // made once: it is the calls that are looked at
		s.Stop()
		defer s.Continue()
		var wg sync.WaitGroup
		for range 3000 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				_, _ = read.Do(ctx)
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
			wg.Go(func() { _, _ = everykeys.New(c).Str(1).Get().Do(life) })
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
			_, err := everykeys.New(c).Str(1).Exists().Do(t.Context())
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
		hurry(t, c, func(name string, err error) {
			if class, ok := keywright.ClassOf(err); ok && class == keywright.Invalid && name == "Keys.FarStore.Create" {
				t.Errorf("an entity in several slots: %s: %v", name, err)
			}
		})
	})
	t.Run("closed", func(t *testing.T) {
		t.Parallel()
		s := keywrighttest.Start(t, keywrighttest.Redis)
		c := patient(t, s.URL())
		c.Close()
		check := unsent(t)
		hurry(t, c, func(name string, err error) {
			if name == "Open" {
				return // it is a client of its own
			}
			check(name, err)
			// the machine was slower than the caller's time: once more, with much of it
			if errors.Is(err, context.DeadlineExceeded) {
				err = everything(t, c)[name](t.Context())
			}
			if class, _ := keywright.ClassOf(err); !errors.Is(err, keywright.ErrClosed) && class != keywright.Invalid &&
				!many(name) && !second(name) {
				t.Errorf("%s of a closed client: %v", name, err)
			}
		})
	})
	for name, state := range busy {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "failing over") {
				gate.Skip(t, "makes all calls again and again until a replica has taken over")
			}
			state(t)
		})
	}
}
