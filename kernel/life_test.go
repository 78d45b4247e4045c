package kernel_test

import (
	"context"
	"errors"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
)

// TestLife: what works under the life of a client ends with it, and says why.
func TestLife(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL(), keywright.Options{})
	ctx, free := c.While(t.Context())
	defer free()
	freed, free2 := c.While(t.Context())
	free2()
	if ctx.Err() != nil || c.Life().Err() != nil || context.Cause(freed) != context.Canceled {
		t.Errorf("it ended too early: %v %v %v", ctx.Err(), c.Life().Err(), context.Cause(freed))
	}
	c.Close()
	<-ctx.Done()
	if !errors.Is(context.Cause(ctx), keywright.ErrClosed) || !errors.Is(context.Cause(c.Life()), keywright.ErrClosed) {
		t.Errorf("%v, %v", context.Cause(ctx), context.Cause(c.Life()))
	}
}
