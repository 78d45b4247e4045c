package kernel

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"sync"

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
