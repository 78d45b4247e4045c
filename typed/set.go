package typed

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/value"
)

// Set represents a set of members.
type Set[M any] struct {
	Removable
	codec *value.Codec[M]
}

// NewSet makes a handle; generated code calls it.
func NewSet[M any](b keywright.Binding, c *value.Codec[M]) Set[M] {
	return Set[M]{Removable{NewKey(b)}, c}
}

// Add adds members and gives how many are new.
func (s Set[M]) Add(members ...M) keywright.Op[int64] { return s.AddFor(members) }

// AddFor works as Add does, with choices of this write.
func (s Set[M]) AddFor(members []M, options ...keywright.WriteOption) keywright.Op[int64] {
	args, err := encodeAll(s.codec, members)
	op := change(s.Key, "add", asInt,
		writing{command: "SADD", args: args, width: 1, mode: add, options: options, err: err})
	return OrNothing(len(args), s.Key, op)
}

// Replace writes these members and no others stay, in one step.
func (s Set[M]) Replace(members []M, options ...keywright.WriteOption) keywright.Act {
	args, err := encodeAll(s.codec, members)
	return act(change(s.Key, "replace", nothing,
		writing{command: "SADD", args: args, width: 1, mode: replace, options: options, err: err}))
}

// Remove removes members and gives how many were there.
func (s Set[M]) Remove(members ...M) keywright.Op[int64] {
	args, err := encodeAll(s.codec, members)
	return OrNothing(len(args), s.Key,
		failing(plain(s.Key, "remove", keywright.Idempotent, asInt, "SREM", args...), err))
}

// Has reports whether m is a member.
func (s Set[M]) Has(m M) keywright.Op[bool] {
	text, err := encode(s.codec, m)
	return failing(read(s.Key, "has", asBool, "SISMEMBER", text), err)
}

// Members reads all members; of a large set use Each.
func (s Set[M]) Members() keywright.Op[[]M] {
	return read(s.Key, "members", many(s.codec), "SMEMBERS")
}

// Len returns how many members there are.
func (s Set[M]) Len() keywright.Op[int64] { return read(s.Key, "len", asInt, "SCARD") }

// Random gives at most n different members.
func (s Set[M]) Random(n int) keywright.Op[[]M] {
	return failing(read(s.Key, "random", many(s.codec), "SRANDMEMBER", strconv.Itoa(n)), counted(int64(n)))
}

// Pop takes at most n members out, at random.
func (s Set[M]) Pop(n int) keywright.Op[[]M] {
	return failing(plain(s.Key, "pop", keywright.Writes, many(s.codec), "SPOP", strconv.Itoa(n)), counted(int64(n)))
}

// Each walks over the members in portions of about batch, a round trip each
// (SSCAN). Members that are there all the time come at least once, maybe twice.
func (s Set[M]) Each(ctx context.Context, batch int) iter.Seq2[M, error] {
	return scan(ctx, s.Key, "SSCAN", 1, batch, func(texts []string) (M, error) { return decoded(s.codec, texts[0]) })
}

// counted refuses a count of less than one.
func counted(n int64) error {
	if n > 0 {
		return nil
	}
	return invalid(fmt.Errorf("a count of %d; it is at least 1", n))
}

// OrNothing returns the operation, or with n = 0 elements one that changes nothing and
// gives the zero value. It is a read then, so that it can be queued like any other.
// It is for typed handles and constructs.
func OrNothing[T any](n int, k Key, op keywright.Op[T]) keywright.Op[T] {
	if n > 0 || op.Err != nil {
		return op
	}
	return plain(k, op.Name, keywright.Reads, func(r kernel.Reply) (zero T, err error) { return zero, r.Error() },
		"EXISTS")
}

func encodeAll[T any](c *value.Codec[T], values []T) ([]string, error) {
	texts := make([]string, len(values))
	for i, v := range values {
		var err error
		if texts[i], err = encode(c, v); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// failing makes an operation fail without sending anything, if err is not nil.
func failing[T any](op keywright.Op[T], err error) keywright.Op[T] { return op.Failing(err) }

// scan walks over a collection with HSCAN, SSCAN or ZSCAN.
func scan[T any](ctx context.Context, k Key, command string, width, batch int,
	decode func(texts []string) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		for cursor := "0"; ; {
			page, err := plain(k, "each", keywright.Reads, scanPage, command, cursor, "COUNT",
				strconv.Itoa(max(batch, 1))).Do(ctx)
			if err != nil {
				yield(zero, err)
				return
			}
			for texts := page.texts; len(texts) >= width; texts = texts[width:] {
				v, err := decode(texts)
				if e, ok := errors.AsType[*keywright.DecodeError](err); ok {
					e.Entry, e.Key = k.entry.Name, k.key
				}
				if !yield(v, err) || err != nil {
					return
				}
			}
			if cursor = page.cursor; cursor == "0" {
				return
			}
		}
	}
}

type page struct {
	cursor string
	texts  []string
}

func scanPage(r kernel.Reply) (p page, err error) {
	parts, err := r.ToArray()
	if err != nil || len(parts) != 2 {
		return p, firstOf(err, errors.New("the reply to a scan has not two parts"))
	}
	if p.cursor, err = parts[0].ToString(); err == nil {
		p.texts, err = parts[1].AsStrSlice()
	}
	return p, err
}
