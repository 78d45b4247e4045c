package link

import (
	"errors"

	"strings"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/source"
)

// Refused tells "you may not" about one key from other errors, which end the
// walk.
func Refused(err error) (bool, error) {
	if err == nil {
		return false, nil
	}
	var answer *wire.ServerError
	if errors.As(err, &answer) && answer.Code == "NOPERM" {
		return true, nil
	}
	return false, err
}

// KindOf returns the type that a server names: Unknown for a key that is not there, Module for one that is no built-in
// type.
func KindOf(name []byte) source.Kind {
	switch string(name) {
	case "string":
		return source.String
	case "hash":
		return source.Hash
	case "list":
		return source.List
	case "set":
		return source.Set
	case "zset":
		return source.ZSet
	case "stream":
		return source.Stream
	case "array":
		return source.Array
	case "", "none":
		return source.Unknown
	}
	return source.Module
}

// Unavailable reports whether an error says that there is no such command, or not for this user.
func Unavailable(err error) bool {
	var answer *wire.ServerError
	return errors.As(err, &answer) && (strings.HasPrefix(answer.Message, "ERR unknown command") ||
		answer.Code == "NOPERM" && !AboutKeys(answer.Message))
}

// AboutKeys reports whether a command is permitted, and its key or channel is not.
func AboutKeys(message string) bool {
	return strings.Contains(message, "access") &&
		(strings.Contains(message, "key") || strings.Contains(message, "channel"))
}

// Reason returns what a server answered, without what to do: that is said once.
func Reason(err error) string {
	if refused, ok := errors.AsType[*wire.ServerError](err); ok {
		return refused.Error()
	}
	return err.Error()
}

// Denied reports whether an error is that the user may not run a command, or that there is no
// such command: another time is no use.
func Denied(err error) bool {
	if refused, ok := errors.AsType[*wire.ServerError](err); ok {
		return refused.Code == "NOPERM" || refused.Code == "ERR"
	}
	explained, ok := errors.AsType[*connect.Error](err)
	return ok && explained.Kind == connect.Denied
}

// Redirected tells the answers of a cluster whose slots move: the key is at another
// node, or soon will be.
func Redirected(err error) (address string, is bool) {
	if err == nil { // nearly always: a variable whose address is taken would be allocated for each reply
		return "", false
	}
	var answer *wire.ServerError
	if !errors.As(err, &answer) {
		return "", false
	}
	switch answer.Code {
	case "ASK", "MOVED":
		words := strings.Fields(answer.Message)
		if answer.Code == "ASK" && len(words) > 0 {
			address = words[len(words)-1]
		}
		return address, true
	case "TRYAGAIN":
		return "", true
	}
	return "", false
}

// WrongForm returns err, or what a reply of another form is.
func WrongForm(err error, want string) error {
	if err == nil {
		err = &wire.ProtocolError{Got: "an array of another length", Want: want}
	}
	return err
}
