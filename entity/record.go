package entity

import (
	"slices"
	"strconv"
	"strings"
)

// A record is what the ledger says of an item: "=" and a segment tag=length:value
// for each index that the item is in, without a value where one key has all items. A tag is the name of the
// index, its kind and the text around the value in its keys, so that a program that
// does not know the index, as in the middle of a deploy, can take the item out of it.

// Place is one index that an item is in.
type Place struct {
	Index          string
	Sorted         bool   // it is a zset
	Prefix, Suffix string // of its keys
	Value          string
}

var escaping = strings.NewReplacer("%", "%25", "=", "%3D", "|", "%7C")
var unescaping = strings.NewReplacer("%25", "%", "%3D", "=", "%7C", "|")

// tag is an index as records name it.
func (p *Place) tag() string {
	kind := "s"
	if p.Sorted {
		kind = "z"
	}
	return p.Index + "|" + kind + escaping.Replace(p.Prefix) + "|" + escaping.Replace(p.Suffix)
}

func (ix *Index[T]) tag() string {
	p := Place{Index: ix.Name, Sorted: ix.Score != "", Prefix: ix.Prefix, Suffix: ix.Suffix}
	return p.tag()
}

// tag notes the tags of the indexes.
func (s *Store[I, T]) tag() {
	for i := range s.spec.Indexes {
		s.tags = append(s.tags, s.spec.Indexes[i].tag())
	}
}

// named is the name of the index in a tag.
func named(tag string) string {
	name, _, _ := strings.Cut(tag, "|")
	return name
}

// placed is the entry of a segment.
func placed(tag, value string) (e entry, ok bool) {
	_, rest, _ := strings.Cut(tag, "|")
	prefix, suffix, ok := strings.Cut(rest, "|")
	if !ok || prefix == "" {
		return entry{}, false
	}
	return entry{unescaping.Replace(prefix[1:]) + value + unescaping.Replace(suffix), prefix[:1]}, true
}

// Record is the text of an item in the ledger. It is never empty, so that an item
// of no index is in the ledger too.
func Record(places ...Place) []byte {
	record := []byte{'='}
	for i := range places {
		record = appendRecord(record, places[i].tag(), places[i].Value)
	}
	return record
}

func appendRecord(dst []byte, tag, text string) []byte {
	dst = append(append(dst, tag...), '=')
	dst = append(strconv.AppendInt(dst, int64(len(text)), 10), ':')
	return append(dst, text...)
}

// record is what the ledger is to say of an item: each index over all items, and by
// the name of each that has a key per value, that value, also of an item that is not
// in it as it lacks the score; and what another record says of indexes that this program does not know.
func (s *Store[I, T]) record(in map[string]string, before ...string) string {
	record := append(make([]byte, 0, 128), '=')
	for i := range s.spec.Indexes {
		ix := &s.spec.Indexes[i]
		if text := in[ix.Name]; ix.Field == "" || text != "" {
			record = appendRecord(record, s.tags[i], text)
		}
	}
	for _, b := range before {
		for tag, text := range pairs(strings.TrimPrefix(b, "=")) {
			if s.foreign(tag) {
				record = appendRecord(record, tag, text)
			}
		}
	}
	return string(record)
}

// foreign is whether a segment is of an index that this program does not know: one
// of a newer version, or of an older one.
func (s *Store[I, T]) foreign(tag string) bool {
	return strings.Contains(tag, "|") && !slices.Contains(s.tags, tag)
}

// unknown are the entries of an item in indexes that this program does not know.
func (s *Store[I, T]) unknown(record string) (entries []entry) {
	for tag, text := range pairs(strings.TrimPrefix(record, "=")) {
		if e, ok := placed(tag, text); ok && s.foreign(tag) {
			entries = append(entries, e)
		}
	}
	return entries
}

// recorded reads a record, by the names of indexes. What it does not understand it
// leaves out.
func recorded(record string) map[string]string {
	in := map[string]string{}
	for tag, text := range pairs(strings.TrimPrefix(record, "=")) {
		if text != "" {
			in[named(tag)] = text
		}
	}
	return in
}
