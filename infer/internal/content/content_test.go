package content

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/source"
)

// value makes a value of a kind of its elements, which for a string is the first.
func value(kind source.Kind, elements ...string) *source.Value {
	v := &source.Value{}
	for _, e := range elements {
		v.Elements = append(v.Elements, []byte(e))
	}
	if kind == source.String {
		v.Str, v.Elements = v.Elements[0], nil
	}
	if kind == source.Stream {
		v.Ends = []int{len(v.Elements)}
	}
	return v
}

// of makes a content of strings.
func of(values ...string) *Content {
	c := &Content{}
	for _, v := range values {
		c.Add(source.String, value(source.String, v))
	}
	return c
}

// TestTypeOfValues: the narrowest type that all values have; a value that is no text makes bytes of all.
func TestTypeOfValues(t *testing.T) {
	const uuid = "7e7590d0-9e23-4763-b774-ee8514e10d0c"
	for _, c := range []struct {
		values []string
		want   string
	}{
		{nil, ""}, {[]string{""}, "text"}, {[]string{"a"}, "text"}, {[]string{"a", "\xff"}, "bytes"},
		{[]string{"a\x00"}, "bytes"}, {[]string{"a\n\t"}, "text"},
		{[]string{"1", "0", "-5"}, "int"}, {[]string{"1", "01"}, "text"}, {[]string{"1", "1.5"}, "float"},
		{[]string{"-"}, "text"}, {[]string{"1e5"}, "float"},
		{[]string{"9223372036854775807"}, "int"}, {[]string{"9223372036854775808"}, "text"}, {[]string{"-0"}, "text"},
		{[]string{"true", "false"}, "bool"},
		{[]string{"true", "1"}, "text"}, {[]string{"1400000000", "4000000000"}, "unix_s"},
		{[]string{"1399999999"}, "int"}, {[]string{"4000000001"}, "int"},
		{[]string{"1400000000000"}, "unix_ms"}, {[]string{"1400000000", "1400000000000"}, "int"},
		{[]string{uuid}, "uuid"}, {[]string{strings.ToUpper(uuid)}, "text"},
		{[]string{uuid, "x"}, "text"}, {[]string{"01ARZ3NDEKTSV4RRFFQ69G5FAV"}, "ulid"}, {[]string{"2026-01-31"}, "date"},
		{[]string{"2026-02-30"}, "text"},
		{[]string{"2026-01-31T10:00:00Z"}, "timestamp"}, {[]string{"2026-01-31T10:00:99Z"}, "text"},
		{[]string{`{"a": 1}`, "[]"}, "json"}, {[]string{`{"a": 1`}, "text"},
		{[]string{"deadbeefdeadbeef", "1234567890abcdef", "abcdefabcdefabcd"}, "hex 16"},
		{[]string{"deadbeefdeadbeef"}, "text"},
		{[]string{"deadbeefdeadbeef", "1234567890abcdef", "abcdefabcdefabcd12"}, "text"},
		{[]string{"1234567890123456", "1234567890123457", "1234567890123458"}, "hex 16"},
	} {
		if got := of(c.values...).Whole.Type(0); got != c.want {
			t.Errorf("%q: %s, and not %s", c.values, got, c.want)
		}
	}
}

// TestWords: a few words that come again and again are an enumeration; one of them alone, a number, or a new one each
// time is none.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		values []string
		times  int
		want   string
	}{
		{[]string{"low", "high"}, 3, "high|low"}, {[]string{"low", "high"}, 2, "text"}, {[]string{"low"}, 10, "text"},
		{[]string{"low", "1"}, 5, "text"},
		{[]string{"true", "false"}, 5, "bool"}, {[]string{"a b", "c"}, 5, "text"},
		{strings.Split("abcdefgh", ""), 3, "a|b|c|d|e|f|g|h"},
		{strings.Split("abcdefghi", ""), 5, "text"},
		{[]string{strings.Repeat("a", 24), "b"}, 3, "aaaaaaaaaaaaaaaaaaaaaaaa|b"},
		{[]string{strings.Repeat("a", 25), "b"}, 3, "text"},
	} {
		got := of(slices.Repeat(c.values, c.times)...).Whole.Type(6)
		if got != c.want {
			t.Errorf("%q %d times: %s, and not %s", c.values, c.times, got, c.want)
		}
	}
	if got := of(slices.Repeat([]string{"low", "high"}, 3)...).Whole.Type(7); got != "text" {
		t.Errorf("too few for words: %s", got)
	}
}

