package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/source"
	"pgregory.net/rapid"
)

// parts returns a value in parts of so many elements; 0: in one.
func parts(name string, kind source.Kind, size int, elements ...string) (out []source.Content) {
	list := make([][]byte, len(elements))
	for i, e := range elements {
		list[i] = []byte(e)
	}
	if size == 0 {
		size = max(len(list), 1)
	}
	for from := 0; from == 0 || from < len(list); from += size {
		to := min(from+size, len(list))
		out = append(out, source.Content{Name: []byte(name), Kind: kind, Elements: list[from:to], Part: from / size,
			More: to < len(list)})
	}
	return out
}

// fact takes the parts of one value.
func fact(t interface{ Fatalf(string, ...any) }, all []source.Content) Fact {
	var facts Facts
	for i := range all {
		f, done, err := facts.Take(&all[i], "id")
		if err != nil || done != (i == len(all)-1) {
			t.Fatalf("part %d: done %t, %v", i, done, err)
		}
		if done {
			return f
		}
	}
	return Fact{}
}

// TestOneValueOneFact: a value has one fact in whatever parts it comes and, where it has no order, in whatever order;
// another value has another one.
func TestOneValueOneFact(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		kind := rapid.SampledFrom([]source.Kind{source.String, source.List, source.Set, source.Hash,
			source.ZSet}).Draw(t, "kind")
		var pairs [][2]string
		for i := range rapid.IntRange(1, 8).Draw(t, "pairs") {
			pairs = append(pairs, [2]string{fmt.Sprint("m", i), fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "score"))})
		}
		flat := func(pairs [][2]string) (out []string) {
			for _, p := range pairs {
				out = append(out, p[0], p[1])
			}
			return out
		}
		elements := flat(pairs)
		f := fact(t, parts("k", kind, 0, elements...))
		if g := fact(t, parts("k", kind, 2*rapid.IntRange(1, 4).Draw(t, "size"),
			elements...)); !f.SameValue(&g) || f.Sum() != g.Sum() {
			t.Fatalf("%s %q in parts: %+v, not %+v", kind, elements, g, f)
		}
		other := flat(rapid.Permutation(pairs).Draw(t, "order"))
		ordered := kind == source.String || kind == source.List
		if g := fact(t, parts("k", kind, 0, other...)); f.SameValue(&g) != (!ordered || slices.Equal(other, elements)) {
			t.Fatalf("%s %q and %q: %+v and %+v", kind, elements, other, f, g)
		}
		more := append(slices.Clone(elements), "x", "5")
		changed := slices.Clone(elements)
		changed[len(changed)-1] += "1"
		for _, another := range [][]string{more, changed, elements[:len(elements)-2]} {
			if g := fact(t, parts("k", kind, 0, another...)); f.SameValue(&g) || f.Sum() == g.Sum() {
				t.Fatalf("%s %q is %q", kind, elements, another)
			}
		}
	})
	same := func(kind source.Kind, a, b []string) bool {
		x, y := fact(t, parts("k", kind, 0, a...)), fact(t, parts("k", kind, 0, b...))
		return x.SameValue(&y)
	}
	for _, c := range []struct {
		kind source.Kind
		a, b []string
		same bool
	}{
		{source.ZSet, []string{"m", "1.50"}, []string{"m", "1.5"}, true},
		{source.ZSet, []string{"m", "-0"}, []string{"m", "0"}, true},
		{source.ZSet, []string{"m", "inf"}, []string{"m", "+Inf"}, true},
		{source.ZSet, []string{"m", "1"}, []string{"m", "2"}, false},
		{source.Hash, []string{"f", "1.50"}, []string{"f", "1.5"}, false},
		{source.Hash, []string{"ab", "c"}, []string{"a", "bc"}, false},
		{source.String, []string{"ab", "c"}, []string{"a", "bc"}, true},
		{source.List, []string{"ab", "c"}, []string{"a", "bc"}, false},
		{source.List, []string{"a", "a"}, []string{"a"}, false}, {source.Set, []string{"a", "b"}, []string{"b", "a"}, true},
		{source.Stream, []string{"{}"}, []string{`{"max_deleted":"0-0"}`}, true},
		{source.Stream, []string{`{"groups":[{"name":"YQ=="},{"name":"Yg=="}]}`},
			[]string{`{"groups":[{"name":"Yg=="},{"name":"YQ=="}]}`}, true},
		{source.Stream, []string{`{"groups":[{"name":"YQ=="}]}`}, []string{"{}"}, false},
		{source.Stream, []string{`{"groups":[{"name":"YQ==","consumers":["Yw=="]}]}`},
			[]string{`{"groups":[{"name":"YQ=="}]}`}, false},
		{source.Stream, []string{`{"groups":[{"name":"YQ==","pending":[{"id":"1-1","idle":5}]}]}`},
			[]string{`{"groups":[{"name":"YQ==","pending":[{"id":"1-1","idle":9}]}]}`}, true},
		{source.Stream, []string{`{"groups":[{"name":"YQ==","pending":[{"id":"1-1","deliveries":5}]}]}`},
			[]string{`{"groups":[{"name":"YQ==","pending":[{"id":"1-1","deliveries":9}]}]}`}, false},
		{source.Stream, []string{`{"last_id":"1-1"}`}, []string{`{"last_id":"1-2"}`}, false},
	} {
		if same(c.kind, c.a, c.b) != c.same {
			t.Errorf("%s: %q and %q are the same: %t", c.kind, c.a, c.b, !c.same)
		}
	}
}

