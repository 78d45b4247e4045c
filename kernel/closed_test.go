package kernel_test

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/everykeys"
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
		began := time.Now()
		err := opened(ctx, s.URL())
		cancel()
		if took := time.Since(began); took > patience/2 {
			t.Errorf("%s: Open took %v", name, took)
		}
		if class, _ := keywright.ClassOf(err); !errors.Is(err, ctx.Err()) || class != keywright.NotApplied {
			t.Errorf("%s: %v", name, err)
		}
	}
}
