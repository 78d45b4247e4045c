package itemkeys

import (
	"cmp"
	"slices"
	"strings"

	"github.com/keywright/keywright/entity/indexrecord"
)

// LeftEntries returns the entries that an item had, or may have had, and has no longer.
func (s *Keys) LeftEntries(record string, in map[string]string) (drops []Entry) {
	for t := range s.Traces(record) {
		if t.Index < 0 || t.Value == "" {
			continue
		}
		if is, known := in[s.Spec.Indexes[t.Index].Name]; known && is != t.Value {
			drops = append(drops, Entry{Key: t.Key()})
		}
	}
	return drops
}

// AllEntries returns the entries of an item.
func (s *Keys) AllEntries(record string) (drops []Entry) {
	for t := range s.Traces(record) {
		if key := t.Key(); key != "" && (t.Index < 0 || s.Spec.Indexes[t.Index].Field != "") {
			drops = append(drops, Entry{Key: key})
		}
	}
	for i := range s.Spec.Indexes {
		if ix := &s.Spec.Indexes[i]; ix.Field == "" {
			drops = append(drops, Entry{Key: ix.Prefix})
		}
	}
	return drops
}

// Tag notes the tags of the indexes, and that nothing was agreed to yet.
func (s *Keys) Tag() {
	for i := range s.Spec.Indexes {
		s.Tags = append(s.Tags, s.Spec.Indexes[i].Tag())
		s.lines += indexrecord.LinesOf([]indexrecord.Mark{{State: indexrecord.StateComplete, Tag: s.Tags[i]}})
	}
	s.AgreedTo(strings.Repeat(" ", indexrecord.TokenSize))
}

// Traces reads a record, or the segments of one. What is no place it leaves out.
func (s *Keys) Traces(record string) func(func(indexrecord.Trace) bool) {
	return func(yield func(indexrecord.Trace) bool) {
		for name, value := range indexrecord.Segments(strings.TrimPrefix(record, "=")) {
			tag, doubted := strings.CutPrefix(name, indexrecord.Doubt)
			if strings.Contains(tag, "|") && !yield(indexrecord.Trace{Tag: tag, Value: value, Index: slices.Index(s.Tags, tag),
				Doubted: doubted}) {
				return
			}
		}
	}
}

// RecordOf returns the index record of an item: where it is in each index of which
// that is known, by the name of the index; and what another record says of the others.
// changed is whether the item is another one than that record knows: of an index that
// this program does not know it is then in doubt where the item is.
func (s *Keys) RecordOf(in map[string]string, before string, changed bool) string {
	record := append(make([]byte, 0, 128), '=')
	for i := range s.Spec.Indexes {
		if text, known := in[s.Spec.Indexes[i].Name]; known {
			record = indexrecord.Append(record, s.Tags[i], text)
		}
	}
	for t := range s.Traces(before) {
		known := false
		if t.Index >= 0 {
			_, known = in[s.Spec.Indexes[t.Index].Name]
		}
		switch {
		case known, t.Index >= 0 && !t.Doubted:
		case t.Doubted || changed:
			record = indexrecord.Append(record, indexrecord.Doubt+t.Tag, t.Value)
		default:
			record = indexrecord.Append(record, t.Tag, t.Value)
		}
	}
	return string(record)
}

// UnknownEntries returns the entries of an item in indexes that this program does not know.
func (s *Keys) UnknownEntries(record string) (entries []Entry) {
	for t := range s.Traces(record) {
		if key := t.Key(); t.Index < 0 && key != "" {
			entries = append(entries, Entry{Key: key})
		}
	}
	return entries
}

// KnownPlaces returns where an item is by its record, by the names of indexes: what is known for
// certain.
func (s *Keys) KnownPlaces(record string) map[string]string {
	in := map[string]string{}
	for t := range s.Traces(record) {
		if t.Index >= 0 && !t.Doubted {
			in[s.Spec.Indexes[t.Index].Name] = t.Value
		}
	}
	return in
}

// valuesByIndex returns what a record says of the value of each index, of whatever version.
func (s *Keys) valuesByIndex(record string) map[string]string {
	in := map[string]string{}
	for t := range s.Traces(record) {
		if p, ok := indexrecord.PlaceOf(t.Tag); ok && (t.Index >= 0 || in[p.Index] == "") {
			in[p.Index] = t.Value
		}
	}
	return in
}

// Lacking returns the indexes of which the record does not say for certain where the
// item is.
func (s *Keys) Lacking(record string) (lacks []int) {
	in := s.KnownPlaces(record)
	for i := range s.Spec.Indexes {
		if _, known := in[s.Spec.Indexes[i].Name]; !known {
			lacks = append(lacks, i)
		}
	}
	return lacks
}

// Tag returns the index as records name it.
func (ix *Index) Tag() string {
	p := indexrecord.Place{Index: ix.Name, Prefix: ix.Prefix, Suffix: ix.Suffix, All: ix.Field == ""}
	return p.Tag()
}

// Belonging represents an index key that an item should be in, or not.
type Belonging struct {
	Key   string
	In    string // "in" or "out"
	Score string
}

// IndexColumns returns the fields that decide where an item is.
func (s *Keys) IndexColumns() (names []string) {
	for i := range s.Spec.Indexes {
		for _, name := range []string{s.Spec.Indexes[i].Field, s.Spec.Indexes[i].Score} {
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// ShouldBe says where an item with these fields belongs.
func (s *Keys) ShouldBe(texts map[string]StoredText, there bool) (entries []Belonging, record string) {
	in := map[string]string{}
	for i := range s.Spec.Indexes {
		ix := &s.Spec.Indexes[i]
		value, score := texts[ix.Field], texts[ix.Score]
		member := there && (ix.Score == "" || score.There)
		e := Belonging{Key: ix.Prefix, In: "out"}
		if ix.Field != "" {
			if in[ix.Name] = ""; !there || !value.There || value.Text == "" || !ix.Declares(ix.KeyOf(value.Text)) {
				continue
			}
			e.Key = ix.KeyOf(value.Text)
			in[ix.Name] = value.Text
		} else {
			in[ix.Name] = ""
		}
		if member {
			if e.In, e.Score = "in", score.Text; ix.Score == "" {
				e.Score = Unscored
			}
		}
		entries = append(entries, e)
	}
	return entries, s.RecordOf(in, "", false)
}

// IndexOf returns the index of this program that has a key, nil if none does.
func (s *Keys) IndexOf(key string) *Index {
	for i := range s.Spec.Indexes {
		if s.Spec.Indexes[i].Has(key) {
			return &s.Spec.Indexes[i]
		}
	}
	return nil
}

// RecordKeys returns the keys that are in the slot of the index records.
func (s *Keys) RecordKeys() []string {
	return []string{cmp.Or(s.Spec.Expires, s.Spec.Pending), s.Spec.Records}
}
