package typed

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/value"
	"github.com/redis/rueidis"
)

// Set is a set of members.
type Set[M any] struct {
	Removable
	codec *value.Codec[M]
}

// NewSet makes a handle; generated code calls it.
func NewSet[M any](k Key, c *value.Codec[M]) Set[M] { return Set[M]{Removable{k}, c} }

// Later is the operations to queue in a Batch or a transaction.
func (s Set[M]) Later() SetOps[M] { return SetOps[M]{s} }

// Add adds members and gives how many are new.
func (s Set[M]) Add(ctx context.Context, members ...M) (int64, error) {
	return s.Later().Add(members).Do(ctx)
}

// AddFor is Add with choices of this write.
func (s Set[M]) AddFor(ctx context.Context, members []M, options ...keywright.WriteOption) (int64, error) {
	return s.Later().Add(members, options...).Do(ctx)
}

// Replace writes these members and no others stay, in one step.
func (s Set[M]) Replace(ctx context.Context, members []M, options ...keywright.WriteOption) error {
	_, err := s.Later().Replace(members, options...).Do(ctx)
	return err
}

// Remove removes members and gives how many were there.
func (s Set[M]) Remove(ctx context.Context, members ...M) (int64, error) {
	return s.Later().Remove(members...).Do(ctx)
}

// Has reports whether m is a member.
func (s Set[M]) Has(ctx context.Context, m M) (bool, error) { return s.Later().Has(m).Do(ctx) }

// Members reads all members; of a large set use Each.
func (s Set[M]) Members(ctx context.Context) ([]M, error) { return s.Later().Members().Do(ctx) }

// Len is how many members there are.
func (s Set[M]) Len(ctx context.Context) (int64, error) { return s.Later().Len().Do(ctx) }

// Random gives at most n different members.
func (s Set[M]) Random(ctx context.Context, n int) ([]M, error) { return s.Later().Random(n).Do(ctx) }

// Pop takes at most n members out, at random.
func (s Set[M]) Pop(ctx context.Context, n int) ([]M, error) { return s.Later().Pop(n).Do(ctx) }

// Each walks over the members in portions of about batch, a round trip each
// (SSCAN). Members that are there all the time come at least once, maybe twice.
func (s Set[M]) Each(ctx context.Context, batch int) iter.Seq2[M, error] {
	return scan(ctx, s.Key, "SSCAN", 1, batch, func(texts []string) (M, error) { return decoded(s.codec, texts[0]) })
}

// SetOps are the operations of a Set, to be queued.
type SetOps[M any] struct{ s Set[M] }

// Add is Set.AddFor.
func (o SetOps[M]) Add(members []M, options ...keywright.WriteOption) keywright.Op[int64] {
	args, err := encodeAll(o.s.codec, members)
	op := change(o.s.Key, "add", asInt, writing{command: "SADD", args: args, width: 1, mode: add, options: options, err: err})
	return OrNothing(len(args), o.s.Key, op)
}

// Replace is Set.Replace.
func (o SetOps[M]) Replace(members []M, options ...keywright.WriteOption) keywright.Op[int64] {
	args, err := encodeAll(o.s.codec, members)
	return change(o.s.Key, "replace", asInt, writing{command: "SADD", args: args, width: 1, mode: replace, options: options, err: err})
}

// Remove is Set.Remove.
func (o SetOps[M]) Remove(members ...M) keywright.Op[int64] {
	args, err := encodeAll(o.s.codec, members)
	return OrNothing(len(args), o.s.Key, failing(plain(o.s.Key, "remove", keywright.Idempotent, asInt, "SREM", args...), err))
}

// Has is Set.Has.
func (o SetOps[M]) Has(m M) keywright.Op[bool] {
	text, err := encode(o.s.codec, m)
	return failing(read(o.s.Key, "has", asBool, "SISMEMBER", text), err)
}

// Members is Set.Members.
func (o SetOps[M]) Members() keywright.Op[[]M] {
	return read(o.s.Key, "members", many(o.s.codec), "SMEMBERS")
}

// Len is Set.Len.
func (o SetOps[M]) Len() keywright.Op[int64] { return read(o.s.Key, "len", asInt, "SCARD") }

// Random is Set.Random.
func (o SetOps[M]) Random(n int) keywright.Op[[]M] {
	return failing(read(o.s.Key, "random", many(o.s.codec), "SRANDMEMBER", strconv.Itoa(n)), counted(int64(n)))
}

// Pop is Set.Pop.
func (o SetOps[M]) Pop(n int) keywright.Op[[]M] {
	return failing(plain(o.s.Key, "pop", keywright.Writes, many(o.s.codec), "SPOP", strconv.Itoa(n)), counted(int64(n)))
}

// counted refuses a count of less than one.
func counted(n int64) error {
	if n > 0 {
		return nil
	}
	return invalid(fmt.Errorf("a count of %d; it is at least 1", n))
}

// OrNothing is the operation, or with n = 0 elements one that changes nothing and
// gives the zero value. It is a read then, so that it can be queued like any other.
// It is for typed handles and constructs.
func OrNothing[T any](n int, k Key, op keywright.Op[T]) keywright.Op[T] {
	if n > 0 || op.Err != nil {
		return op
	}
	return plain(k, op.Name, keywright.Reads, func(r rueidis.RedisResult) (zero T, err error) { return zero, r.Error() }, "EXISTS")
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
func scan[T any](ctx context.Context, k Key, command string, width, batch int, decode func(texts []string) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		for cursor := "0"; ; {
			page, err := plain(k, "each", keywright.Reads, scanPage, command, cursor, "COUNT", strconv.Itoa(max(batch, 1))).Do(ctx)
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

func scanPage(r rueidis.RedisResult) (p page, err error) {
	parts, err := r.ToArray()
	if err != nil || len(parts) != 2 {
		return p, firstOf(err, errors.New("the reply to a scan has not two parts"))
	}
	if p.cursor, err = parts[0].ToString(); err == nil {
		p.texts, err = parts[1].AsStrSlice()
	}
	return p, err
}
