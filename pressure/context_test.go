package pressure_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/pressure"
)

// TestOnceEndsWithItsContext also when the server freezes after it has said how full
// it is: the question for the lease goes on without its caller.
func TestOnceEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	fill(s, 2000, 1, 2)
	press(t, s, .85)
	c := open(t, s.URL())
	frozen := false
	const lease = time.Minute
	w := watcher(c, &shelf{c: c}, pressure.Options{Lease: lease, Look: func(pressure.Reading) { frozen = true; s.Stop() }})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := w.Once(ctx)
	if took := time.Since(began); !frozen || !errors.Is(err, context.DeadlineExceeded) || took > lease/3 {
		t.Errorf("it took %v: %v", took, err)
	}
	s.Continue()
}
