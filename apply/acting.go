package apply

import (
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
		return nil, fmt.Errorf("%w: %s", ErrActing, busy.Owner)
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
