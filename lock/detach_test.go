package lock

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/keywright/keywright"
)

// TestDetachWhileItEnds: a lease that is being released, or was lost in this moment, is
// not detached: a token would be of a lock that is given to another one, and a later
// Release would not say that the lease was lost.
func TestDetachWhileItEnds(t *testing.T) {
	for what, lf := range map[string]*life{
		"released": {holders: 0},
		"lost":     {holders: 1, over: true, cause: ErrLost},
	} {
		lf.parent, lf.deadline = t.Context(), time.Now().Add(time.Hour)
		lease := &Lease{kind: alone, token: "t", life: lf, lock: Lock{entry: &keywright.Entry{Name: "a"}}}
		over := lf.over
		if token, err := lease.Detach(); token != "" || !errors.Is(err, ErrLost) {
			t.Errorf("%s: %q, %v", what, token, err)
		}
		if lf.detach() || lf.detached || lf.over != over {
			t.Errorf("%s: detached %t, over %t", what, lf.detached, lf.over)
		}
	}
	lf := &life{holders: 1, parent: t.Context()}
	if !lf.detach() || !lf.over || !lf.detached || !errors.Is(lf.cause, context.Canceled) {
		t.Errorf("a lease that is held is not detached: %+v", lf.cause)
	}
}
