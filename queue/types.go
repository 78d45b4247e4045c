package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// named returns the error of a call, with the name of the key that has a wrong type if
// that is what is wrong. The server does not say which one it is.
func (q Queue[T]) named(ctx context.Context, keys []string, err error) error {
	e, ok := errors.AsType[*keywright.Error](err)
	reply, refused := errors.AsType[*kernel.ServerError](err)
	if _, said := errors.AsType[*keyError](err); said || !ok || !refused || !strings.HasPrefix(reply.Error(),
		"WRONGTYPE") {
		return err
	}
	told := *e
	raw := q.client.Raw()
	for some := range slices.Chunk(keys, maxBatch) {
		all := make(kernel.Commands, len(some))
		for i, key := range some {
			all[i] = raw.B().Type().Key(key).Build()
		}
		for i, r := range raw.DoMulti(ctx, all...) {
			is, failed := r.ToString()
			if want := q.typeOf(some[i]); failed == nil && is != "none" && is != want {
				told.Err = fmt.Errorf("the key %q is a %s, not a %s: %w", some[i], is, want, e.Err)
				return &told
			}
		}
	}
	return err
}

// typeOf returns the type of one of the queue's keys.
func (q Queue[T]) typeOf(key string) string {
	switch key {
	case q.keys.Leases, q.keys.Delayed, q.keys.Dead, q.keys.Workers:
		return "zset"
	case q.keys.State, q.keys.Runs:
		return "hash"
	}
	if slices.Contains(q.laneKeys(), key) {
		return "list"
	}
	return "string"
}
