package kernel

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/keywright/keywright/internal/coalesce"
	"github.com/keywright/keywright/internal/lua"
	"github.com/redis/rueidis"
)

// Script represents a Lua script. It is sent as EVALSHA; a server that does not know it
// (NOSCRIPT, after a restart or a failover) has run nothing and gets the text,
// which it then keeps. In batches and transactions the text goes each time: a
// NOSCRIPT in the middle would let the rest run without it.
type Script struct {
	name     string
	made     func() madeScript
	readOnly bool
	byFirst  bool
}

// madeScript is what is made of the text of a script.
type madeScript struct {
	text  string
	sha   string
	takes lua.Takes
}

// ScriptText is the text of a script, or a function that makes it when the script is first used. A program that links
// scripts which it never runs starts faster so.
type ScriptText interface{ string | func() string }

// NewScript makes a script. The name is for errors and hooks.
func NewScript[T ScriptText](name string, text T) *Script { return newScript(name, text, false) }

// NewReadOnlyScript makes a script that writes nothing: the server holds it to
// that (EVALSHA_RO), and it is retried like any read. It needs Redis 7.0.
func NewReadOnlyScript[T ScriptText](name string, text T) *Script { return newScript(name, text, true) }

// NewKeylessScript makes a script that touches no keys, as one that publishes. In
// a cluster it runs on the node of its first argument, as if that were a key: what
// is published on one channel stays in order.
func NewKeylessScript[T ScriptText](name string, text T) *Script {
	s := newScript(name, text, false)
	s.byFirst = true
	return s
}

func newScript[T ScriptText](name string, text T, readOnly bool) *Script {
	return &Script{name: name, readOnly: readOnly, made: sync.OnceValue(func() madeScript {
		full := ""
		switch text := any(text).(type) {
		case string:
			full = text
		case func() string:
			full = text()
		}
		sum := sha1.Sum([]byte(full))
		return madeScript{full, hex.EncodeToString(sum[:]), lua.TakenBy(full)}
	})}
}

// Name returns the script's name.
func (s *Script) Name() string { return s.name }

// refuse returns an error for a call with other numbers of keys and arguments than the
// script takes: a fault of the program, of which nothing is sent.
func (s *Script) refuse(keys, args []string) error {
	if err := s.made().takes.Refuse(len(keys), len(args)); err != nil {
		return &Error{Class: Invalid, Op: s.name, Err: err, Hint: "this is a fault of the program that calls it"}
	}
	return nil
}

func (s *Script) run(ctx context.Context, c rueidis.CoreClient, keys, args []string) rueidis.RedisResult {
	result := c.Do(ctx, s.bySHA(c.B(), keys, args))
	if reply, ok := rueidis.IsRedisErr(result.Error()); ok && reply.IsNoScript() {
		return c.Do(ctx, s.byText(c.B(), keys, args))
	}
	return result
}

func (s *Script) bySHA(b rueidis.Builder, keys, args []string) rueidis.Completed {
	n := int64(len(keys))
	if s.byFirst && n == 0 {
		return b.Arbitrary("EVALSHA", s.made().sha, "0").Keys(args[0]).Args(args[1:]...).Build()
	}
	if s.readOnly {
		return b.EvalshaRo().Sha1(s.made().sha).Numkeys(n).Key(keys...).Arg(args...).Build()
	}
	return b.Evalsha().Sha1(s.made().sha).Numkeys(n).Key(keys...).Arg(args...).Build()
}

func (s *Script) byText(b rueidis.Builder, keys, args []string) rueidis.Completed {
	n := int64(len(keys))
	if s.byFirst && n == 0 {
		return b.Arbitrary("EVAL", s.made().text, "0").Keys(args[0]).Args(args[1:]...).Build()
	}
	if s.readOnly {
		return b.EvalRo().Script(s.made().text).Numkeys(n).Key(keys...).Arg(args...).Build()
	}
	return b.Eval().Script(s.made().text).Numkeys(n).Key(keys...).Arg(args...).Build()
}

// Shared represents a script whose calls by many goroutines travel together: what is
// asked while two of its calls are under way goes with the next one. A call of a
// script costs a server more than what a short one does. Each one is for
// itself: an error in one does not touch the others.
//
// In a cluster every call goes by itself, as keys of several slots may not be in
// one script.
type Shared struct {
	client    *Client
	script    *Script
	firstKeys []string // keys that come before those of the calls
	gather    *coalesce.Coalescer[call, rueidis.RedisResult]
	alone     *coalesce.Coalescer[call, rueidis.RedisResult] // for clusters
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
	s.gather, s.alone = coalesce.New(mostShared, s.send).Weigh(heavyShared, call.size).Until(c.life),
		coalesce.Each(s.send).Until(c.life)
	return s
}

// FirstKeys lets keys that every call needs are first in KEYS, once for all of them.
// It is for before the first call.
func (s *Shared) FirstKeys(keys ...string) *Shared {
	s.firstKeys = keys
	return s
}

// checkSameSlot returns an error unless all keys of a call are in one slot.
func (s *Shared) checkSameSlot(keys []string) error {
	if !s.client.slots {
		return nil
	}
	return s.client.checkSameSlot(slices.Concat(s.firstKeys, keys)...)
}

// RunShared returns one call of a shared script. When ctx ends before it is sent, it
// never will be, and late is nil. When ctx ends later, the call goes on without its
// caller, and late can be received from, once, when it is over.
func RunShared[T any](ctx context.Context, a *Action, s *Shared, keys, args []string,
	decode func(rueidis.RedisResult) (T, error)) (v T, late <-chan struct{}, err error) {
	if a.Err == nil {
		a.Err = s.checkSameSlot(keys)
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
		a.Err = s.checkSameSlot(keys)
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
	keys := append(make([]string, 0, len(s.firstKeys)+len(calls)*len(first.keys)), s.firstKeys...)
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
