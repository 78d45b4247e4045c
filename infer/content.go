package infer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/keywright/keywright/keyspace/scalar"
	"github.com/keywright/keywright/source"
)

// content describes what is known of the values of a group's keys.
type content struct {
	whole    sketch // of a string
	member   sketch // of a list, set or zset
	fields   fields // of a hash, a stream, or a JSON object
	scores   scores // of a zset
	largest  int    // bytes of the longest string
	objects  int    // strings that are JSON objects
	sketches int    // strings that are HyperLogLogs
	bits     int    // strings of bytes that are no text
}

// fields holds the fields of hashes or of JSON objects.
type fields struct {
	values int // hashes, objects or entries of streams seen
	byName map[string]*field
	open   bool // too many different ones to be fixed
	parts  bool // a hash was seen in part: it may have fields that were not seen
	any    sketch
	names  sketch
}

type field struct {
	n     int // values that have it
	last  int // the number of the last of them
	forms spelled
	sketch
}

// maxFields says how many different fields may be written out.
const maxFields = 40

// add takes one value.
func (c *content) add(kind source.Kind, v *source.Value) {
	switch kind {
	case source.String:
		c.whole.add(v.Str)
		c.largest = max(c.largest, len(v.Str))
		if bytes.HasPrefix(v.Str, []byte("HYLL")) {
			c.sketches++
		} else if len(v.Str) > 0 && looksLike(v.Str) == 0 {
			c.bits++
		}
		c.object(v)
	case source.Hash:
		c.fields.parts = c.fields.parts || v.Partial
		c.fields.add(v.Elements)
	case source.Stream:
		start := 0
		for _, end := range v.Ends {
			c.fields.add(v.Elements[start:end])
			start = end
		}
	default:
		for _, e := range v.Elements {
			c.member.add(e)
		}
		for _, s := range v.Scores {
			c.scores.add(s)
		}
	}
}

// add takes the fields of one hash, or of one entry of a stream, which may have a field
// twice.
func (f *fields) add(pairs [][]byte) {
	f.values++
	for i := 0; i+1 < len(pairs); i += 2 {
		f.names.add(pairs[i])
		f.any.add(pairs[i+1])
		if one := f.get(string(pairs[i])); one != nil {
			if one.last != f.values {
				one.n, one.last = one.n+1, f.values
			}
			one.add(pairs[i+1])
		}
	}
}

// get returns the field of that name, nil when there are too many.
func (f *fields) get(name string) *field {
	if f.open {
		return nil
	}
	if f.byName == nil {
		f.byName = map[string]*field{}
	}
	one := f.byName[name]
	if one == nil {
		if len(f.byName) >= maxFields {
			f.open, f.byName = true, nil
			return nil
		}
		one = &field{}
		f.byName[name] = one
	}
	return one
}

func (c *content) merge(o *content) {
	c.whole.merge(&o.whole)
	c.member.merge(&o.member)
	c.largest = max(c.largest, o.largest)
	c.objects += o.objects
	c.sketches += o.sketches
	c.bits += o.bits
	c.scores.merge(&o.scores)
	c.fields.merge(&o.fields)
}

func (f *fields) merge(o *fields) {
	f.values += o.values
	f.parts = f.parts || o.parts
	f.names.merge(&o.names)
	f.any.merge(&o.any)
	if o.open {
		f.open, f.byName = true, nil
	}
	for name, one := range o.byName {
		mine := f.get(name)
		if mine == nil {
			return
		}
		mine.n += one.n
		mine.forms.merge(&one.forms)
		mine.merge(&one.sketch)
	}
}

// fixed reports whether the fields are a set that someone decided on: most
// values have most of them, and they are names.
func (f *fields) fixed() bool {
	if f.open || f.parts || len(f.byName) == 0 || f.values < 2 && len(f.byName) > 12 {
		return false
	}
	common := 0
	for name, one := range f.byName {
		if !isName(name) {
			return false
		}
		if 2*one.n >= f.values {
			common++
		}
	}
	return 2*common >= len(f.byName)
}

// isName: what a developer calls a field.
func isName(s string) bool {
	if s == "" || len(s) > 40 || !(kinds[s[0]]&(isLower|isUpper) != 0 || s[0] == '_') {
		return false
	}
	numbers := 0
	for i := range len(s) {
		switch c := s[i]; {
		case kinds[c]&isDigit != 0:
			numbers++
		case kinds[c]&(isLower|isUpper) == 0 && c != '_' && c != '-' && c != '.':
			return false
		}
	}
	return numbers <= 3
}

// scores describes what is known of the scores of sorted sets.
type scores struct {
	n        int
	min, max float64
	fraction bool
}

func (s *scores) add(v float64) {
	if math.IsNaN(v) {
		return
	}
	if s.n == 0 || v < s.min {
		s.min = v
	}
	if s.n == 0 || v > s.max {
		s.max = v
	}
	s.n++
	s.fraction = s.fraction || v != math.Trunc(v)
}

