package coalesce

import (
	"context"
	"sync/atomic"
	"time"
)

// Call represents the context of one call with the questions of several callers. It ends
// for none of them. What sends the call must ask Go before it sends: if all callers
// have left by then, nothing is sent.
type Call struct {
	state  atomic.Int32
	aboard int // callers that wait; guarded by the mutex of its Gather
}

// The states of a flight.
const (
	boarding int32 = iota // nothing is sent yet, nor without Go
	sent
	calledOff
)

type flightKey struct{}

// FlightOf returns the flight that a context is of, or nil.
func FlightOf(ctx context.Context) *Call {
	f, _ := ctx.Value(flightKey{}).(*Call)
	return f
}

// Go says that the call is being sent. It is false if no caller waits for it any more:
// then it must not be sent.
func (f *Call) Go() bool {
	for {
		state := f.state.Load()
		if state == calledOff {
			return false
		}
		if state == sent || f.state.CompareAndSwap(state, sent) {
			return true
		}
	}
}

// callOff reports whether the call will never be sent.
func (f *Call) callOff() bool { return f.state.CompareAndSwap(boarding, calledOff) }

// Deadline implements context.Context.
func (*Call) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done implements context.Context.
func (*Call) Done() <-chan struct{} { return nil }

// Err implements context.Context.
func (*Call) Err() error { return nil }

// Value implements context.Context.
func (f *Call) Value(key any) any {
	if key == (flightKey{}) {
		return f
	}
	return nil
}
