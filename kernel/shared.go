package kernel

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/keywright/keywright/internal/gather"
	"github.com/redis/rueidis"
)

// Shared represents a script whose calls by many goroutines are sent together: requests that come while two of its
// calls are under way go with the next one. The reason is that the call of a short script costs a server more than
// what the script does. An error of one request does not affect the others.
//
// In a cluster every request is a call of its own, as keys of several slots may not be in one script.
type Shared struct {
	client *Client
	script *Script
	ahead  []string // keys that stand before those of the calls
	gather *gather.Gather[call, rueidis.RedisResult]
	alone  *gather.Gather[call, rueidis.RedisResult] // for clusters
}

// call describes what one caller asks.
type call struct{ keys, args []string }

// mostShared says how many calls travel together at most: a script holds up the
// server while it runs.
const mostShared = 64

// heavyShared says how many bytes of keys and arguments travel together at most; one
// call alone may have more.
const heavyShared = 1 << 20

func (c call) size() (n int) {
	for _, k := range c.keys {
		n += len(k)
	}
	for _, a := range c.args {
		n += len(a)
	}
	return n
}

// NewShared makes a shared script. Its ARGV[1] is the number of calls; after it
// stand their arguments, and in KEYS their keys, so many of each. It must return
// a list with something for every call, and use redis.pcall where one call may
// fail: its error in the list is that of this call.
func NewShared(c *Client, name, text string) *Shared {
	s := &Shared{client: c, script: NewScript(name, text)}
	s.gather, s.alone = gather.New(mostShared, s.send).Weigh(heavyShared, call.size).Until(c.life),
		gather.Each(s.send).Until(c.life)
	return s
}

// Ahead lets keys that every call needs are first in KEYS, once for all of them.
// It is for before the first call.
func (s *Shared) Ahead(keys ...string) *Shared {
	s.ahead = keys
	return s
}

// together returns an error unless all keys of a call are in one slot.
func (s *Shared) together(keys []string) error {
	if !s.client.slots {
		return nil
	}
	return s.client.together(slices.Concat(s.ahead, keys)...)
}

// RunShared returns one call of a shared script. When ctx ends before it is sent, it
// never will be, and late is nil. When ctx ends later, the call goes on without its
// caller, and late can be received from, once, when it is over.
func RunShared[T any](ctx context.Context, a *Action, s *Shared, keys, args []string,
	decode func(rueidis.RedisResult) (T, error)) (v T, late <-chan struct{}, err error) {
	if a.Err == nil {
		a.Err = s.together(keys)
	}
	g := s.gather
	if s.client.slots {
		g = s.alone
	}
	v, err = Run(ctx, a, func(ctx context.Context) (result rueidis.RedisResult) {
		var failed error
		if result, late, failed = g.Do(ctx, call{keys, args}); failed != nil {
			return rueidis.NewErrorResult(failed)
		}
		return result
	}, decode)
	return v, late, err
}

// DoShared works as RunShared does, for callers that need not know when a call is over that
// they have left: one that is alone makes it on its own goroutine.
func DoShared[T any](ctx context.Context, a *Action, s *Shared, keys, args []string,
	decode func(rueidis.RedisResult) (T, error)) (T, error) {
	if a.Err == nil {
		a.Err = s.together(keys)
	}
	g := s.gather
	if s.client.slots {
		g = s.alone
	}
	return Run(ctx, a, func(ctx context.Context) rueidis.RedisResult {
		result, err := g.Lead(ctx, call{keys, args})
		if err != nil {
			return rueidis.NewErrorResult(err)
		}
		return result
	}, decode)
}

// send sends many calls as one. Where they are those of several callers ctx is
// that of none of them.
func (s *Shared) send(ctx context.Context, calls []call) []rueidis.RedisResult {
	first := calls[0]
	keys := append(make([]string, 0, len(s.ahead)+len(calls)*len(first.keys)), s.ahead...)
	args := make([]string, 1, 1+len(calls)*len(first.args))
	args[0] = strconv.Itoa(len(calls))
	for _, c := range calls {
		keys, args = append(keys, c.keys...), append(args, c.args...)
	}
	out := make([]rueidis.RedisResult, len(calls))
	var replies []rueidis.RedisMessage
	err := s.script.refuse(keys, args)
	if err == nil {
		replies, err = s.script.run(ctx, s.client.raw, keys, args).ToArray()
	}
	if err == nil && len(replies) != len(calls) {
		err = fmt.Errorf("the script answered %d of %d calls", len(replies), len(calls))
	}
	for i := range out {
		if err != nil {
			out[i] = rueidis.NewErrorResult(err)
		} else {
			out[i] = rueidis.NewResult(replies[i], nil)
		}
	}
	return out
}
