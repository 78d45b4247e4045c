// Package typed is the handles that generated code gives out: one type per Redis
// type, with the operations that type has and no others. A handle is one key of
// one entry; it knows the entry's TTL policy and applies it in the same step as
// every write, and the types of what is stored.
//
// Each method gives an operation: Do runs it, in one round trip, and Queue puts it
// into a Batch or a transaction. Nothing is sent before. What takes a context runs at
// once: it walks over a collection, or waits. Errors are those of package keywright:
// a missing string or hash is ErrNotFound, a missing collection is empty.
//
// It is not a client: what no declaration can describe (SCAN over keys, pub/sub,
// administration) is not here. Locks, queues and other constructs are packages
// of their own.
//
// API: may change until 1.0.
package typed

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/value"
)

// Key represents one key of an entry: what every handle can do.
type Key struct {
	client *keywright.Client
	entry  *keywright.Entry
	key    string
	err    error
}

// NewKey makes a handle. What a key could not be built for is what every operation
// then fails with.
func NewKey(b keywright.Binding) Key { return Key{b.Client, b.Entry, b.Key, b.Invalid("")} }

// Name returns the key itself, "" if it could not be built: see Err.
func (k Key) Name() string { return k.key }

// Err returns why the key could not be built, nil if it could.
func (k Key) Err() error { return k.err }

// Entry returns what the declaration says of the key.
func (k Key) Entry() *keywright.Entry { return k.entry }

// Binding returns what the handle was made with.
func (k Key) Binding() keywright.Binding {
	return keywright.Binding{Client: k.client, Entry: k.entry, Key: k.key, Err: k.err}
}

// Exists reports whether the key is there.
func (k Key) Exists() keywright.Op[bool] {
	return plain(k, "exists", keywright.Reads, asBool, "EXISTS")
}

// Never is the TTL of a key that does not expire.
const Never time.Duration = -1

// TTL returns how long the key still lives, Never for one that does not expire. A
// missing key is ErrNotFound.
func (k Key) TTL() keywright.Op[time.Duration] {
	return plain(k, "ttl", keywright.Reads, asTTL, "PTTL")
}

// Removable represents a key that may be deleted and renewed by hand, as all are but
// those of constructs.
type Removable struct{ Key }

// Delete removes the key, and reports whether it was there. Its memory is freed
// in the background (UNLINK). It is sent again when its reply was lost, and then
// may say that the key was not there although it has just removed it.
func (k Removable) Delete() keywright.Op[bool] {
	return plain(k.Key, "delete", keywright.Idempotent, asBool, "UNLINK")
}

