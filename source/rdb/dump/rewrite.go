package dump

import (
	"fmt"

	"github.com/keywright/keywright/source/rdb/internal/layout"
	"github.com/keywright/keywright/source/rdb/internal/packed"
	"github.com/keywright/keywright/source/rdb/internal/window"
)

// VersionOf returns the highest RDB version that a server loads, as RESTORE takes it.
// Source: RDB_VERSION in src/rdb.h of each release.
func VersionOf(valkey bool, major, minor int) int {
	at := major*100 + minor
	if valkey {
		switch {
		case at >= 900:
			return 80
		default:
			return 11
		}
	}
	for _, v := range []struct{ from, version int }{{804, 13}, {704, 12}, {702, 11}, {700, 10}, {500, 9}, {400, 8}} {
		if at >= v.from {
			return v.version
		}
	}
	return 7
}

// Versions returns the versions in which a value may be written for a server that does not take its own, oldest first.
// Those of Valkey alone are not among them: what Redis writes in its own newer versions, these cannot say.
func Versions() []int {
	var all []int
	for v := oldestWritten; v <= layout.NewestRedis; v++ {
		all = append(all, v)
	}
	return all
}

// Older returns the version in which what was written in one version is for servers that load up to another one: the
// same, or an older one. 0: none is known, and any.
func Older(own, to int) int {
	switch {
	case own == 0 && to == 0:
		return olderVersion
	case own == 0:
		return to
	case to == 0, OfValkey(own) && OfValkey(to):
		return own
	case OfValkey(to):
		return min(own, sharedVersion)
	}
	return min(own, to)
}

const (
	oldestWritten = 6  // of Redis 2.6
	olderVersion  = 10 // of Redis 7.0, the oldest server that is supported
	sharedVersion = 11 // the last one of Redis that Valkey loads, too
)

// since is the first version of RDB that has a type.
var since = map[byte]int{5: 8, 9: 2, 10: 2, 11: 2, 12: 2, 13: 4, 7: 8, 14: 7, 15: 9, 16: 10, 17: 10, 18: 10, 19: 10,
	20: 11, 21: 11}

// Rewrite makes of a value, as DUMP returned it without its last ten bytes, one that a
// server takes that loads RDB up to version to; from is the version that it was
// written in. A value whose type is old enough stays as it is; a set in a listpack
// becomes a plain set, and a stream loses the times at which its consumers were last
// active. What cannot be rewritten without a loss is an error.
func Rewrite(value []byte, from, to int) (out []byte, version int, err error) {
	if len(value) == 0 {
		return nil, 0, fmt.Errorf("an empty value of RDB version %d", from)
	}
	if OfValkey(from) != OfValkey(to) && value[0] > 21 { // the two families differ in what these mean
		return nil, 0,
			fmt.Errorf("%s (RDB version %d) cannot be written for a server that loads version %d", typeName(value[0]), from, to)
	}
	if from <= to {
		return value, from, nil
	}
	first, known := since[value[0]]
	switch {
	case value[0] < 5 || known && first <= to:
		return value, to, nil
	case value[0] == 20 && to >= 4:
		out, err = plainSet(value)
	case value[0] == 21 && to >= 10:
		out, err = olderStream(value)
	default:
		err = fmt.Errorf("%s (RDB version %d) cannot be written for a server that loads up to version %d", typeName(value[0]),
			from, to)
	}
	return out, to, err
}

// typeName says what a value is that cannot be written for another server.
func typeName(kind byte) string {
	if kind >= 22 && kind <= 25 {
		return fmt.Sprintf("a hash some of whose fields expire, of type %d,", kind)
	}
	return fmt.Sprintf("a value of type %d", kind)
}

// plainSet makes a set of type 2 of one in a listpack.
func plainSet(value []byte) ([]byte, error) {
	w := window.New(value[1:])
	t := w.Text()
	blob := w.Body(t, nil, packed.MaxWalked)
	if w.Err != nil {
		return nil, w.Err
	}
	var elements [][]byte
	whole := packed.WalkListpack(blob, func(e []byte) bool {
		elements = append(elements, append([]byte(nil), e...))
		return true
	})
	if !whole {
		return nil, fmt.Errorf("the listpack of a set makes no sense")
	}
	out := window.AppendLength([]byte{2}, uint64(len(elements)))
	for _, e := range elements {
		out = append(window.AppendLength(out, uint64(len(e))), e...)
	}
	return out, nil
}

// olderStream makes a stream of type 19 of one of type 21: without the times at which
// consumers were last active.
func olderStream(value []byte) ([]byte, error) {
	w := window.New(value)
	out, kept := make([]byte, 0, len(value)), 1
	out = append(out, 19)
	w.Skip(1)
	for nodes := w.Count(); nodes > 0 && w.Err == nil; nodes-- {
		w.SkipText()
		w.SkipText()
	}
	counts := func(n int) {
		for range n {
			w.Count()
		}
	}
	counts(1 + 2 + 5) // length, last id, and what version 2 added
	for groups := w.Count(); groups > 0 && w.Err == nil; groups-- {
		w.SkipText()
		counts(3)
		for pending := w.Count(); pending > 0 && w.Err == nil; pending-- {
			w.Skip(24)
			counts(1)
		}
		for consumers := w.Count(); consumers > 0 && w.Err == nil; consumers-- {
			w.SkipText()
			w.Skip(8) // seen
			out = append(out, value[kept:w.Pos]...)
			w.Skip(8) // active
			kept = w.Pos
			for own := w.Count(); own > 0 && w.Err == nil; own-- {
				w.Skip(16)
			}
		}
	}
	if w.Err == nil && w.Pos != w.End {
		w.Failf("%d bytes after a stream", w.End-w.Pos)
	}
	return append(out, value[min(kept, len(value)):]...), w.Err
}
