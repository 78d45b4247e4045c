package rdb

import (
	"fmt"
	"strconv"

	"github.com/keywright/keywright/source"
)

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

// expiringTable is a hash that is stored field by field, each with when it expires: before it, in version 2 as what is
// left after the first that expires, or in Valkey after it.
func (p *parting) expiringTable() {
	first := int64(1)
	if p.layout.version == 2 {
		first = int64(p.uint64())
	}
	for n := p.count(); n > 0 && p.err == nil; n-- {
		expires := int64(0)
		if p.layout.version < 3 {
			if expires = clamp(p.count()); expires > 0 {
				expires += first - 1
			}
		}
		p.text()
		p.text()
		if p.layout.version == 3 {
			expires = max(int64(p.uint64()), 0)
		}
		if p.err == nil && p.why == nil {
			p.take(strconv.AppendInt(nil, expires, 10))
		}
		p.endElement()
	}
}