// TestObjects: strings that are JSON objects have members with the types that their forms tell; what is read in part,
// too long, or no object, has none.
func TestObjects(t *testing.T) {
	c := of(`{"id": 1, "name": "x y", "at": "2026-01-31",
		"ok": true, "tags": [], "sum": 1.5, "mixed": 1, "gone": null, "n": "1"}`,
		`{"id": 2, "name": "z", "at": "2026-02-01", "ok": false, "tags": {}, "sum": 2, "mixed": "1",
			"gone": null, "n": "2"}`)
	want := map[string]string{"id": "int", "name": "text", "at": "date", "ok": "bool", "tags": "json",
		"sum": "float", "mixed": "json", "gone": "", "n": "text"}
	got := map[string]string{}
	for name, f := range c.Fields.ByName {
		got[name] = f.Type()
	}
	if c.Objects != 2 || c.Fields.Values != 2 || !maps.Equal(got, want) || !c.Fields.Fixed() {
		t.Errorf("%d objects: %v, and not %v", c.Objects, got, want)
	}
	none := of("", "{", "[]", "1", `{"a": 1`, `"{}"`, `{"a": "`+strings.Repeat("x", 64<<10)+`"}`)
	part := value(source.String, `{"a": 1}`)
	part.Partial = true
	if none.Add(source.String, part); none.Objects != 0 || none.Fields.ByName != nil {
		t.Errorf("%d objects", none.Objects)
	}
}