func (s *scores) merge(o *scores) {
	if o.n == 0 {
		return
	}
	n, fraction := s.n+o.n, s.fraction || o.fraction
	s.add(o.min)
	s.add(o.max)
	s.n, s.fraction = n, fraction
}

// Unix seconds and milliseconds of the years 2014 to 2096: what is between them
// is taken for a time.
const (
	early = 1.4e9
	late  = 4e9
)

// typ returns the type of the scores, as a declaration writes it.
func (s *scores) typ() string {
	switch {
	case s.n == 0:
		return ""
	case s.min >= early && s.max <= late && !s.fraction:
		return "unix_s"
	case s.min >= early*1000 && s.max <= late*1000 && !s.fraction:
		return "unix_ms"
	case s.fraction || math.IsInf(s.min, 0) || math.IsInf(s.max, 0) || math.Abs(s.max) >= 1<<53 ||
		math.Abs(s.min) >= 1<<53:
		return "float"
	}
	return "int"
}

// Scores of a geo set are 52 bits of a geohash. Few are below 2^44 (places at the
// edge of the map); times in milliseconds all are, times in microseconds are of a
// few years.
const (
	leastGeo     = 1 << 44
	mostGeo      = 1 << 52
	microsOf2015 = 1.42e15
	microsOf2035 = 2.05e15
)

// geo reports whether the scores may be those of GEOADD.
func (s *scores) geo() bool {
	return s.n > 0 && !s.fraction && s.min >= leastGeo && s.max < mostGeo
}

// micros reports whether the scores may as well be times in microseconds.
func (s *scores) micros() bool { return s.min >= microsOf2015 && s.max <= microsOf2035 }

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
	n        int
	all      look // what every value was
	lens     uint64
	negative bool
	spaced   bool
	distinct []string // few short ones; nil beyond
	many     bool
}

// maxDistinct says how many different values may be an enumeration.
const maxDistinct = 8

func (s *sketch) add(v []byte) {
	l := looksLike(v)
	if s.n == 0 {
		s.all = l
	}
	s.all &= l
	s.n++
	s.lens |= 1 << min(len(v), 63)
	s.negative = s.negative || len(v) > 0 && v[0] == '-'
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
	if o.n == 0 {
		return
	}
	if s.n == 0 {
		s.all = o.all
	}
	s.all &= o.all
	s.n += o.n
	s.lens |= o.lens
	s.negative, s.spaced = s.negative || o.negative, s.spaced || o.spaced
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
		all &= kinds[c]
		or |= kinds[c]
	}
	if or&isOdd != 0 && (!utf8.Valid(v) || bytes.ContainsFunc(v, func(r rune) bool {
		return r < ' ' && r != '\n' &&
			r != '\t' && r != '\r'
	})) {
		return 0
	}
	l := lookText
	switch {
	case all&isDigit != 0 || v[0] == '-' && len(v) > 1 && allDigits(v[1:]):
		l |= numberLooks(v)
	case string(v) == "true" || string(v) == "false":
		l |= lookBool
	case isFloat(v):
		l |= lookFloat
	case v[0] == '{' || v[0] == '[':
		if json.Valid(v) {
			l |= lookJSON
		}
	case len(v) == 36 && isUUID(v) && or&isUpper == 0:
		l |= lookUUID
	case len(v) == 26 && isULID(v):
		l |= lookULID
	case len(v) == 10 && isDate(v) && isDay(v):
		l |= lookDate
	case len(v) >= 20 && len(v) <= 35 && v[10] == 'T' && isTimestamp(v):
		l |= lookTimestamp
	}
	if all&isHex != 0 && or&isUpper == 0 && len(v) >= 8 && len(v)%2 == 0 {
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
	if kinds[v[0]]&isDigit == 0 && v[0] != '-' {
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

// typ returns the type of the values, as a declaration writes it; "" if there are
// none. enough is how many values make an enumeration of them.
func (s *sketch) typ(enough int) string {
	if s.n == 0 {
		return ""
	}
	return cmp.Or(s.among(enough, anyLook), "bytes")
}

// among returns typ, with some of the forms only.
func (s *sketch) among(enough int, looks look) string {
	if words := s.words(); enough > 0 && s.n >= enough && len(words) >= 2 {
		return strings.Join(words, "|")
	}
	for _, t := range types {
		if s.all&t.look&looks != 0 {
			if t.look == lookInt && looks&lookHex != 0 && s.fixedHex() {
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
func (s *sketch) fixedHex() bool { return s.all&lookHex != 0 && s.length() >= 16 && s.n > 2 }

// length returns the one length all values have; 0 if they differ or are long.
func (s *sketch) length() int { return oneBit(s.lens) }

// words returns the values of an enumeration, sorted; nil if it is none.
func (s *sketch) words() []string {
	if s.many || len(s.distinct) < 2 || s.n < 3*len(s.distinct) {
		return nil
	}
	for _, v := range s.distinct {
		if !isName(v) || v == "true" || v == "false" {
			return nil
		}
	}
	return slices.Sorted(slices.Values(s.distinct))
}
