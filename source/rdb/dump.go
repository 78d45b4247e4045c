package rdb

import (
	"errors"
	"fmt"

	"github.com/keywright/keywright/source"
)

// Elements decodes a value, as DUMP returned it without its last ten bytes, into
// elements as source.Content has them: each is called with one part after the other.
// version is the RDB version of the value, and taken the moment (in Unix milliseconds)
// at which the idle times of pending entries are judged. An error wraps ErrUnknown if the
// value can only be moved as it is: a module's, or a hash whose fields expire.
//
// The elements are valid until each returns. Elements holds one part.
func Elements(value []byte, version int, taken int64, each func(elements [][]byte, more bool) error) error {
	if len(value) == 0 {
		return &Error{Err: ErrTruncated}
	}
	l := &layoutsOf(OfValkey(version))[value[0]]
	w := newWindow(value)
	w.skip(1)
	p := &parting{window: w, layout: l, taken: taken, each: each}
	if !p.knows() {
		return fmt.Errorf("a value of type %d is %w", value[0], ErrUnknown)
	}
	p.run()
	if p.err == nil && p.why == nil && w.pos != w.end {
		w.failf("%d bytes after the value", w.end-w.pos)
	}
	if p.err == nil {
		p.finish()
	}
	return errors.Join(p.err, p.why)
}

// Fields decodes a hash whose fields expire by themselves, which Elements does not know, in parts as Elements gives
// them: of each field its name, its value, and when it expires in Unix milliseconds, 0 for never. An error wraps
// ErrUnknown if the value is no such hash.
func Fields(value []byte, version int, each func(elements [][]byte, more bool) error) error {
	if len(value) == 0 {
		return &Error{Err: ErrTruncated}
	}
	l := &layoutsOf(OfValkey(version))[value[0]]
	w := newWindow(value)
	w.skip(1)
	p := &parting{window: w, layout: l, each: each}
	switch {
	case l.kind != source.Hash || p.knows():
		return fmt.Errorf("a value of type %d is %w", value[0], ErrUnknown)
	case l.encoding == "listpackex":
		if l.version == 2 {
			w.skip(8) // when the first of them expires
		}
		p.packed(packings[l.encoding], p.blob(w.text()))
	case l.encoding == "hashtable":
		p.expiringTable()
	default:
		return fmt.Errorf("a value of type %d is %w", value[0], ErrUnknown)
	}
	if p.err == nil && p.why == nil && w.pos != w.end {
		w.failf("%d bytes after the value", w.end-w.pos)
	}
	if p.err == nil {
		p.finish()
	}
	if p.err != nil {
		return p.err
	}
	return p.why
}

// KindOf returns the kind of a value whose encoding begins with a type byte, as in what
// DUMP returns; Unknown if this version does not know it.
func KindOf(typeByte byte, valkey bool) source.Kind { return layoutsOf(valkey)[typeByte].kind }

// OfValkey reports whether an RDB version is one in which valkey has layouts of its own.
func OfValkey(version int) bool { return version >= newestValkey }

// Sum returns the CRC-64 of p as snapshots and the payloads of DUMP and RESTORE have it.
func Sum(p []byte) uint64 { return update(0, p) }
