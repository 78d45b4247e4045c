package entity

import (
	"cmp"
	"slices"
	"strings"
)

// moved returns the entries that an item had, or may have had, and has no longer.
func (s *core) moved(record string, in map[string]string) (drops []entry) {
	for t := range s.traces(record) {
		if t.index < 0 || t.value == "" {
			continue
		}
		if is, known := in[s.spec.Indexes[t.index].Name]; known && is != t.value {
			drops = append(drops, entry{key: t.key()})
		}
	}
	return drops
}

// all returns the entries of an item.
func (s *core) all(record string) (drops []entry) {
	for t := range s.traces(record) {
		if key := t.key(); key != "" && (t.index < 0 || s.spec.Indexes[t.index].Field != "") {
			drops = append(drops, entry{key: key})
		}
	}
	for i := range s.spec.Indexes {
		if ix := &s.spec.Indexes[i]; ix.Field == "" {
			drops = append(drops, entry{key: ix.Prefix})
		}
	}
	return drops
}

// tag notes the tags of the indexes.
func (s *core) tag() {
	for i := range s.spec.Indexes {
		s.tags = append(s.tags, s.spec.Indexes[i].tag())
		s.lines += linesOf([]mark{{state: complete, tag: s.tags[i]}})
	}
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

func (ix *index) tag() string {
	p := Place{Index: ix.Name, Prefix: ix.Prefix, Suffix: ix.Suffix, All: ix.Field == ""}
	return p.tag()
}

// shouldBe represents an index key that an item should be in, or not.
type shouldBe struct {
	key   string
	in    string // "in" or "out"
	score string
}

// indexColumns returns the fields that decide where an item is.
func (s *core) indexColumns() (names []string) {
	for i := range s.spec.Indexes {
		for _, name := range []string{s.spec.Indexes[i].Field, s.spec.Indexes[i].Score} {
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// should says where an item with these fields belongs.
func (s *core) should(texts map[string]text, there bool) (entries []shouldBe, record string) {
	in := map[string]string{}
	for i := range s.spec.Indexes {
		ix := &s.spec.Indexes[i]
		value, score := texts[ix.Field], texts[ix.Score]
		member := there && (ix.Score == "" || score.there)
		e := shouldBe{key: ix.Prefix, in: "out"}
		if ix.Field != "" {
			if in[ix.Name] = ""; !there || !value.there || value.text == "" || !ix.legal(ix.keyOf(value.text)) {
				continue
			}
			e.key = ix.keyOf(value.text)
			in[ix.Name] = value.text
		} else {
			in[ix.Name] = ""
		}
		if member {
			if e.in, e.score = "in", score.text; ix.Score == "" {
				e.score = unscored
			}
		}
		entries = append(entries, e)
	}
	return entries, s.record(in, "", false)
}

// indexOf returns the index of this program that has a key, nil if none does.
func (s *core) indexOf(key string) *index {
	for i := range s.spec.Indexes {
		if s.spec.Indexes[i].has(key) {
			return &s.spec.Indexes[i]
		}
	}
	return nil
}

// bookKeys returns the keys that are in the slot of the ledger.
func (s *core) bookKeys() []string {
	return []string{cmp.Or(s.spec.Expires, s.spec.Pending), s.spec.Ledger}
}
