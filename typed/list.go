package typed

import (
	"context"
	"errors"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/value"
)

// List is a list of members, from the left (0) to the right (-1).
type List[M any] struct {
	Removable
	codec  *value.Codec[M]
	sealed bool
}

// NewList makes a handle; generated code calls it.
func NewList[M any](k Key, c *value.Codec[M]) List[M] {
	return List[M]{Removable{k}, at(k, "", c), c.Sealed()}
}

// Later is the operations to queue in a Batch or a transaction.
func (l List[M]) Later() ListOps[M] { return ListOps[M]{l} }

// PushRight appends members and gives the new length.
func (l List[M]) PushRight(ctx context.Context, members ...M) (int64, error) {
	return l.Later().PushRight(members).Do(ctx)
}

// PushLeft puts members in front, the last one ends up first, and gives the new
// length.
func (l List[M]) PushLeft(ctx context.Context, members ...M) (int64, error) {
	return l.Later().PushLeft(members).Do(ctx)
}

// PopLeft takes the first member off; ErrNotFound from an empty list. A member
// that has been popped is nowhere any more if the process dies: for work that
// must be done declare a queue.
func (l List[M]) PopLeft(ctx context.Context) (M, error) { return l.Later().PopLeft().Do(ctx) }

// PopRight takes the last member off; see PopLeft.
func (l List[M]) PopRight(ctx context.Context) (M, error) { return l.Later().PopRight().Do(ctx) }

// Range reads members from start to stop, both included; -1 is the last.
func (l List[M]) Range(ctx context.Context, start, stop int64) ([]M, error) {
	return l.Later().Range(start, stop).Do(ctx)
}

// At reads one member; ErrNotFound beyond the ends.
func (l List[M]) At(ctx context.Context, index int64) (M, error) { return l.Later().At(index).Do(ctx) }

// Len is how many members there are.
func (l List[M]) Len(ctx context.Context) (int64, error) { return l.Later().Len().Do(ctx) }

// Remove removes the first n members equal to m from the left; the last ones if
// n is negative; all if it is 0.
func (l List[M]) Remove(ctx context.Context, n int64, m M) (int64, error) {
	return l.Later().Remove(n, m).Do(ctx)
}

// Trim keeps the members from start to stop and drops the others.
func (l List[M]) Trim(ctx context.Context, start, stop int64) error {
	_, err := l.Later().Trim(start, stop).Do(ctx)
	return err
}

// Replace writes these members and no others stay, in one step.
func (l List[M]) Replace(ctx context.Context, members []M, options ...keywright.WriteOption) error {
	_, err := l.Later().Replace(members, options...).Do(ctx)
	return err
}

// ListOps are the operations of a List, to be queued.
type ListOps[M any] struct{ l List[M] }

// PushRight is List.PushRight.
func (o ListOps[M]) PushRight(members []M, options ...keywright.WriteOption) keywright.Op[int64] {
	return o.push("push right", "RPUSH", members, add, options)
}

// PushLeft is List.PushLeft.
func (o ListOps[M]) PushLeft(members []M, options ...keywright.WriteOption) keywright.Op[int64] {
	return o.push("push left", "LPUSH", members, add, options)
}

// Replace is List.Replace.
func (o ListOps[M]) Replace(members []M, options ...keywright.WriteOption) keywright.Op[int64] {
	return o.push("replace", "RPUSH", members, replace, options)
}

func (o ListOps[M]) push(name, command string, members []M, m mode, options []keywright.WriteOption) keywright.Op[int64] {
	args, err := encodeAll(o.l.codec, members)
	if err == nil && m == add && len(args) == 0 {
		return plain(o.l.Key, name, keywright.Reads, asInt, "LLEN")
	}
	return change(o.l.Key, name, asInt, writing{command: command, args: args, width: 1, mode: m, options: options, err: err})
}

// PopLeft is List.PopLeft.
func (o ListOps[M]) PopLeft() keywright.Op[M] {
	return plain(o.l.Key, "pop left", keywright.Writes, one(o.l.codec), "LPOP")
}

// PopRight is List.PopRight.
func (o ListOps[M]) PopRight() keywright.Op[M] {
	return plain(o.l.Key, "pop right", keywright.Writes, one(o.l.codec), "RPOP")
}

// Range is List.Range.
func (o ListOps[M]) Range(start, stop int64) keywright.Op[[]M] {
	return read(o.l.Key, "range", many(o.l.codec), "LRANGE", strconv.FormatInt(start, 10), strconv.FormatInt(stop, 10))
}

// At is List.At.
func (o ListOps[M]) At(index int64) keywright.Op[M] {
	return read(o.l.Key, "at", one(o.l.codec), "LINDEX", strconv.FormatInt(index, 10))
}

// Len is List.Len.
func (o ListOps[M]) Len() keywright.Op[int64] { return read(o.l.Key, "len", asInt, "LLEN") }

// Remove is List.Remove.
func (o ListOps[M]) Remove(n int64, m M) keywright.Op[int64] {
	text, err := encode(o.l.codec, m)
	if o.l.sealed {
		err = invalid(errors.New("members are stored sealed, and no two texts are the same: none can be found by its value"))
	}
	return failing(plain(o.l.Key, "remove", keywright.Writes, asInt, "LREM", strconv.FormatInt(n, 10), text), err)
}

// Trim is List.Trim.
func (o ListOps[M]) Trim(start, stop int64) keywright.Op[struct{}] {
	return plain(o.l.Key, "trim", keywright.Writes, nothing, "LTRIM", strconv.FormatInt(start, 10), strconv.FormatInt(stop, 10))
}