// TestPartsThatDoNotFit: parts that lack one, half an element, or are of another kind are an error of the value; a
// first part again begins it again.
func TestPartsThatDoNotFit(t *testing.T) {
	of := func(kind source.Kind, part int, more bool, elements ...string) source.Content {
		c := parts("k", kind, 0, elements...)[0]
		c.Part, c.More = part, more
		return c
	}
	const follow = "its parts do not follow one another"
	const half = "a part of the value has half an element"
	for _, c := range []struct {
		name  string
		parts []source.Content
		err   string
	}{
		{"one that lacks", []source.Content{of(source.List, 0, true, "a"), of(source.List, 2, false, "b")}, follow},
		{"not the first", []source.Content{of(source.List, 1, false, "a")}, follow},
		{"of another kind", []source.Content{of(source.List, 0, true, "a"), of(source.Set, 1, false, "b")}, follow},
		{"one again", []source.Content{of(source.List, 0, true, "a"), of(source.List, 1, true, "b"), of(source.List,
			1, false, "b")}, follow},
		{"begun again", []source.Content{of(source.List, 0, true, "x"), of(source.List, 0, true, "a"), of(source.List,
			1, false, "b")}, ""},
		{"half a field", []source.Content{of(source.Hash, 0, true, "f"), of(source.Hash, 1, false, "v")}, half},
		{"a word for a score", []source.Content{of(source.ZSet, 0, false, "m", "x")},
			`a score that is no number: strconv.ParseFloat: parsing "x": invalid syntax`},
		{"an entry without its number", []source.Content{of(source.Stream, 0, true, "1-1"), of(source.Stream, 1,
			false, "{}")}, half},
		{"an entry cut short", []source.Content{of(source.Stream, 0, true, "1-1", "2", "f"), of(source.Stream, 1,
			false, "{}")}, half},
		{"less than none", []source.Content{of(source.Stream, 0, true, "1-1", "-2"), of(source.Stream, 1, false,
			"{}")}, half},
		{"an entry", []source.Content{of(source.Stream, 0, true, "1-1", "2", "f", "v"), of(source.Stream, 1, false,
			"{}")}, ""},
		{"a stream without its state", []source.Content{of(source.Stream, 0, false, "1-1", "0")},
			"the last part of a stream has no state"},
		{"a module", []source.Content{of(source.Module, 0, false, "x")}, "its type cannot be compared in parts: a module's type"},
		{"lost", []source.Content{of(source.List, 0, true, "a"), {Name: []byte("k"), Lost: "it went away"}}, "it went away"},
	} {
		var facts Facts
		for i := range c.parts {
			_, done, err := facts.Take(&c.parts[i], "id")
			message := ""
			if err != nil {
				message = err.Error()
			}
			if last := i == len(c.parts)-1; done != last || last && message != c.err || !last && err != nil {
				t.Errorf("%s, part %d: done %t, %v", c.name, i, done, err)
			}
		}
		if len(facts.begun) > 0 {
			t.Errorf("%s: %d values are begun still", c.name, len(facts.begun))
		}
	}
	var facts Facts
	for i := range maxBegun + 1 {
		_, done, err := facts.Take(&source.Content{Kind: source.Set, More: true}, fmt.Sprint(i))
		if done || (err != nil) != (i == maxBegun) {
			t.Fatalf("value %d: %v", i, err)
		}
	}
}