// Renew gives the key a new TTL: the declared default, or what ExpiresIn asks
// for within its bounds. A missing key is ErrNotFound.
func (k Removable) Renew(options ...keywright.WriteOption) keywright.Act {
	ms, _, err := k.entry.Choose(options)
	if err == nil && ms == 0 {
		err = &keywright.Error{Class: keywright.Invalid, Entry: k.entry.Name,
			Err: errors.New("there is no TTL to renew: the declaration says " + k.entry.TTL.Text)}
	}
	o := spec(k.Key, "renew", keywright.Idempotent, found)
	o.Err = firstOf(k.err, err)
	o.Build = arbitrary("PEXPIRE", k.key, strconv.FormatInt(ms, 10))
	return kernel.NewAct(o)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// spec begins an operation on k.
func spec[T any](k Key, name string, effect keywright.Effect,
	decode func(kernel.Reply) (T, error)) kernel.Spec[T] {
	return kernel.Spec[T]{Action: k.action(name, effect), Decode: decode}
}

func (k Key) action(name string, effect keywright.Effect) kernel.Action {
	return kernel.Action{Client: k.client, Name: name, Entry: k.entry, Effect: effect, Err: k.err, Key: k.key}
}

// plain returns an operation that is one command and needs no TTL.
func plain[T any](k Key, name string, effect keywright.Effect, decode func(kernel.Reply) (T, error),
	command string, args ...string) keywright.Op[T] {
	o := spec(k, name, effect, decode)
	o.Build = arbitrary(command, k.key, args...)
	return kernel.NewOp(o)
}

func arbitrary(command, key string, args ...string) func(kernel.Builder) kernel.Command {
	return func(b kernel.Builder) kernel.Command { return b.Arbitrary(command).Keys(key).Args(args...).Build() }
}

// read returns an operation that reads; on an entry that slides it renews the TTL in
// the same step.
func read[T any](k Key, name string, decode func(kernel.Reply) (T, error), command string,
	args ...string) keywright.Op[T] {
	if !k.entry.TTL.Sliding {
		return plain(k, name, keywright.Reads, decode, command, args...)
	}
	o := spec(k, name, keywright.Idempotent, decode)
	ms, _, err := k.entry.Choose(nil)
	o.Err = firstOf(o.Err, err)
	o.Peek = arbitrary(command, k.key, args...)
	o.Script, o.Keys = readScript, []string{k.key}
	o.Args = append([]string{strconv.FormatInt(ms, 10), command}, args...)
	return kernel.NewOp(o)
}

var (
	groupScript    = keywright.NewScript("group", parts.Later("group"))
	increaseScript = keywright.NewScript("increase", parts.Later("increase"))
	readScript     = keywright.NewScript("read", parts.Later("read"))
	writeScript    = keywright.NewScript("write", parts.Later("write"))
)

// mode describes what a write does about what is there already.
type mode string

const (
	add      mode = "add"
	replace  mode = "replace"  // the old value goes in the same step
	existing mode = "existing" // only if the key is there, else ErrNotFound
)

// MaxElements says how many elements one write takes: a script holds up the server
// while it runs, and of so many sorted members for some 3 ms.
const MaxElements = 5_000

// chunk says how many arguments one command inside the script gets; Lua's stack
// holds about 8,000.
const chunk = 1000

// mostWhole says how many arguments a command gets that cannot be divided.
const mostWhole = 7000

// Rule says which TTL a write leaves to a key that is there, as the scripts of
// writes name it. asked is whether the writer chose the TTL: then it is that.
// Without a choice an entry that slides never gets a shorter life by a write, and
// any other keeps what it has. It is for typed handles and constructs.
func Rule(e *keywright.Entry, asked bool) string {
	switch {
	case asked:
		return "renew"
	case e.TTL.Sliding:
		return "longer"
	}
	return "new"
}

// writing represents a write of a collection.
type writing struct {
	command string
	heads   []string // before the elements, as in ZADD key NX …
	args    []string // the elements
	width   int      // arguments of one element, 0: not to be divided
	mode    mode
	effect  keywright.Effect
	options []keywright.WriteOption
	err     error
}

// change returns the operation of a write: the command and its TTL in one step.
func change[T any](k Key, name string, decode func(kernel.Reply) (T, error), w writing) keywright.Op[T] {
	o := spec(k, name, max(w.effect, keywright.Writes), decode)
	ms, asked, err := k.entry.Choose(w.options)
	if w.width > 0 && len(w.args) > MaxElements*w.width {
		err = firstOf(err,
			&keywright.Error{Class: keywright.Invalid,
				Err: errors.New(strconv.Itoa(len(w.args)/w.width) + " elements at once; at most " + strconv.Itoa(MaxElements) +
					" are written in one step"), Hint: "divide them"})
	}
	if w.width == 0 && len(w.args) > mostWhole {
		err = firstOf(err,
			&keywright.Error{Class: keywright.Invalid,
				Err: fmt.Errorf("%d texts in one element; at most %d are written in one command", len(w.args), mostWhole)})
	}
	o.Err = firstOf(o.Err, w.err, err)
	if ms == 0 && w.mode == add && len(w.args) <= chunk {
		o.Build = arbitrary(w.command, k.key, append(append([]string{}, w.heads...), w.args...)...)
		return kernel.NewOp(o)
	}
	o.Script, o.Keys = writeScript, []string{k.key}
	o.Args = append([]string{strconv.FormatInt(ms, 10), Rule(k.entry, asked), string(w.mode),
		strconv.Itoa(w.width * (chunk / max(w.width, 1))), w.command, strconv.Itoa(len(w.heads))}, w.heads...)
	o.Args = append(o.Args, w.args...)
	return kernel.NewOp(o)
}

func invalid(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := err.(*keywright.Error); ok { // of sealing
		return e
	}
	return &keywright.Error{Class: keywright.Invalid, Err: err}
}

// encode returns one value as text.
func encode[T any](c *value.Codec[T], v T) (string, error) {
	text, err := c.Encode(v)
	return text, invalid(err)
}

// decoded returns one stored text as a value.
func decoded[T any](c *value.Codec[T], text string) (T, error) {
	v, err := c.Parse(text)
	if err != nil {
		return v, decodeError(err)
	}
	return v, nil
}

func decodeError(err error) error {
	switch err.(type) {
	case *keywright.DecodeError, *keywright.Error: // of opening what is sealed
		return err
	}
	if e, ok := errors.AsType[*value.Error](err); ok {
		return &keywright.DecodeError{Field: e.Field, Err: errors.New(e.Reason)}
	}
	return &keywright.DecodeError{Err: err}
}
