// Package content describes what the values of keys look like: their types, their fields and members, their words.
// It keeps no value, but for a few short words. It does not look at the names of keys.
package content

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/keywright/keywright/infer/internal/class"
	"github.com/keywright/keywright/keyspace/scalar"
	"github.com/keywright/keywright/source"
)

// Content describes what is known of the values of a group's keys.
type Content struct {
	Whole    sketch // of a string
	Member   sketch // of a list, set or zset
	Fields   Fields // of a hash, a stream, or a JSON object
	Scores   scores // of a zset
	Largest  int    // bytes of the longest string
	Objects  int    // strings that are JSON objects
	Sketches int    // strings that are HyperLogLogs
	Bits     int    // strings of bytes that are no text
}

// Fields holds the fields of hashes or of JSON objects.
type Fields struct {
	Values int // hashes, objects or entries of streams seen
	ByName map[string]*field
	open   bool // too many different ones to be fixed
	parts  bool // a hash was seen in part: it may have fields that were not seen
	Any    sketch
	Names  sketch
}

type field struct {
	N     int // values that have it
	last  int // the number of the last of them
	Forms spelled
	sketch
}

// maxFields says how many different fields may be written out.
const maxFields = 40

// Add takes one value.
func (c *Content) Add(kind source.Kind, v *source.Value) {
	switch kind {
	case source.String:
		c.Whole.add(v.Str)
		c.Largest = max(c.Largest, len(v.Str))
		if bytes.HasPrefix(v.Str, []byte("HYLL")) {
			c.Sketches++
		} else if len(v.Str) > 0 && looksLike(v.Str) == 0 {
			c.Bits++
		}
		c.object(v)
	case source.Hash:
		c.Fields.parts = c.Fields.parts || v.Partial
		c.Fields.add(v.Elements)
	case source.Stream:
		start := 0
		for _, end := range v.Ends {
			c.Fields.add(v.Elements[start:end])
			start = end
		}
	default:
		for _, e := range v.Elements {
			c.Member.add(e)
		}
		for _, s := range v.Scores {
			c.Scores.add(s)
		}
	}
}

// add takes the fields of one hash, or of one entry of a stream, which may have a field
// twice.
func (f *Fields) add(pairs [][]byte) {
	f.Values++
	for i := 0; i+1 < len(pairs); i += 2 {
		f.Names.add(pairs[i])
		f.Any.add(pairs[i+1])
		if one := f.get(string(pairs[i])); one != nil {
			if one.last != f.Values {
				one.N, one.last = one.N+1, f.Values
			}
			one.add(pairs[i+1])
		}
	}
}

// get returns the field of that name, nil when there are too many.
func (f *Fields) get(name string) *field {
	if f.open {
		return nil
	}
	if f.ByName == nil {
		f.ByName = map[string]*field{}
	}
	one := f.ByName[name]
	if one == nil {
		if len(f.ByName) >= maxFields {
			f.open, f.ByName = true, nil
			return nil
		}
		one = &field{}
		f.ByName[name] = one
	}
	return one
}

// Merge adds what is known of other values.
func (c *Content) Merge(o *Content) {
	c.Whole.merge(&o.Whole)
	c.Member.merge(&o.Member)
	c.Largest = max(c.Largest, o.Largest)
	c.Objects += o.Objects
	c.Sketches += o.Sketches
	c.Bits += o.Bits
	c.Scores.merge(&o.Scores)
	c.Fields.merge(&o.Fields)
}

func (f *Fields) merge(o *Fields) {
	f.Values += o.Values
	f.parts = f.parts || o.parts
	f.Names.merge(&o.Names)
	f.Any.merge(&o.Any)
	if o.open {
		f.open, f.ByName = true, nil
	}
	for name, one := range o.ByName {
		mine := f.get(name)
		if mine == nil {
			return
		}
		mine.N += one.N
		mine.Forms.merge(&one.Forms)
		mine.merge(&one.sketch)
	}
}

// Fixed reports whether the fields are a set that someone decided on: most
// values have most of them, and they are names.
func (f *Fields) Fixed() bool {
	if f.open || f.parts || len(f.ByName) == 0 || f.Values < 2 && len(f.ByName) > 12 {
		return false
	}
	common := 0
	for name, one := range f.ByName {
		if !IsName(name) {
			return false
		}
		if 2*one.N >= f.Values {
			common++
		}
	}
	return 2*common >= len(f.ByName)
}

// IsName reports whether a text is what a developer calls a field.
func IsName(s string) bool {
	if s == "" || len(s) > 40 || !(class.Kinds[s[0]]&(class.IsLower|class.IsUpper) != 0 || s[0] == '_') {
		return false
	}
	numbers := 0
	for i := range len(s) {
		switch c := s[i]; {
		case class.Kinds[c]&class.IsDigit != 0:
			numbers++
		case class.Kinds[c]&(class.IsLower|class.IsUpper) == 0 && c != '_' && c != '-' && c != '.':
			return false
		}
	}
	return numbers <= 3
}

// look represents one form a value may have; a value may have several.
type look uint16

const (
	lookInt look = 1 << iota
	lookFloat
	lookBool
	lookUUID
	lookULID
	lookHex
	lookDate
	lookTimestamp
	lookSeconds
	lookMillis
	lookJSON
	lookText

	anyLook = 1<<iota - 1
)

// sketch describes what is known of many scalar values.
type sketch struct {
	N        int
	all      look // what every value was
	lens     uint64
	Negative bool
	spaced   bool
	distinct []string // few short ones; nil beyond
	many     bool
}

// maxDistinct says how many different values may be an enumeration.
const maxDistinct = 8

