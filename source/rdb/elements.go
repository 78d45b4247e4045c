package rdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/keywright/keywright/source"
)

// Bounds of one part of a value, as source.Content has it: a part ends after so many
// elements or bytes, and an element that is larger has no place in one.
const (
	contentElements = 1000
	contentBytes    = 256 << 10
	maxElement      = 31 << 20
	maxBlob         = 16 << 20 // bytes of a packed value
	maxPending      = 1 << 18  // entries of a stream that are not acknowledged
	maxNamed        = 1 << 16  // fields that the entries of one node of a stream share
)

// Reasons why a value cannot be given in parts.
var (
	ErrElement = errors.New("an element of it has more than 31 MiB, which is more than an archive takes")
	ErrPending = fmt.Errorf("it has more than %d pending entries: acknowledge some", maxPending)
)

// parting decodes one value from a window, and gives its elements in parts.
type parting struct {
	*window
	layout    *layout
	taken     int64
	templates map[uint64][]string
	each      func(elements [][]byte, more bool) error

	part       [][]byte // that is filled
	bytes      []byte   // what its elements are in
	began      int      // elements of it before those that belong together
	beganBytes int      // and their bytes
	full       bool     // the part is given when it is known whether others follow
	why        error    // the value cannot be given; what is left of it is only passed
	scratch    []byte
	firstID    source.StreamID // of a stream: of its first entry; zero: there is none
}

// knows reports whether values of the layout can be given in parts.
func (p *parting) knows() bool {
	l := p.layout
	switch l.kind {
	case source.String, source.List, source.Set, source.ZSet:
		return true
	case source.Hash:
		return l.encoding != "listpackex" && !(l.encoding == "hashtable" && l.per == 0) &&
			(l.encoding[:min(8, len(l.encoding))] != "template" || l.version == 2 && p.templates != nil)
	case source.Stream:
		return l.version <= 3
	}
	return false
}

// run reads the value. finish gives its last part.
func (p *parting) run() {
	l := p.layout
	switch {
	case l.kind == source.String:
		p.string()
	case l.kind == source.Stream:
		p.stream()
	case l.encoding == "quicklist" && l.version > 0:
		p.quicklist()
	case l.encoding == "template-array":
		p.templateArray()
	case l.encoding == "template-listpack":
		p.templateListpack()
	case packings[l.encoding] != nil:
		p.packed(packings[l.encoding], p.blob(p.window.text()))
	default:
		p.table()
	}
}

// cannot notes why the value cannot be given. What is left of it is passed.
func (p *parting) cannot(why error) {
	if p.why == nil {
		p.why = why
	}
}

// take adds a copy of an element.
func (p *parting) take(element []byte) {
	p.follows()
	from := len(p.bytes)
	p.bytes = append(p.bytes, element...)
	p.part = append(p.part, p.bytes[from:len(p.bytes):len(p.bytes)])
}

// text reads a string as an element.
func (p *parting) text() {
	t := p.window.text()
	if t.size > maxElement {
		p.cannot(ErrElement)
	}
	if p.err != nil || p.why != nil {
		p.skip(t.stored)
		return
	}
	p.follows()
	from := len(p.bytes)
	p.pieces(t, func(piece []byte) { p.bytes = append(p.bytes, piece...) })
	p.part = append(p.part, p.bytes[from:len(p.bytes):len(p.bytes)])
}

// blob reads a string that holds packed elements; nil if there is none to be had.
func (p *parting) blob(t text) []byte {
	if t.size > maxBlob {
		p.cannot(fmt.Errorf("it has a packed value of %d bytes, more than the %d that are unpacked", t.size, maxBlob))
	}
	if p.err != nil || p.why != nil {
		p.skip(t.stored)
		return nil
	}
	p.scratch = p.scratch[:0]
	p.pieces(t, func(piece []byte) { p.scratch = append(p.scratch, piece...) })
	return p.scratch
}

// endElement ends elements that belong together: a field and its value, an entry. A full
// part is handed over.
func (p *parting) endElement() {
	size := 0
	for _, e := range p.part[p.began:] {
		size += len(e) + binary.MaxVarintLen32
	}
	if size > maxElement {
		p.cannot(ErrElement)
	}
	if p.why != nil || p.err != nil {
		p.part, p.bytes = p.part[:p.began], p.bytes[:p.beganBytes]
		return
	}
	p.began, p.beganBytes = len(p.part), len(p.bytes)
	p.full = len(p.part) >= contentElements || len(p.bytes) >= contentBytes
}

