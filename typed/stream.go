package typed

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/value"
)

// Stream represents a stream of entries with fixed fields.
type Stream[T any] struct {
	Removable
	fields *value.Fields[T]
	maxLen int64
}

// NewStream makes a handle; generated code calls it. maxLen is about how many
// entries are kept, 0 for all.
func NewStream[T any](b keywright.Binding, f *value.Fields[T], maxLen int64) Stream[T] {
	return Stream[T]{Removable{NewKey(b)}, f, maxLen}
}

// Message represents one entry of a stream.
type Message[T any] struct {
	ID    string // 1795167000000-0: the server's clock in ms, and a number
	Value T
}

// Add appends an entry, drops the oldest beyond the declared maxlen (about: whole
// nodes of a hundred are dropped at once), and gives the id.
func (s Stream[T]) Add(v T, options ...keywright.WriteOption) keywright.Op[string] {
	var args []string
	if s.maxLen > 0 {
		args = append(args, "MAXLEN", "~", strconv.FormatInt(s.maxLen, 10))
	}
	args = append(args, "*")
	before := len(args)
	args, err := s.fields.AppendSealed(args, &v, s.seals)
	if err == nil && len(args) == before {
		err = errNoFields
	}
	text := value.Text(0)
	return change(s.Key, "append", one(&text),
		writing{command: "XADD", args: args, mode: add, options: options, err: invalid(err)})
}

var errNoFields = errors.New("no field of the entry has a value; one in a stream has at least one")

// Range reads at most n entries from one id to another, both included; - is the
// first and + the last.
func (s Stream[T]) Range(from, to string, n int64) keywright.Op[[]Message[T]] {
	op := read(s.Key, "range", s.messages, "XRANGE", from, to, "COUNT", strconv.FormatInt(n, 10))
	return failing(op, counted(n))
}

// Last reads the newest n entries, the newest first.
func (s Stream[T]) Last(n int64) keywright.Op[[]Message[T]] {
	op := read(s.Key, "last", s.messages, "XREVRANGE", "+", "-", "COUNT", strconv.FormatInt(n, 10))
	return failing(op, counted(n))
}

// Len returns how many entries there are.
func (s Stream[T]) Len() keywright.Op[int64] { return read(s.Key, "len", asInt, "XLEN") }

// Remove removes entries by id and gives how many were there.
func (s Stream[T]) Remove(ids ...string) keywright.Op[int64] {
	return OrNothing(len(ids), s.Key, plain(s.Key, "remove", keywright.Idempotent, asInt, "XDEL", ids...))
}

func (s Stream[T]) messages(r kernel.Reply) ([]Message[T], error) {
	rows, err := r.AsXRange()
	if kernel.IsNil(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return s.decode(rows)
}

// decode: an entry that is pending but has been trimmed away has no fields and is
// left out.
func (s Stream[T]) decode(rows []kernel.XRangeEntry) ([]Message[T], error) {
	out := make([]Message[T], 0, len(rows))
	for _, row := range rows {
		if row.FieldValues == nil {
			continue
		}
		v, err := s.fields.ParseSealed(row.FieldValues, s.opens)
		if err != nil {
			return nil, decodeError(err)
		}
		out = append(out, Message[T]{row.ID, v})
	}
	return out, nil
}

// Group represents a consumer group of a stream.
type Group[T any] struct {
	stream Stream[T]
	name   string
}

// NewGroup makes a handle; generated code calls it for declared groups.
func NewGroup[T any](s Stream[T], name string) Group[T] { return Group[T]{s, name} }

// Ensure makes the group if it is not there, and the stream too, with its TTL. A
// new group gets every entry that the stream holds.
func (g Group[T]) Ensure() keywright.Act {
	k := g.stream.Key
	o := spec(k, "ensure group", keywright.Idempotent, nothing)
	ms, _, err := k.entry.Choose(nil)
	o.Err = firstOf(o.Err, err)
	o.Script, o.Keys, o.Args = groupScript, []string{k.key}, []string{strconv.FormatInt(ms, 10), g.name}
	return kernel.NewAct(o)
}

// Read takes at most n entries that no consumer of the group has had, waiting up
// to wait for the first. They are this consumer's until it acknowledges them.
// Without any it is empty. A read whose reply was lost (UnknownOutcome) leaves
// its entries pending: Pending and Claim find them.
func (g Group[T]) Read(ctx context.Context, consumer string, n int64, wait time.Duration) ([]Message[T], error) {
	s := g.stream
	o := spec(s.Key, "read group", keywright.Writes, func(r kernel.Reply) ([]Message[T], error) {
		streams, err := r.AsXRead()
		if kernel.IsNil(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return s.decode(streams[s.key])
	})
	o.Build = func(b kernel.Builder) kernel.Command {
		read := b.Xreadgroup().Group(g.name, consumer).Count(n)
		if wait > 0 { // 0 ms would be for ever
			return read.Block(max(wait.Milliseconds(), 1)).Streams().Key(s.key).Id(">").Build()
		}
		return read.Streams().Key(s.key).Id(">").Build()
	}
	return failing(kernel.NewOp(o), counted(n)).Do(ctx)
}

// Ack says that entries have been dealt with, and gives how many were pending.
func (g Group[T]) Ack(ids ...string) keywright.Op[int64] {
	op := plain(g.stream.Key, "ack", keywright.Idempotent, asInt, "XACK", append([]string{g.name}, ids...)...)
	return OrNothing(len(ids), g.stream.Key, op)
}

// Claim takes over at most n entries that other consumers have had for longer
// than idle without acknowledging them: those of dead ones.
func (g Group[T]) Claim(consumer string, idle time.Duration, n int64) keywright.Op[[]Message[T]] {
	s := g.stream
	op := plain(s.Key, "claim", keywright.Writes, func(r kernel.Reply) ([]Message[T], error) {
		parts, err := r.ToArray()
		if err != nil || len(parts) < 2 {
			return nil, err
		}
		return s.messages(kernel.NewReply(parts[1], nil))
	}, "XAUTOCLAIM", g.name, consumer, strconv.FormatInt(idle.Milliseconds(), 10), "0", "COUNT", strconv.FormatInt(n, 10))
	return failing(op, counted(n))
}

// Pending returns how many entries have been read and not acknowledged.
func (g Group[T]) Pending() keywright.Op[int64] {
	return plain(g.stream.Key, "pending", keywright.Reads, func(r kernel.Reply) (int64, error) {
		parts, err := r.ToArray()
		if err != nil || len(parts) == 0 {
			return 0, err
		}
		return parts[0].AsInt64()
	}, "XPENDING", g.name)
}
