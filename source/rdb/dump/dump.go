// Package dump reads and rewrites single values in the form of DUMP, without its last ten bytes, which is also how a
// snapshot stores them. It says which versions of that form servers load. It reads no snapshot, and no key.
//
// API: may change until 1.0.
package dump

import (
	"errors"
	"fmt"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb/fault"
	"github.com/keywright/keywright/source/rdb/internal/crc"
	"github.com/keywright/keywright/source/rdb/internal/element"
	"github.com/keywright/keywright/source/rdb/internal/layout"
	"github.com/keywright/keywright/source/rdb/internal/packed"
	"github.com/keywright/keywright/source/rdb/internal/window"
)

// Elements decodes a value, as DUMP returned it without its last ten bytes, into
// elements as source.Content has them: each is called with one part after the other.
// version is the RDB version of the value, and taken the moment (in Unix milliseconds)
// at which the idle times of pending entries are judged. An error wraps rdb.ErrUnknown if the
// value can only be moved as it is: a module's, or a hash whose fields expire.
//
// The elements are valid until each returns. Elements holds one part.
func Elements(value []byte, version int, taken int64, each func(elements [][]byte, more bool) error) error {
	if len(value) == 0 {
		return &fault.Error{Err: fault.ErrTruncated}
	}
	l := &layout.Of(OfValkey(version))[value[0]]
	w := window.New(value)
	w.Skip(1)
	p := &element.Parting{Window: w, Layout: l, Taken: taken, Each: each}
	if !p.Knows() {
		return fmt.Errorf("a value of type %d is %w", value[0], fault.ErrUnknown)
	}
	p.Run()
	if p.Err == nil && p.Why == nil && w.Pos != w.End {
		w.Failf("%d bytes after the value", w.End-w.Pos)
	}
	if p.Err == nil {
		p.Finish()
	}
	return errors.Join(p.Err, p.Why)
}

// Fields decodes a hash whose fields expire by themselves, which Elements does not know, in parts as Elements gives
// them: of each field its name, its value, and when it expires in Unix milliseconds, 0 for never. An error wraps
// rdb.ErrUnknown if the value is no such hash.
func Fields(value []byte, version int, each func(elements [][]byte, more bool) error) error {
	if len(value) == 0 {
		return &fault.Error{Err: fault.ErrTruncated}
	}
	l := &layout.Of(OfValkey(version))[value[0]]
	w := window.New(value)
	w.Skip(1)
	p := &element.Parting{Window: w, Layout: l, Each: each}
	switch {
	case l.Kind != source.Hash || p.Knows():
		return fmt.Errorf("a value of type %d is %w", value[0], fault.ErrUnknown)
	case l.Encoding == "listpackex":
		if l.Version == 2 {
			w.Skip(8) // when the first of them expires
		}
		p.Packed(packed.Packings[l.Encoding], p.Blob(w.Text()))
	case l.Encoding == "hashtable":
		p.ExpiringTable()
	default:
		return fmt.Errorf("a value of type %d is %w", value[0], fault.ErrUnknown)
	}
	if p.Err == nil && p.Why == nil && w.Pos != w.End {
		w.Failf("%d bytes after the value", w.End-w.Pos)
	}
	if p.Err == nil {
		p.Finish()
	}
	if p.Err != nil {
		return p.Err
	}
	return p.Why
}

// KindOf returns the kind of a value whose encoding begins with a type byte, as in what
// DUMP returns; Unknown if this version does not know it.
func KindOf(typeByte byte, valkey bool) source.Kind { return layout.Of(valkey)[typeByte].Kind }

// OfValkey reports whether an RDB version is one in which valkey has layouts of its own.
func OfValkey(version int) bool { return version >= layout.NewestValkey }

// Sum returns the CRC-64 of p as snapshots and the payloads of DUMP and RESTORE have it.
func Sum(p []byte) uint64 { return crc.Update(0, p) }
