// Package indexrecord reads and writes the index records of an entity: of an item, in which indexes it is (a record),
// and of each index, whether all items are in it (marks). It turns text into values and values into text.
//
// It knows no server, and no entity: a program that moves the keys of an entity, or writes its index records elsewhere,
// needs only this.
//
// API: may change until 1.0.
package indexrecord

import (
	"strconv"
	"strings"
)

// An index record has "=" and a segment tag=length:value
// for each index of which is known where the item is in it: without a value where one
// key has all items, and where the item is in no key. A tag is the name of the index and the
// text around the value in its keys, so that a program that does not know the index,
// as in the middle of a deploy, can take the item out of it. After "?" it is a place
// where the item may be: a program that does not know the index has written the item
// since. An entry whose first byte is another one is of another form (ErrForm).

// Place represents one index that an item is in.
type Place struct {
	Index          string
	Prefix, Suffix string // of its keys
	All            bool   // it has one key, the Prefix, for all items
	Value          string
}

var escaping = strings.NewReplacer("%", "%25", "=", "%3D", "|", "%7C", "\n", "%0A")
var unescaping = strings.NewReplacer("%25", "%", "%3D", "=", "%7C", "|", "%0A", "\n")

// Tag returns an index as records name it.
func (p *Place) Tag() string {
	tag := escaping.Replace(p.Index) + "|" + escaping.Replace(p.Prefix)
	if p.All {
		return tag
	}
	return tag + "|" + escaping.Replace(p.Suffix)
}

// PlaceOf reads a tag; ok is whether it is one.
func PlaceOf(tag string) (p Place, ok bool) {
	parts := strings.Split(tag, "|")
	for i := range parts {
		parts[i] = unescaping.Replace(parts[i])
	}
	switch len(parts) {
	case 2:
		return Place{Index: parts[0], Prefix: parts[1], All: true}, true
	case 3:
		return Place{Index: parts[0], Prefix: parts[1], Suffix: parts[2]}, true
	}
	return p, false
}

// Encode returns the index record of an item. It is never empty, so that an item of no
// index has one too.
func Encode(places ...Place) []byte {
	record := []byte{'='}
	for i := range places {
		record = Append(record, places[i].Tag(), places[i].Value)
	}
	return record
}

// Append adds a segment to a record.
func Append(dst []byte, tag, text string) []byte {
	dst = append(append(dst, tag...), '=')
	dst = append(strconv.AppendInt(dst, int64(len(text)), 10), ':')
	return append(dst, text...)
}

// Doubt is before the tag of a place where an item may be.
const Doubt = "?"

// Trace describes what a segment says of an item.
type Trace struct {
	Tag, Value string
	Index      int // of the store, -1: one of another version
	Doubted    bool
}

// Segments reads segments: names of indexes, each with a value, a name perhaps several
// times.
func Segments(segments string) func(func(name, text string) bool) {
	return func(yield func(name, text string) bool) {
		for segments != "" {
			name, after, _ := strings.Cut(segments, "=")
			size, after, _ := strings.Cut(after, ":")
			n, err := strconv.Atoi(size)
			if err != nil || n < 0 || n > len(after) || !yield(name, after[:n]) {
				return
			}
			segments = after[n:]
		}
	}
}

// Key returns the key that the item is in, "" for none.
func (t Trace) Key() string {
	p, ok := PlaceOf(t.Tag)
	if !ok || !p.All && t.Value == "" {
		return ""
	}
	return p.Prefix + t.Value + p.Suffix
}