// TestFields: fields are those that someone decided on if most values have most of them and they are names, and if
// there are not too many.
func TestFields(t *testing.T) {
	many := func(n int, form string) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf(form, i), "v")
		}
		return out
	}
	for _, c := range []struct {
		name   string
		hashes [][]string
		want   bool
	}{
		{"none", nil, false}, {"one", [][]string{{"a", "1"}}, true}, {"twelve", [][]string{many(12, "f%d")}, true},
		{"thirteen", [][]string{many(13, "f%d")}, false},
		{"thirteen twice", [][]string{many(13, "f%d"), many(13, "f%d")}, true},
		{"forty", [][]string{many(40, "f%d"), many(40, "f%d")}, true},
		{"too many", [][]string{many(41, "f%d"), many(41, "f%d")}, false},
		{"no names", [][]string{{"1", "x"}, {"1", "x"}}, false},
		{"others each time", [][]string{{"a", "1"}, {"b", "1"}, {"c", "1"}}, false},
		{"half", [][]string{{"a", "1", "b", "1"}, {"a", "1"}, {"a", "1"}}, true},
		{"a name too long", [][]string{{strings.Repeat("a", 41), "1"}}, false},
		{"odd", [][]string{{"a", "1", "b"}}, true},
	} {
		var content Content
		for _, h := range c.hashes {
			content.Add(source.Hash, value(source.Hash, h...))
		}
		if got := content.Fields.Fixed(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	var c Content
	part := value(source.Hash, "a", "1")
	part.Partial = true
	if c.Add(source.Hash, part); c.Fields.Fixed() {
		t.Error("fields of a part are all fields")
	}
	var twice Content // a stream's entry may have a field twice
	v := value(source.Stream, "a", "1", "a", "2", "b", "1")
	v.Ends = []int{4, 6}
	if twice.Add(source.Stream, v); twice.Fields.Values != 2 || twice.Fields.ByName["a"].N != 1 ||
		twice.Fields.ByName["b"].N != 1 {
		t.Errorf("%+v", twice.Fields.ByName["a"])
	}
	for name, want := range map[string]bool{"": false, "a": true, "_a": true,
		"1a": false, "a1b2c3": true, "a1234": false, "a-b.c": true, "a b": false, "é": false} {
		if IsName(name) != want {
			t.Errorf("%q is a name: %v", name, IsName(name))
		}
	}
}

// TestScores: the type of the scores of sorted sets, and whether they may be places or times in microseconds.
func TestScores(t *testing.T) {
	for _, c := range []struct {
		scores []float64
		want   string
	}{
		{nil, " false false"}, {[]float64{math.NaN()}, " false false"}, {[]float64{1, -5}, "int false false"},
		{[]float64{1, 1.5}, "float false false"},
		{[]float64{math.Inf(1), 1}, "float false false"}, {[]float64{1 << 53}, "float false false"},
		{[]float64{-(1 << 53)}, "float false false"},
		{[]float64{1.4e9, 4e9}, "unix_s false false"}, {[]float64{1.4e9, 4e9 + 1}, "int false false"},
		{[]float64{1.4e9 + 0.5}, "float false false"},
		{[]float64{1.4e12, 4e12}, "unix_ms false false"}, {[]float64{1.4e9, 1.4e12}, "int false false"},
		{[]float64{1 << 44, 1<<52 - 1}, "int true false"},
		{[]float64{1 << 52}, "int false false"}, {[]float64{1<<44 - 1}, "int false false"},
		{[]float64{1.42e15, 2.05e15}, "int true true"},
	} {
		var s Content
		s.Add(source.ZSet, &source.Value{Scores: c.scores})
		if got := fmt.Sprintf("%s %v %v", s.Scores.Type(), s.Scores.Geo(), s.Scores.Micros()); got != c.want {
			t.Errorf("%v: %s, and not %s", c.scores, got, c.want)
		}
	}
}

// summary returns what a content says.
func summary(c *Content) string {
	out := fmt.Sprintf("%s %s %s %d %d %d %d %d %v %v",
		c.Whole.Type(3), c.Member.Type(3), c.Scores.Type(), c.Largest, c.Objects, c.Sketches, c.Bits,
		c.Fields.Values, c.Fields.Fixed(), c.Whole.Negative)
	for _, name := range slices.Sorted(maps.Keys(c.Fields.ByName)) {
		out += fmt.Sprintf(" %s:%d:%s", name, c.Fields.ByName[name].N, c.Fields.ByName[name].Type())
	}
	return out
}

// TestMerge: what is known of some values and of others is what is known of all, in any order.
func TestMerge(t *testing.T) {
	random := gate.Rand(t)
	words := []string{"a", "b", "1", "-2", "1.5", "", "\xff", "true", "HYLLx", "2026-01-31",
		`{"a": 1}`, `{"b": "x", "a": null}`, "long long long long long long"}
	kinds := []source.Kind{source.String, source.Hash, source.Set, source.Stream, source.ZSet}
	for range 500 {
		parts := []*Content{{}, {}, {}}
		var all Content
		some := words[random.IntN(len(words)):]
		for range random.IntN(30) {
			kind := kinds[random.IntN(len(kinds))]
			v := value(kind, some[random.IntN(len(some))], some[random.IntN(len(some))])
			if kind == source.ZSet {
				v.Scores = []float64{float64(random.IntN(5)) / 2, math.NaN()}
			}
			all.Add(kind, v)
			parts[random.IntN(len(parts))].Add(kind, v)
		}
		random.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		var merged Content
		for _, p := range parts {
			merged.Merge(p)
		}
		if summary(&merged) != summary(&all) {
			t.Fatalf("merged: %s\n   all: %s", summary(&merged), summary(&all))
		}
	}
}
