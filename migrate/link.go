package migrate

import (
	"context"
	"errors"
	"sync"

	"fmt"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// link represents the way to Redis: a client that is there, one that can be opened later, or none.
type link struct {
	open func(context.Context) (*keywright.Client, error) // nil: it is not opened later

	mu     sync.Mutex
	client *keywright.Client
	err    error // why there is none yet
}

// none reports whether there is no server, now and later.
func (l *link) none() bool { return l.open == nil && l.client == nil }

// get returns the client, or why there is none yet.
func (l *link) get() (*keywright.Client, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client == nil && l.err == nil {
		return nil, errNoServer
	}
	return l.client, l.err
}

// raw returns the connections of the client, or why there are none yet.
func (l *link) raw() (kernel.Raw, error) {
	c, err := l.get()
	if err != nil {
		return nil, err
	}
	return c.Raw(), nil
}

// connect opens the client if it is not there yet. One goroutine at a time calls it.
func (l *link) connect(ctx context.Context) error {
	if c, _ := l.get(); c != nil || l.open == nil {
		return nil
	}
	c, err := l.open(ctx)
	if err == nil {
		if err = single(c); err != nil {
			c.Close()
			c = nil
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.client, l.err = c, err
	return err
}

// begin connects for the first time. It fails if time does not heal what went wrong.
func (l *link) begin(ctx context.Context) error {
	err := l.connect(ctx)
	if class, known := keywright.ClassOf(err); err != nil && (ctx.Err() != nil || !known ||
		class == keywright.Invalid || class == keywright.Refused) {
		return err
	}
	return nil
}

// close closes the client if it was opened here.
func (l *link) close() {
	if c, _ := l.get(); c != nil && l.open != nil {
		c.Close()
	}
}

// single is nil for a client of one server.
func single(c *keywright.Client) error {
	if !c.Clustered() {
		return nil
	}
	return &keywright.Error{Class: keywright.Invalid, Op: "open migration",
		Err:  errors.New("a cluster has no one place for the epoch of a migration"),
		Hint: "migrate to one server with replicas, then move the keys into the cluster with `keywright copy`"}
}

// fields reads the fields of a hash in Redis, at most maxKept.
func (l *link) fields(ctx context.Context, hash string) (out []string, err error) {
	if l.none() {
		return nil, nil // the names of files say it
	}
	raw, err := l.raw()
	if err != nil {
		return nil, err
	}
	for cursor := uint64(0); ; {
		page, err := raw.Do(ctx, raw.B().Hscan().Key(hash).Cursor(cursor).Count(sweepBatch).Build()).AsScanEntry()
		if err != nil && !kernel.IsNil(err) {
			return nil, fmt.Errorf("reading the names that a hash keeps: %w", err)
		}
		for i := 0; i < len(page.Elements); i += 2 {
			out = append(out, page.Elements[i])
		}
		if len(out) > maxKept {
			return nil, fmt.Errorf("a hash that keeps names has more than %d of them: %w", maxKept, ErrTooLarge)
		}
		if cursor = page.Cursor; cursor == 0 {
			return out, nil
		}
	}
}

var errNoServer = errors.New("no server was named")

// unrefused is nil for an error that the server answers with.
func unrefused(err error) error {
	if _, refused := errors.AsType[*kernel.ServerError](err); refused {
		return nil
	}
	return err
}
