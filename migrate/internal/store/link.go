package store

import (
	"context"
	"errors"
	"sync"

	"fmt"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/migrate/internal/sources"
)

// Link represents the way to Redis: a client that is there, one that can be opened later, or none.
type Link struct {
	Open func(context.Context) (*keywright.Client, error) // nil: it is not opened later

	mu     sync.Mutex
	Client *keywright.Client
	err    error // why there is none yet
}

// None reports whether there is no server, now and later.
func (l *Link) None() bool { return l.Open == nil && l.Client == nil }

// Get returns the client, or why there is none yet.
func (l *Link) Get() (*keywright.Client, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Client == nil && l.err == nil {
		return nil, ErrNoServer
	}
	return l.Client, l.err
}

// Raw returns the connections of the client, or why there are none yet.
func (l *Link) Raw() (kernel.Raw, error) {
	c, err := l.Get()
	if err != nil {
		return nil, err
	}
	return c.Raw(), nil
}

// Connect opens the client if it is not there yet. One goroutine at a time calls it.
func (l *Link) Connect(ctx context.Context) error {
	if c, _ := l.Get(); c != nil || l.Open == nil {
		return nil
	}
	c, err := l.Open(ctx)
	if err == nil {
		if err = Single(c); err != nil {
			c.Close()
			c = nil
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Client, l.err = c, err
	return err
}

// Begin connects for the first time. It fails if time does not heal what went wrong.
func (l *Link) Begin(ctx context.Context) error {
	err := l.Connect(ctx)
	if class, known := keywright.ClassOf(err); err != nil && (ctx.Err() != nil || !known ||
		class == keywright.Invalid || class == keywright.Refused) {
		return err
	}
	return nil
}

// Close closes the client if it was opened here.
func (l *Link) Close() {
	if c, _ := l.Get(); c != nil && l.Open != nil {
		c.Close()
	}
}

// Single is nil for a client of one server.
func Single(c *keywright.Client) error {
	if !c.Clustered() {
		return nil
	}
	return &keywright.Error{Class: keywright.Invalid, Op: "open migration",
		Err:  errors.New("a cluster has no one place for the epoch of a migration"),
		Hint: "migrate to one server with replicas, then move the keys into the cluster with `keywright copy`"}
}

// Fields reads the fields of a hash in Redis, at most maxKept.
func (l *Link) Fields(ctx context.Context, hash string) (out []string, err error) {
	if l.None() {
		return nil, nil // the names of files say it
	}
	raw, err := l.Raw()
	if err != nil {
		return nil, err
	}
	for cursor := uint64(0); ; {
		page, err := raw.Do(ctx, raw.B().Hscan().Key(hash).Cursor(cursor).Count(SweepBatch).Build()).AsScanEntry()
		if err != nil && !kernel.IsNil(err) {
			return nil, fmt.Errorf("reading the names that a hash keeps: %w", err)
		}
		for i := 0; i < len(page.Elements); i += 2 {
			out = append(out, page.Elements[i])
		}
		if len(out) > sources.MaxKept {
			return nil, fmt.Errorf("a hash that keeps names has more than %d of them: %w", sources.MaxKept, ErrTooLarge)
		}
		if cursor = page.Cursor; cursor == 0 {
			return out, nil
		}
	}
}

// ErrNoServer reports what needs Redis where there is none.
var ErrNoServer = errors.New("there is no server: none was named, or it was not reached")

// Unrefused is nil for an error that the server answers with.
func Unrefused(err error) error {
	if _, refused := errors.AsType[*kernel.ServerError](err); refused {
		return nil
	}
	return err
}