func (s *sketch) add(v []byte) {
	l := looksLike(v)
	if s.N == 0 {
		s.all = l
	}
	s.all &= l
	s.N++
	s.lens |= 1 << min(len(v), 63)
	s.Negative = s.Negative || len(v) > 0 && v[0] == '-'
	s.spaced = s.spaced || bytes.IndexByte(v, ' ') >= 0
	s.remember(string(v[:min(len(v), 25)]))
}

func (s *sketch) remember(v string) {
	if s.many || slices.Contains(s.distinct, v) {
		return
	}
	if len(s.distinct) == maxDistinct || len(v) > 24 {
		s.many, s.distinct = true, nil
		return
	}
	s.distinct = append(s.distinct, v)
}

func (s *sketch) merge(o *sketch) {
	if o.N == 0 {
		return
	}
	if s.N == 0 {
		s.all = o.all
	}
	s.all &= o.all
	s.N += o.N
	s.lens |= o.lens
	s.Negative, s.spaced = s.Negative || o.Negative, s.spaced || o.spaced
	s.many = s.many || o.many
	for _, v := range o.distinct {
		s.remember(v)
	}
	if s.many {
		s.distinct = nil
	}
}

// looksLike returns the forms of a value.
func looksLike(v []byte) look {
	if len(v) == 0 {
		return lookText
	}
	all, or := byte(0xff), byte(0)
	for _, c := range v {
		all &= class.Kinds[c]
		or |= class.Kinds[c]
	}
	if or&class.IsOdd != 0 && (!utf8.Valid(v) || bytes.ContainsFunc(v, func(r rune) bool {
		return r < ' ' && r != '\n' &&
			r != '\t' && r != '\r'
	})) {
		return 0
	}
	l := lookText
	switch {
	case all&class.IsDigit != 0 || v[0] == '-' && len(v) > 1 && class.AllDigits(v[1:]):
		l |= numberLooks(v)
	case string(v) == "true" || string(v) == "false":
		l |= lookBool
	case isFloat(v):
		l |= lookFloat
	case v[0] == '{' || v[0] == '[':
		if json.Valid(v) {
			l |= lookJSON
		}
	case len(v) == 36 && class.IsUUID(v) && or&class.IsUpper == 0:
		l |= lookUUID
	case len(v) == 26 && class.IsULID(v):
		l |= lookULID
	case len(v) == 10 && class.IsDate(v) && isDay(v):
		l |= lookDate
	case len(v) >= 20 && len(v) <= 35 && v[10] == 'T' && isTimestamp(v):
		l |= lookTimestamp
	}
	if all&class.IsHex != 0 && or&class.IsUpper == 0 && len(v) >= 8 && len(v)%2 == 0 {
		l |= lookHex
	}
	return l
}

func numberLooks(v []byte) look {
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != string(v) {
		return 0
	}
	l := lookInt | lookFloat
	if float64(n) >= early && float64(n) <= late {
		l |= lookSeconds
	}
	if float64(n) >= early*1000 && float64(n) <= late*1000 {
		l |= lookMillis
	}
	return l
}

func isFloat(v []byte) bool {
	if class.Kinds[v[0]]&class.IsDigit == 0 && v[0] != '-' {
		return false
	}
	f, ok := scalar.ParseFloat(string(v))
	return ok && !math.IsInf(f, 0)
}

// isDay and isTimestamp are what an audit asks: 2026-02-30 is no day.
var (
	isDay       = scalar.Type{Kind: scalar.Date, Layout: "YYYY-MM-DD"}.Prepared()
	isTimestamp = scalar.Type{Kind: scalar.Timestamp}.Prepared()
)

// types lists the forms, the narrowest first, and what a declaration calls them.
var types = []struct {
	look look
	name string
}{
	{lookUUID, "uuid"}, {lookULID, "ulid"}, {lookTimestamp, "timestamp"}, {lookDate, "date"}, {lookBool, "bool"},
	{lookSeconds, "unix_s"}, {lookMillis, "unix_ms"}, {lookInt, "int"}, {lookFloat, "float"}, {lookJSON, "json"},
	{lookText, "text"},
}

// Type returns the type of the values, as a declaration writes it; "" if there are
// none. enough is how many values make an enumeration of them.
func (s *sketch) Type(enough int) string {
	if s.N == 0 {
		return ""
	}
	return cmp.Or(s.among(enough, anyLook), "bytes")
}

// among returns typ, with some of the forms only.
func (s *sketch) among(enough int, looks look) string {
	if words := s.words(); enough > 0 && s.N >= enough && len(words) >= 2 {
		return strings.Join(words, "|")
	}
	for _, t := range types {
		if s.all&t.look&looks != 0 {
			if t.look&(lookInt|lookFloat) != 0 && looks&lookHex != 0 && s.fixedHex() {
				continue
			}
			if t.look == lookText && s.fixedHex() {
				return "hex " + strconv.Itoa(s.length())
			}
			return t.name
		}
	}
	return ""
}

// fixedHex: all of one length, 16 digits or more.
func (s *sketch) fixedHex() bool { return s.all&lookHex != 0 && s.length() >= 16 && s.N > 2 }

// length returns the one length all values have; 0 if they differ or are long.
func (s *sketch) length() int { return class.OneBit(s.lens) }

// words returns the values of an enumeration, sorted; nil if it is none.
func (s *sketch) words() []string {
	if s.many || len(s.distinct) < 2 || s.N < 3*len(s.distinct) {
		return nil
	}
	for _, v := range s.distinct {
		if !IsName(v) || v == "true" || v == "false" {
			return nil
		}
	}
	return slices.Sorted(slices.Values(s.distinct))
}
