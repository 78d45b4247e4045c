package conn

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright/internal/coalesce"
)

// Departure represents the context of a call whose caller may leave: a connection that is
// being made goes on to be made, but a command is sent only while its caller is
// there. rueidis asks for Err before it sends.
type Departure struct {
	context.Context                // the caller's
	gate            *DialGate      // of its connections
	flight          *coalesce.Call // of several callers; nil: it is of one
	state           atomic.Int32
}

type (
	departureKey struct{} // for the value: this is a departure
	asideKey     struct{} // for the value: this is the context of a command that blocks
)

// The states of a departure.
const (
	waiting int32 = iota
	mayBeSent
	left
)

// Deadline implements context.Context.
func (*Departure) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done implements context.Context.
func (*Departure) Done() <-chan struct{} { return nil }

// Err implements context.Context. Without a connection nothing will be sent after
// it: the call is about to fail, and its caller may leave before that.
func (d *Departure) Err() error {
	if d.gate.unconnected() && d.state.Load() != left {
		return nil
	}
	if !d.state.CompareAndSwap(waiting, mayBeSent) && d.state.Load() != mayBeSent || d.flight != nil && !d.flight.Go() {
		return context.Canceled
	}
	return nil
}

// Value implements context.Context.
func (d *Departure) Value(key any) any {
	if key == (departureKey{}) {
		return d
	}
	return d.Context.Value(key)
}

// Leave returns the error of a caller that leaves.
func (d *Departure) Leave(err error) error {
	if d.state.CompareAndSwap(waiting, left) {
		return &Unsent{err}
	}
	return err
}

// aside represents the context of a command that blocks. It notes whether rueidis, which asks
// for Err before it sends, may have sent it: a dial comes before that.
type aside struct {
	context.Context
	state atomic.Int32
}

// Deadline implements context.Context. rueidis then makes a context of its own for
// the login, and does not ask this one.
func (*aside) Deadline() (time.Time, bool) { return time.Time{}, false }

// Err implements context.Context.
func (a *aside) Err() error {
	if err := a.Context.Err(); err != nil {
		return err
	}
	if !a.state.CompareAndSwap(waiting, mayBeSent) && a.state.Load() == left {
		return context.Canceled
	}
	return nil
}

// Value implements context.Context.
func (a *aside) Value(key any) any {
	if key == (asideKey{}) {
		return a
	}
	return a.Context.Value(key)
}

// dials notes that a connection is made: what was sent before that was refused.
func (a *aside) dials() { a.state.CompareAndSwap(mayBeSent, waiting) }

// Leave returns the error of a caller that leaves, or whose call has failed.
func (a *aside) Leave(err error) error {
	if a.state.Swap(left) != mayBeSent {
		return &Unsent{err}
	}
	return err
}
