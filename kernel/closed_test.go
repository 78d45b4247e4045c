package kernel_test

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/everykeys"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// working are calls that run until their context ends, and an operation of each that
// shows that it has begun.
var working = map[string]string{
	"Keys.Q.Worker.Run":      "q fetch",
	"Keys.Dur.Run":           "dur group",
	"Keys.Aged.Run":          "aged group",
	"Keys.AskExchange.Serve": "",
	"Keys.ItemStore.Sweeper": "item sweep",
	"Keys.FarStore.Sweeper":  "", // its items have no TTL
	"Keys.KeptStore.Sweeper": "kept sweep",
	"Keys.Sweeper":           "item sweep",
	"Keys.Pressure.Run":      "",
}

// TestCloseEndsWhatRuns: what runs until its context ends, ends with its client, too,
// and says so. So does what begins after that.
func TestCloseEndsWhatRuns(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	var mu sync.Mutex
	seen := map[string]bool{}
	c := open(t, s.URL(), keywright.Options{Hooks: []keywright.Hook{{
		Start: func(ctx context.Context, call keywright.Call) context.Context {
			mu.Lock()
			defer mu.Unlock()
			seen[call.Entry+" "+call.Op] = true
			return ctx
		}}}})
	all := table{map[string]func(context.Context) error{}, map[string]func(context.Context) error{}}
	calls("Keys", reflect.ValueOf(everykeys.New(c)), map[reflect.Type]bool{}, all)
	if found := slices.Sorted(maps.Keys(all.endless)); !slices.Equal(found, slices.Sorted(maps.Keys(working))) {
		t.Errorf("these run until their context ends: %v", found)
	}
	ended := func(name string) {
		if err := all.endless[name](t.Context()); !errors.Is(err, keywright.ErrClosed) &&
			!strings.HasSuffix(name, "Sweeper") {
			t.Errorf("%s ended with %v", name, err)
		} else if class, _ := keywright.ClassOf(err); err != nil && class != keywright.NotApplied {
			t.Errorf("%s ended with class %v", name, class)
		}
	}
	var running sync.WaitGroup
	for name := range all.endless {
		running.Go(func() { ended(name) })
	}
	for _, op := range working {
		until(t, op+" is seen", func() bool { mu.Lock(); defer mu.Unlock(); return op == "" || seen[op] })
	}
	c.Close()
	within(t, "all have ended", running.Wait)
	for name := range all.endless {
		within(t, name+" ends", func() { ended(name) })
	}
}

// TestOpenEndsWithItsContext: also while the server takes the connection and does not
// answer the login, and with a context that has no deadline.
func TestOpenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	s.Stop()
	defer s.Continue()
	for name, begin := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"a deadline": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 200*time.Millisecond)
		},
		"a cancel": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(200*time.Millisecond, cancel)
			return ctx, cancel
		},
	} {
		ctx, cancel := begin(t.Context())
		var err error
		within(t, "Open with "+name, func() { err = opened(ctx, s.URL()) })
		cancel()
		if class, _ := keywright.ClassOf(err); !errors.Is(err, ctx.Err()) || class != keywright.NotApplied {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOpenIsNotLate: wherever its context ends in the middle of it.
func TestOpenIsNotLate(t *testing.T) {
	gate.Skip(t, "measures by how much 400 calls are late")
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	var late atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 50 {
				h := hurriedFor(t.Context(), time.Duration(i)*time.Millisecond/2,
					func(ctx context.Context) error { return opened(ctx, s.URL()) })
				if h.late > tolerance+4*h.noise {
					t.Logf("after %d/2 ms: late by %v (a timer by %v): %v", i, h.late, h.noise, h.err)
					late.Add(1)
				}
			}
		})
	}
	all.Wait()
	if n := late.Load(); n > 2 {
		t.Errorf("%d of 400 are late", n)
	}
}
