package typed

import (
	"errors"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/value"
)

// List represents a list of members, from the left (0) to the right (-1).
type List[M any] struct {
	Removable
	codec  *value.Codec[M]
	sealed bool
}

// NewList makes a handle; generated code calls it.
func NewList[M any](b keywright.Binding, c *value.Codec[M]) List[M] {
	k := NewKey(b)
	return List[M]{Removable{k}, at(k, "", c), c.Sealed()}
}

// PushRight appends members and gives the new length.
func (l List[M]) PushRight(members ...M) keywright.Op[int64] { return l.PushRightFor(members) }

// PushRightFor works as PushRight does, with choices of this write.
func (l List[M]) PushRightFor(members []M, options ...keywright.WriteOption) keywright.Op[int64] {
	return l.push("push right", "RPUSH", members, options)
}

// PushLeft puts members in front, the last one ends up first, and gives the new
// length.
func (l List[M]) PushLeft(members ...M) keywright.Op[int64] { return l.PushLeftFor(members) }

// PushLeftFor works as PushLeft does, with choices of this write.
func (l List[M]) PushLeftFor(members []M, options ...keywright.WriteOption) keywright.Op[int64] {
	return l.push("push left", "LPUSH", members, options)
}

// Replace writes these members and no others stay, in one step.
func (l List[M]) Replace(members []M, options ...keywright.WriteOption) keywright.Act {
	args, err := encodeAll(l.codec, members)
	return act(change(l.Key, "replace", nothing,
		writing{command: "RPUSH", args: args, width: 1, mode: replace, options: options, err: err}))
}

func (l List[M]) push(name, command string, members []M, options []keywright.WriteOption) keywright.Op[int64] {
	args, err := encodeAll(l.codec, members)
	if err == nil && len(args) == 0 {
		return plain(l.Key, name, keywright.Reads, asInt, "LLEN")
	}
	return change(l.Key, name, asInt,
		writing{command: command, args: args, width: 1, mode: add, options: options, err: err})
}

// PopLeft takes the first member off; ErrNotFound from an empty list. A member
// that has been popped is lost if the process dies: for work that
// must be done declare a queue.
func (l List[M]) PopLeft() keywright.Op[M] {
	return plain(l.Key, "pop left", keywright.Writes, one(l.codec), "LPOP")
}

// PopRight takes the last member off; see PopLeft.
func (l List[M]) PopRight() keywright.Op[M] {
	return plain(l.Key, "pop right", keywright.Writes, one(l.codec), "RPOP")
}

// Range reads members from start to stop, both included; -1 is the last.
func (l List[M]) Range(start, stop int64) keywright.Op[[]M] {
	return read(l.Key, "range", many(l.codec), "LRANGE", strconv.FormatInt(start, 10), strconv.FormatInt(stop, 10))
}

// At reads one member; ErrNotFound beyond the ends.
func (l List[M]) At(index int64) keywright.Op[M] {
	return read(l.Key, "at", one(l.codec), "LINDEX", strconv.FormatInt(index, 10))
}

// Len returns how many members there are.
func (l List[M]) Len() keywright.Op[int64] { return read(l.Key, "len", asInt, "LLEN") }

// Remove removes the first n members equal to m from the left; the last ones if
// n is negative; all if it is 0.
func (l List[M]) Remove(n int64, m M) keywright.Op[int64] {
	text, err := encode(l.codec, m)
	if l.sealed {
		err = invalid(errors.New("members are stored sealed, and no two texts are the same: none can be found by its value"))
	}
	return failing(plain(l.Key, "remove", keywright.Writes, asInt, "LREM", strconv.FormatInt(n, 10), text), err)
}

// Trim keeps the members from start to stop and drops the others.
func (l List[M]) Trim(start, stop int64) keywright.Act {
	return act(plain(l.Key, "trim", keywright.Writes, nothing, "LTRIM", strconv.FormatInt(start, 10),
		strconv.FormatInt(stop, 10)))
}
