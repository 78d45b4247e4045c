package cache

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// ErrOpen reports an operation that was not sent because the server has failed often
// just now.
var ErrOpen = errors.New("the server has failed several times in a row and is left alone for a moment")

func (c *Cache[V]) unavailable(op string) error {
	return &keywright.Error{Class: keywright.Retryable, Op: op, Entry: c.entry.Name, Server: c.client.Server(),
		Err: ErrOpen}
}

// failing reports whether an error says that the server cannot be reached, rather
// than that it has said no, or that the client is closed.
func failing(err error) bool {
	class, ok := keywright.ClassOf(err)
	return ok && class != keywright.Invalid && class != keywright.Refused && !errors.Is(err, keywright.ErrClosed)
}

// writesAlone lists the refusals of a server that takes no writes and still gives what
// it has.
var writesAlone = []string{"OOM", "MISCONF", "NOREPLICAS"}

// answered reports whether a server that said no would answer a read.
func answered(err error) bool {
	reply, ok := errors.AsType[*kernel.ServerError](err)
	if !ok {
		return false
	}
	word, _, _ := strings.Cut(reply.Error(), " ")
	return slices.Contains(writesAlone, word)
}

// recordResult reports the result of a call to the breaker, unless its caller ended it.
func (c *Cache[V]) recordResult(ctx context.Context, err error) {
	if c.guard != nil && (err == nil || ctx.Err() == nil) {
		c.guard.Note(!failing(err) || answered(err))
	}
}

// without returns a read while the server does not answer.
func (i Item[V]) without(err error) reading[V] {
	r := reading[V]{left: -1, err: err}
	if i.c.copies != nil {
		if v, ok := i.c.copies.get(i.main, time.Now()); ok {
			r.value, r.old, r.err = v, err, nil
		}
	}
	return r
}

// copies holds the last values this process has seen, bounded in number and age.
// When there are too many some go, in no order.
type copies[V any] struct {
	mu     sync.Mutex
	most   int
	oldest time.Duration
	kept   map[string]seen[V]
}

type seen[V any] struct {
	value V
	at    time.Time
}

func newCopies[V any](most int, oldest time.Duration) *copies[V] {
	return &copies[V]{most: most, oldest: oldest, kept: map[string]seen[V]{}}
}

func (c *copies[V]) put(key string, v V, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.kept[key]; !known && len(c.kept) >= c.most {
		for other := range c.kept {
			delete(c.kept, other)
			break
		}
	}
	c.kept[key] = seen[V]{v, now}
}

func (c *copies[V]) get(key string, now time.Time) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.kept[key]
	if !ok || now.Sub(s.at) > c.oldest {
		return v, false
	}
	return s.value, true
}

func (c *copies[V]) drop(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.kept, key)
}
