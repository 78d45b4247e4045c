package entity

import (
	"slices"
	"strconv"
	"strings"
)

// A record is what the ledger says of an item: "=" and a segment tag=length:value
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

// tag returns an index as records name it.
func (p *Place) tag() string {
	tag := escaping.Replace(p.Index) + "|" + escaping.Replace(p.Prefix)
	if p.All {
		return tag
	}
	return tag + "|" + escaping.Replace(p.Suffix)
}

func (ix *index) tag() string {
	p := Place{Index: ix.Name, Prefix: ix.Prefix, Suffix: ix.Suffix, All: ix.Field == ""}
	return p.tag()
}

// tag notes the tags of the indexes.
func (s *core) tag() {
	for i := range s.spec.Indexes {
		s.tags = append(s.tags, s.spec.Indexes[i].tag())
		s.lines += linesOf([]mark{{state: complete, tag: s.tags[i]}})
	}
}

// placeOf reads a tag; ok is whether it is one.
func placeOf(tag string) (p Place, ok bool) {
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

// Record returns the text of an item in the ledger. It is never empty, so that an item
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

// doubt is before the tag of a place where an item may be.
const doubt = "?"

// trace describes what a segment says of an item.
type trace struct {
	tag, value string
	index      int // of the store, -1: one of another version
	doubted    bool
}

// traces reads a record, or the segments of one. What is no place it leaves out.
func (s *core) traces(record string) func(func(trace) bool) {
	return func(yield func(trace) bool) {
		for name, value := range pairs(strings.TrimPrefix(record, "=")) {
			tag, doubted := strings.CutPrefix(name, doubt)
			if strings.Contains(tag, "|") && !yield(trace{tag, value, slices.Index(s.tags, tag), doubted}) {
				return
			}
		}
	}
}

// key returns the key that the item is in, "" for none.
func (t trace) key() string {
	p, ok := placeOf(t.tag)
	if !ok || !p.All && t.value == "" {
		return ""
	}
	return p.Prefix + t.value + p.Suffix
}

// record returns what the ledger is to say of an item: where it is in each index of which
// that is known, by the name of the index; and what another record says of the others.
// changed is whether the item is another one than that record knows: of an index that
// this program does not know it is then in doubt where the item is.
func (s *core) record(in map[string]string, before string, changed bool) string {
	record := append(make([]byte, 0, 128), '=')
	for i := range s.spec.Indexes {
		if text, known := in[s.spec.Indexes[i].Name]; known {
			record = appendRecord(record, s.tags[i], text)
		}
	}
	for t := range s.traces(before) {
		known := false
		if t.index >= 0 {
			_, known = in[s.spec.Indexes[t.index].Name]
		}
		switch {
		case known, t.index >= 0 && !t.doubted:
		case t.doubted || changed:
			record = appendRecord(record, doubt+t.tag, t.value)
		default:
			record = appendRecord(record, t.tag, t.value)
		}
	}
	return string(record)
}

// unknown returns the entries of an item in indexes that this program does not know.
func (s *core) unknown(record string) (entries []entry) {
	for t := range s.traces(record) {
		if key := t.key(); t.index < 0 && key != "" {
			entries = append(entries, entry{key: key})
		}
	}
	return entries
}

// placed returns where an item is by its record, by the names of indexes: what is known for
// certain.
func (s *core) placed(record string) map[string]string {
	in := map[string]string{}
	for t := range s.traces(record) {
		if t.index >= 0 && !t.doubted {
			in[s.spec.Indexes[t.index].Name] = t.value
		}
	}
	return in
}

// told returns what a record says of the value of each index, of whatever version.
func (s *core) told(record string) map[string]string {
	in := map[string]string{}
	for t := range s.traces(record) {
		if p, ok := placeOf(t.tag); ok && (t.index >= 0 || in[p.Index] == "") {
			in[p.Index] = t.value
		}
	}
	return in
}

// lacking returns the indexes of which the record does not say for certain where the
// item is.
func (s *core) lacking(record string) (lacks []int) {
	in := s.placed(record)
	for i := range s.spec.Indexes {
		if _, known := in[s.spec.Indexes[i].Name]; !known {
			lacks = append(lacks, i)
		}
	}
	return lacks
}
