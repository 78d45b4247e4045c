package kernel

import (
	"context"
	"crypto/sha1"
	"encoding/hex"

	"github.com/keywright/keywright/internal/lua"
	"github.com/redis/rueidis"
)

// Script represents a Lua script. It is sent as EVALSHA; a server that does not know it
// (NOSCRIPT, after a restart or a failover) has run nothing and gets the text,
// which it then keeps. In batches and transactions the text goes each time: a
// NOSCRIPT in the middle would let the rest run without it.
type Script struct {
	name     string
	text     string
	sha      string
	takes    lua.Takes
	readOnly bool
	byFirst  bool
}

// NewScript makes a script. The name is for errors and hooks.
func NewScript(name, text string) *Script { return newScript(name, text, false) }

// NewReadOnlyScript makes a script that writes nothing: the server holds it to
// that (EVALSHA_RO), and it is retried like any read. It needs Redis 7.0.
func NewReadOnlyScript(name, text string) *Script { return newScript(name, text, true) }

// NewKeylessScript makes a script that touches no keys, as one that publishes. In
// a cluster it runs on the node of its first argument, as if that were a key: what
// is published on one channel stays in order.
func NewKeylessScript(name, text string) *Script {
	s := newScript(name, text, false)
	s.byFirst = true
	return s
}

func newScript(name, text string, readOnly bool) *Script {
	sum := sha1.Sum([]byte(text))
	return &Script{name: name, text: text, sha: hex.EncodeToString(sum[:]), takes: lua.TakenBy(text), readOnly: readOnly}
}

// Name returns the script's name.
func (s *Script) Name() string { return s.name }

// refuse returns an error for a call with other numbers of keys and arguments than the
// script takes: a fault of the program, of which nothing is sent.
func (s *Script) refuse(keys, args []string) error {
	if err := s.takes.Refuse(len(keys), len(args)); err != nil {
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
		return b.Arbitrary("EVALSHA", s.sha, "0").Keys(args[0]).Args(args[1:]...).Build()
	}
	if s.readOnly {
		return b.EvalshaRo().Sha1(s.sha).Numkeys(n).Key(keys...).Arg(args...).Build()
	}
	return b.Evalsha().Sha1(s.sha).Numkeys(n).Key(keys...).Arg(args...).Build()
}

func (s *Script) byText(b rueidis.Builder, keys, args []string) rueidis.Completed {
	n := int64(len(keys))
	if s.byFirst && n == 0 {
		return b.Arbitrary("EVAL", s.text, "0").Keys(args[0]).Args(args[1:]...).Build()
	}
	if s.readOnly {
		return b.EvalRo().Script(s.text).Numkeys(n).Key(keys...).Arg(args...).Build()
	}
	return b.Eval().Script(s.text).Numkeys(n).Key(keys...).Arg(args...).Build()
}
