// Package element decodes one value into its elements, and gives them in parts of bounded size. It reads from a window,
// and knows no key.
package element

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb/fault"
	"github.com/keywright/keywright/source/rdb/internal/layout"
	"github.com/keywright/keywright/source/rdb/internal/packed"
	"github.com/keywright/keywright/source/rdb/internal/window"
)

// Bounds of one part of a value, as source.Content has it: a part ends after so many
// elements or bytes, and an element that is larger has no place in one.
const (
	contentElements = 1000
	contentBytes    = 256 << 10
	MaxElement      = 31 << 20
	maxBlob         = 16 << 20 // bytes of a packed value
	maxPending      = 1 << 18  // entries of a stream that are not acknowledged
	maxNamed        = 1 << 16  // fields that the entries of one node of a stream share
)

// Reasons why a value cannot be given in parts.
var (
	ErrElement = errors.New("an element of it has more than 31 MiB, which is more than an archive takes")
	ErrPending = fmt.Errorf("it has more than %d pending entries: acknowledge some", maxPending)
)

// Parting decodes one value from a window, and gives its elements in parts.
type Parting struct {
	*window.Window
	Layout    *layout.Layout
	Taken     int64
	Templates map[uint64][]string
	Each      func(elements [][]byte, more bool) error

	part       [][]byte // that is filled
	bytes      []byte   // what its elements are in
	began      int      // elements of it before those that belong together
	beganBytes int      // and their bytes
	full       bool     // the part is given when it is known whether others follow
	Why        error    // the value cannot be given; what is left of it is only passed
	scratch    []byte
	firstID    source.StreamID // of a stream: of its first entry; zero: there is none
}

// Knows reports whether values of the layout can be given in parts.
func (p *Parting) Knows() bool {
	l := p.Layout
	switch l.Kind {
	case source.String, source.List, source.Set, source.ZSet:
		return true
	case source.Hash:
		return l.Encoding != "listpackex" && !(l.Encoding == "hashtable" && l.Per == 0) &&
			(l.Encoding[:min(8, len(l.Encoding))] != "template" || l.Version == 2 && p.Templates != nil)
	case source.Stream:
		return l.Version <= 3
	}
	return false
}

// Run reads the value. finish gives its last part.
func (p *Parting) Run() {
	l := p.Layout
	switch {
	case l.Kind == source.String:
		p.string()
	case l.Kind == source.Stream:
		p.stream()
	case l.Encoding == "quicklist" && l.Version > 0:
		p.quicklist()
	case l.Encoding == "template-array":
		p.templateArray()
	case l.Encoding == "template-listpack":
		p.templateListpack()
	case packed.Packings[l.Encoding] != nil:
		p.Packed(packed.Packings[l.Encoding], p.Blob(p.Window.Text()))
	default:
		p.table()
	}
}

// cannot notes why the value cannot be given. What is left of it is passed.
func (p *Parting) cannot(why error) {
	if p.Why == nil {
		p.Why = why
	}
}

// take adds a copy of an element.
func (p *Parting) take(element []byte) {
	p.follows()
	from := len(p.bytes)
	p.bytes = append(p.bytes, element...)
	p.part = append(p.part, p.bytes[from:len(p.bytes):len(p.bytes)])
}

// text reads a string as an element.
func (p *Parting) text() {
	t := p.Window.Text()
	if t.Size > MaxElement {
		p.cannot(ErrElement)
	}
	if p.Err != nil || p.Why != nil {
		p.Skip(t.Stored)
		return
	}
	p.follows()
	from := len(p.bytes)
	p.Pieces(t, func(piece []byte) { p.bytes = append(p.bytes, piece...) })
	p.part = append(p.part, p.bytes[from:len(p.bytes):len(p.bytes)])
}

// Blob reads a string that holds packed elements; nil if there is none to be had.
func (p *Parting) Blob(t window.Text) []byte {
	if t.Size > maxBlob {
		p.cannot(fmt.Errorf("it has a packed value of %d bytes, more than the %d that are unpacked", t.Size, maxBlob))
	}
	if p.Err != nil || p.Why != nil {
		p.Skip(t.Stored)
		return nil
	}
	p.scratch = p.scratch[:0]
	p.Pieces(t, func(piece []byte) { p.scratch = append(p.scratch, piece...) })
	return p.scratch
}

// endElement ends elements that belong together: a field and its value, an entry. A full
// part is handed over.
func (p *Parting) endElement() {
	size := 0
	for _, e := range p.part[p.began:] {
		size += len(e) + binary.MaxVarintLen32
	}
	if size > MaxElement {
		p.cannot(ErrElement)
	}
	if p.Why != nil || p.Err != nil {
		p.part, p.bytes = p.part[:p.began], p.bytes[:p.beganBytes]
		return
	}
	p.began, p.beganBytes = len(p.part), len(p.bytes)
	p.full = len(p.part) >= contentElements || len(p.bytes) >= contentBytes
}

// follows gives a full part, since another one follows.
func (p *Parting) follows() {
	if !p.full {
		return
	}
	p.give(true)
	if p.full, p.part, p.bytes = false, p.part[:0], p.bytes[:0]; cap(p.bytes) > 4*contentBytes {
		p.bytes = nil
	}
	p.began, p.beganBytes = 0, 0
}