// read is a side of these contents, whose bytes are used again as soon as they were taken.
func read(contents ...[]source.Content) *Once {
	return &Once{Taken: func() int64 { return 1000 }, Read: func(_ context.Context, each func([]source.Content) error) (
		source.Summary, error) {
		for _, batch := range contents {
			mine := slices.Clone(batch)
			for i := range mine {
				mine[i].Name = slices.Clone(mine[i].Name)
			}
			if err := each(mine); err != nil {
				return source.Summary{}, err
			}
			for i := range mine {
				clear(mine[i].Name)
			}
		}
		return source.Summary{}, nil
	}}
}

// TestTwoThatAreReadOnce: what is the same at two sides, what differs and how, with the names as they are at each side.
func TestTwoThatAreReadOnce(t *testing.T) {
	expiring := func(c []source.Content, at int64) []source.Content { c[len(c)-1].Expires = at; return c }
	torn := parts("torn", source.Set, 0, "a")
	torn[0].Torn = true
	a := read(parts("same", source.Set, 1, "a", "b"), parts("missing", source.List, 0, "a"), parts("type",
		source.Set, 0, "a"),
		parts("value", source.String, 0, "a"), expiring(parts("ttl", source.String, 0, "a"), 5000),
		expiring(parts("past", source.String, 0, "a"), 1000), torn, parts("broken", source.Hash, 0, "f"))
	b := read(parts("same", source.Set, 0, "b", "a"), parts("type", source.List, 0, "a"), parts("value",
		source.String, 0, "b"),
		expiring(parts("ttl", source.String, 0, "a"), 6000), parts("extra", source.String, 0, "a"), parts("torn",
			source.Set, 0, "a"),
		expiring(parts("gone", source.String, 0, "a"), 1), parts("not meant", source.String, 0, "a"))
	var each []string
	report, err := Run(t.Context(), a, b, Options{
		Meant: func(name []byte) (int, bool, bool) { return len(name) % 2, false, string(name) != "not meant" },
		Each: func(d Difference) error {
			each = append(each, fmt.Sprintf("%s %s %s %d", d.What, d.Key.Name, d.AtB.Name, d.Entry))
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, d := range report.Named {
		named = append(named, fmt.Sprintf("%s %s %s %d", d.What, d.Key.Name, d.AtB.Name, d.Entry))
	}
	slices.Sort(named)
	slices.Sort(each)
	want := []string{"extra extra extra 1", "missing missing missing 1", "ttl ttl ttl 1", "type type type 0",
		"unclear broken broken 0", "value value value 1"}
	if !slices.Equal(named, want) || !slices.Equal(each, want) {
		t.Errorf("named %q\neach %q\nwant %q", named, each, want)
	}
	f := report.Figures
	of := report.Entries
	if f.Differ() != 6 || f.Same != 2 || f.Expired != 2 || f.Keys != 10 || of[0].Keys+of[1].Keys != 10 {
		t.Errorf("%+v", f)
	}
	enough := errors.New("enough")
	if _, err := Run(t.Context(), read(parts("x", source.Set, 0, "a")), read(), Options{
		Each: func(Difference) error { return enough }}); !errors.Is(err, enough) {
		t.Errorf("%v", err)
	}
	known, err := Run(t.Context(), read(), read(), Options{Known: map[int]int64{3: 7}})
	if err != nil || known.Same != 7 || known.Entries[3].Same != 7 || known.Keys != 7 {
		t.Errorf("%+v %v", known, err)
	}
}

// TestLibrariesOfTwo: which libraries of functions are the same, missing, alone or other ones.
func TestLibrariesOfTwo(t *testing.T) {
	lib := func(name string, sum byte) source.LibraryFact {
		return source.LibraryFact{Name: name, Sum: [32]byte{sum}}
	}
	l := OfLibraries([]source.LibraryFact{lib("same", 1), lib("z", 1), lib("a", 1), lib("other", 1)},
		[]source.LibraryFact{lib("other", 2), lib("y", 1), lib("same", 1), lib("b", 1)})
	if got := fmt.Sprintf("%+v %d", l, l.Differ()); got != "{Same:1 Missing:[a z] Extra:[b y] Different:[other]} 5" {
		t.Error(got)
	}
	l.Scatter([]string{"same", "a", "other"})
	if got := fmt.Sprintf("%+v", l); got != "{Same:0 Missing:[a z] Extra:[b y] Different:[other same]}" {
		t.Error(got)
	}
}
