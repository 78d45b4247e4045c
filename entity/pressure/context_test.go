package pressure_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/pressure"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keywrighttest"
)

// TestOnceEndsWithItsContext also when the server freezes after it has said how full
// it is: the question for the lease goes on without its caller.
func TestOnceEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	fill(s, 2000, 1, 2)
	press(t, s, .85)
	ctx, leave := context.WithCancel(t.Context())
	asked := false
	c := open(t, s.URL(), keywright.Options{Hooks: []keywright.Hook{{
		Start: func(of context.Context, call keywright.Call) context.Context {
			if call.Op == "lease" {
				asked = true
				leave()
			}
			return of
		}}}})
	w := watcher(c, &shelf{c: c}, pressure.Options{Lease: time.Hour, Look: func(pressure.Reading) { s.Stop() }})
	expect.Return(t, "Once ends", func() {
		if _, err := w.Once(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	s.Continue()
	if !asked {
		t.Error("it has not asked for the lease: this shows nothing")
	}
}
