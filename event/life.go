package event

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// lingering returns a context that ends d after ctx.
func lingering(ctx context.Context, d time.Duration) (context.Context, func()) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(d, cancel)
		context.AfterFunc(out, func() { timer.Stop() })
	})
	return out, func() { stop(); cancel() }
}

// guarded calls a function of the user in a goroutine of its own and waits for
// it. A panic and runtime.Goexit become errors.
func guarded(what string, fn func() error) (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		returned := false
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("%s panicked: %v", what, p)
			} else if !returned {
				err = fmt.Errorf("%s called runtime.Goexit", what)
			}
		}()
		err = fn()
		returned = true
	}()
	<-done
	return err
}

// errUnmade reports the error of a zero Topic, Stream or Exchange.
var errUnmade = errors.New("it was not made by generated code: the zero value has no channel")
