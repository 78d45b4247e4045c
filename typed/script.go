package typed

import (
	"embed"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/lua"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/value"
)

// Call describes what a generated function passes to a declared script.
type Call struct {
	Script *keywright.Script
	Effect keywright.Effect
	Keys   []string
	Args   []string
}

// NewCall makes the operation of a script; generated code calls it. The Err of b is that
// of building a key or an argument.
func NewCall[T any](b keywright.Binding, c Call, reply kernel.Decode[T]) keywright.Op[T] {
	key := ""
	if len(c.Keys) > 0 {
		key = c.Keys[0]
	}
	return kernel.NewOp(
		kernel.Spec[T]{Action: kernel.Action{Client: b.Client, Name: "run", Entry: b.Entry, Effect: c.Effect,
			Err: b.Invalid(""), Key: key}, Script: c.Script, Keys: c.Keys, Args: c.Args, Decode: reply})
}

// Arg encodes one argument of a script.
func Arg[T any](args []string, c *value.Codec[T], name string, v T, err error) ([]string, error) {
	if err != nil {
		return args, err
	}
	text, err := encode(c, v)
	if err != nil {
		return args, value.In(name, unwrapped(err))
	}
	return append(args, text), nil
}

func unwrapped(err error) error {
	if e, ok := err.(*keywright.Error); ok {
		return e.Err
	}
	return err
}

// Reply decodes what a script returns: text, a number, or a list of one of
// them; nil is ErrNotFound.
func Reply[T any](c *value.Codec[T]) kernel.Decode[T] {
	return func(r kernel.Reply) (v T, err error) {
		m, err := r.ToMessage()
		if err != nil {
			return v, missing(err)
		}
		if m.IsInt64() {
			n, err := m.ToInt64()
			if err != nil {
				return v, err
			}
			return decoded(c, strconv.FormatInt(n, 10))
		}
		text, err := m.ToString()
		if err != nil {
			return v, decodeError(value.Bad("is a list, and the script is declared to return one value"))
		}
		return decoded(c, text)
	}
}

// ReplyBool decodes a bool: Lua's true is 1 to a client, false is nil.
var ReplyBool kernel.Decode[bool] = replyBool

func replyBool(r kernel.Reply) (bool, error) {
	m, err := r.ToMessage()
	switch {
	case kernel.IsNil(err):
		return false, nil
	case err != nil:
		return false, err
	case m.IsInt64():
		n, err := m.ToInt64()
		return n != 0, err
	}
	text, err := m.ToString()
	return text == "true" || text == "1", err
}

// ReplyNone passes over what a script returns.
var ReplyNone kernel.Decode[struct{}] = replyNone

func replyNone(r kernel.Reply) (struct{}, error) {
	err := r.Error()
	if kernel.IsNil(err) {
		err = nil
	}
	return struct{}{}, err
}

//go:embed *.lua
var files embed.FS

// parts lists the scripts of this package and what they share.
var parts = lua.New(files)
