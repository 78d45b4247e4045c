package event

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/lua"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/value"
)

// StreamConfig describes what the declaration says of a durable channel.
type StreamConfig struct {
	MaxLen int64         // how many messages are kept at least; a publish trims the stream approximately; 0: no limit
	Age    time.Duration // how long messages, and the key, are kept; 0: no limit
	Retry  int           // how many deliveries a message has before it is a dead letter; 0: 5
	// Timeout bounds how long a handler may work on one delivery. Then its context ends with ErrTimeout, and the delivery
	// has failed unless the handler returns nil. A handler that does not return holds its key until it does. 0: no
	// limit.
	Timeout time.Duration
	Plain   bool // the entry has the data alone, without the time
}

// StreamKeys holds the keys of a durable channel, in one cluster slot.
type StreamKeys struct {
	Main string // the channel's name
	Dead string // dead letters
}

// Stream represents one durable channel. Delivery is at least once: a message comes
// again when its consumer died before it was acknowledged, or the
// acknowledgement was lost. It is a value.
type Stream[M any] struct {
	client *keywright.Client
	entry  *keywright.Entry
	codec  *value.Codec[M]
	config StreamConfig
	keys   StreamKeys
	err    error
}

// NewStream makes a Stream. It is for generated code; see New.
func NewStream[M any](b keywright.Binding, keys StreamKeys, codec *value.Codec[M], config StreamConfig) Stream[M] {
	config.Retry = cmp.Or(config.Retry, 5)
	return Stream[M]{b.Client, b.Entry, codec, config, keys, b.Invalid("")}
}

// Stored represents a message of a stream. Its Time is that of its publication.
type Stored[M any] struct {
	Message[M]
	ID         string
	Deliveries int64 // how often a handler began with it, this time counted; 0: read without a group
}

// standard lists the scripts of all streams; a variable so that a test can take a guard out.
var standard = newScripts(parts)

// scripts describes what a stream does on the server.
type scripts struct{ append, group, begin, pulse, bury, giveBack, leave, redrive, trim *keywright.Script }

func newScripts(parts *lua.Set) scripts {
	return scripts{
		append:   keywright.NewScript("event append", parts.Later("append")),
		group:    keywright.NewScript("event group", parts.Later("group")),
		begin:    keywright.NewScript("event begin", parts.Later("begin")),
		pulse:    keywright.NewScript("event pulse", parts.Later("pulse")),
		bury:     keywright.NewScript("event bury", parts.Later("bury")),
		giveBack: keywright.NewScript("event give back", parts.Later("giveback")),
		leave:    keywright.NewScript("event leave", parts.Later("leave")),
		redrive:  keywright.NewScript("event redrive", parts.Later("redrive")),
		trim:     keywright.NewScript("event trim", parts.Later("trim")),
	}
}

func (k StreamKeys) main() []string { return []string{k.Main} }

func (k StreamKeys) both() []string { return []string{k.Main, k.Dead} }

// usable returns why nothing can be done with the stream.
func (s Stream[M]) usable() error {
	if s.err == nil && (s.client == nil || s.entry == nil || s.codec == nil) {
		return errUnmade
	}
	return s.err
}

// invalid returns an error of what was asked for.
func (s Stream[M]) invalid(op string, err error) error {
	name := ""
	if s.entry != nil {
		name = s.entry.Name
	}
	return &keywright.Error{Class: keywright.Invalid, Op: op, Entry: name, Err: err}
}

// action returns what an operation on the stream has in common with the others.
func (s Stream[M]) action(op string, effect keywright.Effect, key string) kernel.Action {
	a := kernel.Action{Client: s.client, Name: op, Entry: s.entry, Effect: effect, Key: key}
	if err := s.usable(); err != nil {
		a.Err = invalid(err)
	}
	return a
}

// script returns an operation on the stream by a script.
func script[M, T any](
	op string, s Stream[M], effect keywright.Effect, text *keywright.Script, keys, args []string,
	decode func(kernel.Reply) (T, error),
) keywright.Op[T] {
	return kernel.NewOp(kernel.Spec[T]{
		Action: s.action(op, effect, keys[0]), Script: text, Keys: keys, Args: args, Decode: naming(keys[0], decode),
	})
}

// command returns an operation on the stream by a command of its key.
func command[M, T any](
	s Stream[M], op string, effect keywright.Effect, decode func(kernel.Reply) (T, error), name string,
	args ...string,
) keywright.Op[T] {
	return on(s, s.keys.Main, op, effect, decode, name, args...)
}

func on[M, T any](
	s Stream[M], key, op string, effect keywright.Effect, decode func(kernel.Reply) (T, error), name string,
	args ...string,
) keywright.Op[T] {
	return kernel.NewOp(kernel.Spec[T]{
		Action: s.action(op, effect, key),
		Build: func(b kernel.Builder) kernel.Command {
			return b.Arbitrary(strings.Fields(name)...).Keys(key).Args(args...).Build()
		},
		Decode: naming(key, decode),
	})
}

// naming adds the key to an error that says that it holds something else.
func naming[T any](key string, decode func(kernel.Reply) (T, error)) func(kernel.Reply) (T, error) {
	return func(r kernel.Reply) (T, error) {
		value, err := decode(r)
		return value, nameKey(err, key)
	}
}

