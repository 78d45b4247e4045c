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

// ActingKey is the key that says which process changes keys on a server. It always has a
// TTL.
const ActingKey = selection.ActingKey

// TemporaryPrefix begins the names of keys under which values in parts are put
// together. Such a key has a TTL of an hour.
const TemporaryPrefix = selection.TemporaryPrefix

// actingFor says how long a killed process keeps others from acting.
const actingFor = 15 * time.Second

// ErrActing is returned where another process changes keys on the server.
var ErrActing = errors.New("another process changes keys on this server")

// ActingError is an ErrActing that says which process it is.
type ActingError struct {
	Owner string        // host and process id; "" if another program took the key
	Left  time.Duration // until its right ends, unless it is renewed, which a process that lives does every few seconds
}

func (e *ActingError) Error() string {
	return ErrActing.Error() + ": " + cmp.Or(e.Owner, "another program")
}

// Is reports that each of them is an ErrActing.
func (e *ActingError) Is(err error) bool { return err == ErrActing }

// MayBeDead reports whether the process may have been killed: earlier is what was said of it before, nil at first. A
// process that lives is told apart as soon as it has renewed its right.
func (e *ActingError) MayBeDead(earlier *ActingError) bool {
	return e.Left <= actingFor && (earlier == nil || e.Owner == earlier.Owner && e.Left <= earlier.Left)
}

// Acting represents the right to change keys on a server: one process has it at a time.
type Acting struct {
	lease *lease.Lease
	held  context.Context
	stop  func()
}

// Act takes the right to change keys, and keeps it until End. It is an error, which
// wraps ErrActing, if another process has it.
func Act(ctx context.Context, c *keywright.Client) (*Acting, error) {
	l := lease.New(c, ActingKey, actingFor, lease.Options{})
	term, err := l.Acquire(ctx)
	if busy, ok := errors.AsType[*lease.BusyError](err); ok {
		return nil, &ActingError{busy.Owner, busy.Left}
	}
	if err != nil {
		return nil, err
	}
	held, stop := l.Hold(context.WithoutCancel(ctx), term)
	return &Acting{l, held, stop}, nil
}

// Still returns an error if another process may act by now.
func (a *Acting) Still() error {
	if cause := context.Cause(a.held); cause != nil {
		return fmt.Errorf("%w: %w", ErrActing, cause)
	}
	return nil
}

// givingBack says how long a process that has ended its changes waits for a server that does not answer.
const givingBack = 5 * time.Second

// End gives the right back. If that fails it ends by itself.
func (a *Acting) End() {
	a.stop()
	ctx, cancel := context.WithTimeout(context.Background(), givingBack)
	defer cancel()
	_ = a.lease.Release(ctx)
}
