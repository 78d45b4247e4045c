// Package writelease gives one process at a time the right to change keys on a server: a key there that always has a
// TTL. It stops no program that does not ask for the right.
//
// API: may change until 1.0.
package writelease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/lease"
	"github.com/keywright/keywright/keyspace/selection"
)

// Key is the key that says which process changes keys on a server. It always has a
// TTL.
const Key = selection.ActingKey

// TemporaryPrefix begins the names of keys under which values in parts are put
// together. Such a key has a TTL of an hour.
const TemporaryPrefix = selection.TemporaryPrefix

// leaseTime says how long a killed process keeps others from acting.
const leaseTime = 15 * time.Second

// ErrHeld is returned where another process changes keys on the server.
var ErrHeld = errors.New("another process changes keys on this server")

// HeldError is an ErrHeld that says which process it is.
type HeldError struct {
	Owner string        // host and process id; "" if another program took the key
	Left  time.Duration // until its right ends, unless it is renewed, which a process that lives does every few seconds
}

func (e *HeldError) Error() string {
	return ErrHeld.Error() + ": " + cmp.Or(e.Owner, "another program")
}

// Is reports that each of them is an ErrHeld.
func (e *HeldError) Is(err error) bool { return err == ErrHeld }

// MayBeDead reports whether the process may have been killed: earlier is what was said of it before, nil at first. A
// process that lives differs from it as soon as it has renewed its right.
func (e *HeldError) MayBeDead(earlier *HeldError) bool {
	return e.Left <= leaseTime && (earlier == nil || e.Owner == earlier.Owner && e.Left <= earlier.Left)
}

// Lease represents the right to change keys on a server: one process has it at a time.
type Lease struct {
	lease *lease.Lease
	held  context.Context
	stop  func()
}

// Acquire takes the right to change keys, and keeps it until Release. It is an error, which
// wraps ErrHeld, if another process has it.
func Acquire(ctx context.Context, c *keywright.Client) (*Lease, error) {
	l := lease.New(c, Key, leaseTime, lease.Options{})
	term, err := l.Acquire(ctx)
	if busy, ok := errors.AsType[*lease.BusyError](err); ok {
		return nil, &HeldError{busy.Owner, busy.Left}
	}
	if err != nil {
		return nil, err
	}
	held, stop := l.Hold(context.WithoutCancel(ctx), term)
	return &Lease{l, held, stop}, nil
}

// Held returns an error if another process may act by now.
func (a *Lease) Held() error {
	if cause := context.Cause(a.held); cause != nil {
		return fmt.Errorf("%w: %w", ErrHeld, cause)
	}
	return nil
}

// givingBack says how long a process that has ended its changes waits for a server that does not answer.
const givingBack = 5 * time.Second

// Release gives the right back. If that fails it ends by itself.
func (a *Lease) Release() {
	a.stop()
	ctx, cancel := context.WithTimeout(context.Background(), givingBack)
	defer cancel()
	_ = a.lease.Release(ctx)
}