// follows gives a full part, since another one follows.
func (p *parting) follows() {
	if !p.full {
		return
	}
	p.give(true)
	if p.full, p.part, p.bytes = false, p.part[:0], p.bytes[:0]; cap(p.bytes) > 4*contentBytes {
		p.bytes = nil
	}
	p.began, p.beganBytes = 0, 0
}

func (p *parting) give(more bool) {
	if p.err != nil || p.why != nil {
		return
	}
	if err := p.each(p.part, more); err != nil {
		p.window.err = err
	}
}

// finish gives what is left, as the last part.
func (p *parting) finish() { p.give(false) }

// string gives the bytes of a string, a piece in a part.
func (p *parting) string() {
	t := p.window.text()
	p.pieces(t, func(piece []byte) {
		for len(piece) > 0 && p.err == nil {
			p.follows()
			n := min(len(piece), contentBytes-len(p.bytes))
			p.bytes = append(p.bytes, piece[:n]...)
			piece, p.full = piece[n:], len(p.bytes) == contentBytes
			p.part = append(p.part[:0], p.bytes)
		}
	})
	if t.size == 0 {
		p.part = append(p.part, nil)
	}
}

// table is a list, set, hash or sorted set that is stored element by element.
func (p *parting) table() {
	for n := p.count(); n > 0 && p.err == nil; n-- {
		for range p.layout.per {
			p.text()
		}
		switch p.layout.score {
		case binaryScore:
			p.score(math.Float64frombits(p.uint64()))
		case textScore:
			p.score(p.textScore())
		}
		p.endElement()
	}
}

// score is an element that is the score of the one before it.
func (p *parting) score(score float64) {
	if p.why == nil && p.err == nil {
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

// packed gives the elements of a packed value.
func (p *parting) packed(form *packing, blob []byte) {
	if blob == nil {
		return
	}
	per := max(p.layout.per, 1)
	if p.layout.kind == source.List {
		per = 1
	}
	i := uint64(0)
	whole := form.walk(blob, func(e []byte) bool {
		if i++; p.layout.score != noScore && i%per == 0 {
			if score, err := strconv.ParseFloat(string(e), 64); err == nil {
				e = appendScore(nil, score)
			}
		}
		if p.take(e); i%per == 0 {
			p.endElement()
		}
		return p.err == nil && p.why == nil
	})
	if !whole || i%per != 0 && p.err == nil && p.why == nil {
		p.fail(errPacked)
	}
}

// quicklist is a list of packed nodes.
func (p *parting) quicklist() {
	for n := p.count(); n > 0 && p.err == nil; n-- {
		form := packings["ziplist"]
		if p.layout.version == 2 {
			form = packings["listpack"]
			switch container := p.count(); container {
			case 1:
				p.text()
				p.endElement()
				continue
			case 2:
			default:
				p.failf("a list's node of kind %d, which is %w", container, ErrUnknown)
				return
			}
		}
		p.packed(form, p.blob(p.window.text()))
	}
}

// templateArray is a hash whose field names the snapshot has once for many hashes.
func (p *parting) templateArray() {
	id := p.count()
	names, known := p.templates[id]
	if !known && p.err == nil {
		p.failf("a hash of template %d, which the snapshot does not have", id)
	}
	for i := 0; i < len(names) && p.err == nil; i++ {
		p.take([]byte(names[i]))
		p.text()
		p.endElement()
	}
}

func (p *parting) templateListpack() {
	blob := p.blob(p.window.text())
	if blob == nil {
		return
	}
	var names []string
	i, known := -1, true
	whole := walkListpack(blob, func(v []byte) bool {
		if i++; i == 0 {
			id, _ := strconv.ParseUint(string(v), 10, 64)
			names, known = p.templates[id]
			return known
		}
		if i > len(names) {
			return false
		}
		p.take([]byte(names[i-1]))
		p.take(v)
		p.endElement()
		return p.err == nil && p.why == nil
	})
	if p.why == nil && (!whole || !known || i != len(names)) {
		p.fail(errPacked)
	}
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
