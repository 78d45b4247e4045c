package fallback

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keywright/keywright"
)

// Source describes where an answer is from.
type Source uint8

// The sources.
const (
	FromRedis Source = iota // the server
	Second                  // the second store
)

// String implements fmt.Stringer.
func (s Source) String() string { return [...]string{"server", "second store"}[s] }

// Answer represents an item, or that there is none, with where it is from.
type Answer[T any] struct {
	Value   T
	Version int64     // for If; with Pending, what it will be
	Expires time.Time // by this machine's clock; zero: never
	Source  Source
	AsOf    time.Time // when the server's answer came, or the last write that waits was accepted
	Pending int       // writes to it that wait for the server and are in Value already
}

// Get reads an item: one round trip, or none while the server is away. The answer
// is from the second store when the server does not answer, when writes to the item
// are waiting, and with MissesToo when the server does not have it. There is none:
// keywright.ErrNotFound, and the answer says who said so. Neither can say:
// ErrNoCopy, of class Retryable.
func (g *Guard[T]) Get(ctx context.Context, id string) (Answer[T], error) {
	if g.isPending(id) {
		if a, err := g.second(ctx, id, nil); a.Pending > 0 {
			return a, err
		}
	}
	if !g.breaker.Allow() {
		return g.second(ctx, id, g.unavailable("get"))
	}
	began := time.Now()
	item, hot, err := g.askHot(ctx, id, began)
	switch {
	case err == nil:
		if !hot {
			g.learn(id, item, began)
		}
		return Answer[T]{Value: item.Value, Version: item.Version, Expires: item.Expires, AsOf: time.Now()}, nil
	case errors.Is(err, keywright.ErrNotFound):
		return g.missing(ctx, id, began)
	case !failing(err) || errors.Is(ctx.Err(), context.Canceled):
		return Answer[T]{}, err
	}
	return g.second(context.WithoutCancel(ctx), id, err)
}

// ask returns a read of the target that the breaker records.
func (g *Guard[T]) ask(ctx context.Context, id string) (Item[T], error) {
	return g.patiently(ctx, id, g.target.Get)
}

func (g *Guard[T]) patiently(ctx context.Context, id string,
	get func(context.Context, string) (Item[T], error)) (Item[T], error) {
	short, cancel := context.WithTimeout(ctx, g.o.Patience)
	defer cancel()
	item, err := get(short, id)
	g.recordResult(ctx, err)
	return item, err
}

// askHot returns ask, without the deadline while that is known. It is hot if there is
// nothing to learn.
func (g *Guard[T]) askHot(ctx context.Context, id string, now time.Time) (item Item[T], hot bool, err error) {
	if g.quick != nil {
		if s, fresh := g.copies.lately(id, now); fresh {
			if item, err = g.patiently(ctx, id, g.quick.GetQuick); err != nil || item.Version == s.version {
				item.Expires = s.expires
				return item, err == nil, err
			}
		}
	}
	item, err = g.ask(ctx, id)
	return item, false, err
}

// missing returns the answer when the server does not have an item.
func (g *Guard[T]) missing(ctx context.Context, id string, began time.Time) (Answer[T], error) {
	if g.o.MissesToo {
		if a, err := g.second(ctx, id, nil); err == nil {
			return a, nil
		}
	} else {
		g.learnGone(id, began)
	}
	return Answer[T]{AsOf: time.Now()}, keywright.ErrNotFound
}

// second returns an answer from the second store; cause is why the server gave none.
func (g *Guard[T]) second(ctx context.Context, id string, cause error) (Answer[T], error) {
	if err := g.writeWaiting(ctx, id); err != nil {
		return Answer[T]{}, g.fail("get", keywright.Retryable, cause, err)
	}
	r, known, err := g.store.Get(ctx, id)
	now := time.Now()
	switch {
	case err != nil:
		return Answer[T]{}, g.fail("get", keywright.Retryable, cause, err)
	case !known, g.o.MaxAge > 0 && r.Pending == 0 && now.Sub(r.AsOf) > g.o.MaxAge:
		return Answer[T]{}, g.fail("get", keywright.Retryable, cause, ErrNoCopy)
	}
	a := Answer[T]{Version: r.Shown(), Expires: r.Expires, Source: Second, AsOf: r.AsOf, Pending: r.Pending}
	if cause != nil || r.Pending > 0 {
		g.tell(FromCopy)
	}
	if !r.Alive(now) {
		return a, keywright.ErrNotFound
	}
	a.Value, err = g.target.Decode(id, r.Fields)
	return a, err
}

func (g *Guard[T]) unavailable(op string) error {
	return &keywright.Error{Class: keywright.NotApplied, Op: op, Entry: g.o.Name, Err: ErrAway}
}

// fail returns an error that has two causes: why the server did not do it, and why the
// second store did not.
func (g *Guard[T]) fail(op string, class keywright.Class, cause, err error) error {
	if cause != nil {
		err = fmt.Errorf("%w, and: %w", err, cause)
	}
	return &keywright.Error{Class: class, Op: op, Entry: g.o.Name, Err: err}
}