func (p *Parting) give(more bool) {
	if p.Err != nil || p.Why != nil {
		return
	}
	if err := p.Each(p.part, more); err != nil {
		p.Window.Err = err
	}
}

// Finish gives what is left, as the last part.
func (p *Parting) Finish() { p.give(false) }

// string gives the bytes of a string, a piece in a part.
func (p *Parting) string() {
	t := p.Window.Text()
	p.Pieces(t, func(piece []byte) {
		for len(piece) > 0 && p.Err == nil {
			p.follows()
			n := min(len(piece), contentBytes-len(p.bytes))
			p.bytes = append(p.bytes, piece[:n]...)
			piece, p.full = piece[n:], len(p.bytes) == contentBytes
			p.part = append(p.part[:0], p.bytes)
		}
	})
	if t.Size == 0 {
		p.part = append(p.part, nil)
	}
}

// table is a list, set, hash or sorted set that is stored element by element.
func (p *Parting) table() {
	for n := p.Count(); n > 0 && p.Err == nil; n-- {
		for range p.Layout.Per {
			p.text()
		}
		switch p.Layout.Score {
		case layout.BinaryScore:
			p.score(math.Float64frombits(p.Uint64()))
		case layout.TextScore:
			p.score(p.TextScore())
		}
		p.endElement()
	}
}

// score is an element that is the score of the one before it.
func (p *Parting) score(score float64) {
	if p.Why == nil && p.Err == nil {
		p.take(appendScore(nil, score))
	}
}

// appendScore appends a score as commands take it.
func appendScore(b []byte, score float64) []byte {
	switch {
	case math.IsInf(score, 1):
		return append(b, "inf"...)
	case math.IsInf(score, -1):
		return append(b, "-inf"...)
	}
	return strconv.AppendFloat(b, score, 'g', -1, 64)
}

// Packed gives the elements of a packed value.
func (p *Parting) Packed(form *packed.Packing, blob []byte) {
	if blob == nil {
		return
	}
	per := max(p.Layout.Per, 1)
	if p.Layout.Kind == source.List {
		per = 1
	}
	i := uint64(0)
	whole := form.Walk(blob, func(e []byte) bool {
		if i++; p.Layout.Score != layout.NoScore && i%per == 0 {
			if score, err := strconv.ParseFloat(string(e), 64); err == nil {
				e = appendScore(nil, score)
			}
		}
		if p.take(e); i%per == 0 {
			p.endElement()
		}
		return p.Err == nil && p.Why == nil
	})
	if !whole || i%per != 0 && p.Err == nil && p.Why == nil {
		p.Fail(packed.ErrPacked)
	}
}

// quicklist is a list of packed nodes.
func (p *Parting) quicklist() {
	for n := p.Count(); n > 0 && p.Err == nil; n-- {
		form := packed.Packings["ziplist"]
		if p.Layout.Version == 2 {
			form = packed.Packings["listpack"]
			switch container := p.Count(); container {
			case 1:
				p.text()
				p.endElement()
				continue
			case 2:
			default:
				p.Failf("a list's node of kind %d, which is %w", container, fault.ErrUnknown)
				return
			}
		}
		p.Packed(form, p.Blob(p.Window.Text()))
	}
}

// templateArray is a hash whose field names the snapshot has once for many hashes.
func (p *Parting) templateArray() {
	id := p.Count()
	names, known := p.Templates[id]
	if !known && p.Err == nil {
		p.Failf("a hash of template %d, which the snapshot does not have", id)
	}
	for i := 0; i < len(names) && p.Err == nil; i++ {
		p.take([]byte(names[i]))
		p.text()
		p.endElement()
	}
}

func (p *Parting) templateListpack() {
	blob := p.Blob(p.Window.Text())
	if blob == nil {
		return
	}
	var names []string
	i, known := -1, true
	whole := packed.WalkListpack(blob, func(v []byte) bool {
		if i++; i == 0 {
			id, _ := strconv.ParseUint(string(v), 10, 64)
			names, known = p.Templates[id]
			return known
		}
		if i > len(names) {
			return false
		}
		p.take([]byte(names[i-1]))
		p.take(v)
		p.endElement()
		return p.Err == nil && p.Why == nil
	})
	if p.Why == nil && (!whole || !known || i != len(names)) {
		p.Fail(packed.ErrPacked)
	}
}

// ExpiringTable is a hash that is stored field by field, each with when it expires: before it, in version 2 as what is
// left after the first that expires, or in Valkey after it.
func (p *Parting) ExpiringTable() {
	first := int64(1)
	if p.Layout.Version == 2 {
		first = int64(p.Uint64())
	}
	for n := p.Count(); n > 0 && p.Err == nil; n-- {
		expires := int64(0)
		if p.Layout.Version < 3 {
			if expires = window.Clamp(p.Count()); expires > 0 {
				expires += first - 1
			}
		}
		p.text()
		p.text()
		if p.Layout.Version == 3 {
			expires = max(int64(p.Uint64()), 0)
		}
		if p.Err == nil && p.Why == nil {
			p.take(strconv.AppendInt(nil, expires, 10))
		}
		p.endElement()
	}
}