func nameKey(err error, key string) error {
	if err != nil && strings.HasPrefix(err.Error(), "WRONGTYPE Operation") {
		return fmt.Errorf("the key %q: %w", key, err)
	}
	return err
}

func readInteger(r kernel.Reply) (int64, error) { return r.AsInt64() }

func list(r kernel.Reply) ([]kernel.Value, error) { return r.ToArray() }

func messages(r kernel.Reply) ([]kernel.XRangeSlice, error) { return r.AsXRangeSlices() }

// Publish appends m and trims by the policy, in one step: one round trip. The
// result is its id. It is sent once: after an error of class UnknownOutcome it
// may be there, and publishing again may store it twice.
func (s Stream[M]) Publish(ctx context.Context, m M) (id string, err error) {
	return s.LaterPublish(m).Do(ctx)
}

// LaterPublish queues Publish in a Batch or a transaction.
func (s Stream[M]) LaterPublish(m M) keywright.Op[string] {
	data, plain := "", "0"
	err := s.usable()
	if err == nil {
		data, err = bound(s.client, s.entry, s.codec, s.keys.Main).Encode(m)
	}
	if s.config.Plain {
		plain = "1"
	}
	if err != nil {
		err = invalid(err)
	}
	args := []string{data, strconv.FormatInt(s.config.MaxLen, 10), ms(s.config.Age), plain}
	id := func(r kernel.Reply) (string, error) { return r.ToString() }
	return script("publish", s, keywright.Writes, standard.append, s.keys.main(), args, id).Failing(err)
}

// Position represents a place in a stream.
type Position string

// The ends of a stream. A zero Position is the nearer one.
const (
	Begin Position = "-"
	End   Position = "+"
)

// At returns the place of the first message published at t or later.
func At(t time.Time) Position { return Position(strconv.FormatInt(unixMS(t), 10)) }

// unixMS returns a time in the years 1970 to 9999 in milliseconds: another one is the nearer end of these.
func unixMS(t time.Time) int64 {
	const last = 253_402_300_799 // 9999-12-31T23:59:59Z
	return time.Unix(min(max(t.Unix(), 0), last), int64(t.Nanosecond())).UnixMilli()
}

// After returns the position after a message.
func After(id string) Position { return Position("(" + id) }

// Read gives messages between two places, at most limit, oldest first, whether
// acknowledged or not: one round trip, O(limit). One that is not as declared ends
// it with a *keywright.DecodeError beside those before it.
func (s Stream[M]) Read(ctx context.Context, from, to Position, limit int) ([]Stored[M], error) {
	entries, err := s.entries(ctx, s.keys.Main, from, to, limit)
	if err != nil {
		return nil, err
	}
	out := make([]Stored[M], 0, len(entries))
	for _, e := range entries {
		m, err := s.stored(e.ID, e.FieldValues)
		if err != nil {
			return out, err
		}
		out = append(out, m)
	}
	return out, nil
}

func (s Stream[M]) entries(ctx context.Context, key string, from, to Position, limit int) ([]kernel.XRangeSlice,
	error) {
	if limit < 1 {
		return nil, s.invalid("read", errors.New("the limit is below 1"))
	}
	from, to = cmp.Or(from, Begin), cmp.Or(to, End)
	args := []string{string(from), string(to), "COUNT", strconv.Itoa(limit)}
	return on(s, key, "read", keywright.Reads, messages, "XRANGE", args...).Do(ctx)
}

// All gives all messages from a place on, a hundred per round trip, until there
// are no more. An error beside a zero message ends it.
func (s Stream[M]) All(ctx context.Context, from Position) iter.Seq2[Stored[M], error] {
	return func(yield func(Stored[M], error) bool) {
		for {
			page, err := s.Read(ctx, from, End, 100)
			for _, m := range page {
				from = After(m.ID)
				if !yield(m, nil) {
					return
				}
			}
			if err != nil {
				yield(Stored[M]{}, err)
			}
			if err != nil || len(page) < 100 {
				return
			}
		}
	}
}

// text returns the value of a field, "" without one.
func text(fields []kernel.XRangeFieldValue, name string) string {
	for _, f := range fields {
		if f.Field == name {
			return f.Value
		}
	}
	return ""
}

// stored reads an entry of the stream. A plain one has no form: its fields are
// not ours.
func (s Stream[M]) stored(id string, fields []kernel.XRangeFieldValue) (Stored[M], error) {
	m := Stored[M]{ID: id}
	m.Channel = s.keys.Main
	if is := text(fields, "form"); !s.config.Plain && is != "" && is != form {
		return m, &NewerForm{s.entry.Name, is}
	}
	before, _, _ := strings.Cut(id, "-")
	at, err := strconv.ParseInt(cmp.Or(text(fields, "timestamp"), before), 10, 64)
	if err == nil {
		m.Time = time.UnixMilli(at)
		m.Data, err = bound(s.client, s.entry, s.codec, s.keys.Main).Parse(text(fields, "data"))
	}
	if _, sealed := keywright.ClassOf(err); sealed {
		return m, err
	} else if err != nil {
		return m, &keywright.DecodeError{
			Entry: s.entry.Name, Key: s.keys.Main, Field: "data", Err: value.Bad("of message " + id + " is not as declared"),
		}
	}
	return m, nil
}
