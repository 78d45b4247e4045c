package match

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/keyspace/internal/automaton"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// listed writes conflicts as "A B witness", with = where the patterns have the same keys.
func listed(conflicts []Conflict) (out []string) {
	for _, c := range conflicts {
		equal := ""
		if c.Equal {
			equal = " ="
		}
		out = append(out, fmt.Sprintf("%d %d %s%s", c.A, c.B, c.Witness, equal))
	}
	return out
}

// TestWinners: which of several patterns owns a key, by rank, then by the narrower pattern, then by order; and which
// pairs are conflicts, in their order.
func TestWinners(t *testing.T) {
	for _, c := range []struct {
		name      string
		patterns  []string // "2 a:{id}": of rank 2
		key       string
		want      int
		conflicts []string
	}{
		{"alone", []string{"0 a:{id}"}, "a:1", 0, nil},
		{"none", []string{"0 a:{id}"}, "b:1", None, nil},
		{"the narrower is later", []string{"0 a:{id}", "0 a:{int}"}, "a:1", 1, nil},
		{"the narrower is first", []string{"0 a:{int}", "0 a:{id}"}, "a:1", 0, nil},
		{"only the wider matches", []string{"0 a:{int}", "0 a:{id}"}, "a:x", 1, nil},
		{"the narrowest of three", []string{"0 a:{id}", "0 a:{small}", "0 a:{int}"}, "a:12", 1, nil},
		{"rank before narrowness", []string{"1 a:{int}", "0 a:{id}"}, "a:1", 1, nil},
		{"a literal", []string{"0 a:{id}", "0 a:b"}, "a:b", 1, nil},
		{"the same keys", []string{"0 a:{id}", "0 a:{name}"}, "a:1", 0, []string{"0 1 a:1 ="}},
		{"the same keys in other words", []string{"0 {re}", "0 {#a}", "0 {abc}", "0 glob"}, "abc", 0, nil},
		{"neither is narrower", []string{"0 a:{id}", "0 {id}:b"}, "a:b", 0, []string{"0 1 a:b"}},
		{"neither, the other way round", []string{"0 {id}:b", "0 a:{id}"}, "a:b", 0, []string{"0 1 a:b"}},
		{"of other ranks", []string{"1 {id}:b", "0 a:{id}"}, "a:b", 1, nil},
		{"one within two that overlap", []string{"0 a:{id}", "0 {id}:b", "0 a:b"}, "a:b", 2, []string{"0 1 a:b"}},
		{"three that overlap", []string{"0 {id}:b:{x}", "0 a:{id}:{x}", "0 {id}:{x}:c"}, "a:b:c", 0,
			[]string{"0 1 a:b:1", "0 2 1:b:c", "1 2 a:1:c"}},
		{"a lower rank keeps conflicts from being found", []string{"0 a:b", "1 a:{id}", "1 {id}:b"}, "a:b", 0, nil},
		{"but not elsewhere", []string{"0 a:c", "1 a:{id}", "1 {id}:b"}, "a:b", 1, []string{"1 2 a:b"}},
	} {
		var in []Item
		for _, text := range c.patterns {
			p, err := pattern.Parse(text[2:], resolve)
			if err != nil {
				t.Fatal(err)
			}
			in = append(in, Item{p, int(text[0] - '0')})
		}
		given := slices.Clone(in)
		m, conflicts, err := Compile(in)
		if err != nil {
			t.Fatal(err)
		}
		got := listed(conflicts)
		for i, k := range conflicts { // a witness is any key of both
			for _, item := range []Item{in[k.A], in[k.B]} {
				if _, ok := item.Pattern.Match(k.Witness); !ok {
					t.Errorf("%s: %q is no key of %s", c.name, k.Witness, item.Pattern)
				}
			}
			if i < len(c.conflicts) && len(got[i]) == len(c.conflicts[i]) && got[i][:4] == c.conflicts[i][:4] {
				got[i] = c.conflicts[i]
			}
		}
		if id := m.Match([]byte(c.key), nil); id != c.want || !slices.Equal(got, c.conflicts) || !slices.Equal(in, given) {
			t.Errorf("%s: %d, conflicts %q", c.name, id, listed(conflicts))
		}
	}
}

// TestCaptures: where the placeholders lie, in segments of their own, beside literals, several in one, at the end of
// the key, and in the last segment that there may be.
func TestCaptures(t *testing.T) {
	most := strings.Repeat("s:", pattern.MaxSegments-1)
	var sixteen, values []string
	for i := range pattern.MaxPlaceholders {
		sixteen, values = append(sixteen, fmt.Sprintf("{v%d}", i)), append(values, fmt.Sprint(i))
	}
	for _, c := range []struct {
		pattern, key string
		want         []string
	}{
		{"a", "a", nil},
		{"{id}", "xyz", []string{"xyz"}},
		{"{id}:b", "x:b", []string{"x"}},
		{"a:{id}", "a:x", []string{"x"}},
		{"a:pre-{id}-post:b", "a:pre-x-post:b", []string{"x"}},
		{"{x}:{y}", "a:b", []string{"a", "b"}},
		{"{int}-{small}:{y}", "-1-7:b", []string{"-1", "7", "b"}},
		{"a:{rest}", "a:b:c:", []string{"b:c:"}},
		{"{x}:a{rest}", "b:ab:c", []string{"b", "b:c"}},
		{"{x}:a{int}-{rest}", "b:a7-b:c", []string{"b", "7", "b:c"}},
		{"{x}:{ts}:end", "b:2026-11-20T09:30:00Z:end", []string{"b", "2026-11-20T09:30:00Z"}},
		{"{x}:{ts}", "b:2026-11-20T09:30:00Z", []string{"b", "2026-11-20T09:30:00Z"}},
		{most + "{id}", most + "x", []string{"x"}},
		{most + "x{id}y", most + "xzy", []string{"z"}},
		{strings.Join(sixteen, ":"), strings.Join(values, ":"), values},
		{`a\x3a{id}\x3ab`, "a:x:b", []string{"x"}},
		{"{#{id}}:x", "{7}:x", []string{"7"}},
	} {
		in := items(t, c.pattern)
		m := compileItems(t, in)
		id, got := fast(m, c.key)
		if id != 0 || !slices.Equal(got, c.want) {
			t.Errorf("%.40s on %.40s: %d %q", c.pattern, c.key, id, got)
		}
		if again, _ := in[0].Pattern.Match([]byte(c.key)); !slices.Equal(again, c.want) {
			t.Errorf("%.40s by itself: %q", c.pattern, again)
		}
		if id := m.Match([]byte(c.key), nil); id != 0 {
			t.Errorf("%.40s without captures: %d", c.pattern, id)
		}
	}
	// What no item matches leaves the captures of the key before it, and a later one has its own.
	m := compileItems(t, items(t, "{x}:{y}", "one:{x}:{y}:{z}"))
	var c Captures
	for _, step := range []struct {
		key string
		n   int
	}{{"a:b", 2}, {"none", 2}, {"one:1:2:3", 3}, {"a:b", 2}} {
		if m.Match([]byte(step.key), &c); c.N != step.n {
			t.Errorf("%s: %d captures", step.key, c.N)
		}
	}
	if string(c.Of([]byte("a:b"), 1)) != "b" {
		t.Errorf("%q", c.Of([]byte("a:b"), 1))
	}
}

// TestWordsOfAllLengths: literal segments are found whatever their length, at the end of a key and inside it, and none
// is taken for one that differs in one byte, or by being longer or shorter.
func TestWordsOfAllLengths(t *testing.T) {
	var in []Item
	var words []string
	for n := range 41 {
		words = append(words, strings.Repeat("abcdefgh", 6)[:n])
	}
	for _, w := range words {
		in = append(in, items(t, "k:"+w+":end", "k:"+w)...)
	}
	m := compileItems(t, in)
	for i, w := range words {
		for key, want := range map[string]int{"k:" + w: 2*i + 1, "k:" + w + ":end": 2 * i} {
			if got := m.Match([]byte(key), nil); got != want {
				t.Errorf("%q is %d, not %d", key, got, want)
			}
		}
		for at := range len(w) {
			other := []byte(w)
			other[at] ^= 0x80
			for _, key := range []string{"k:" + string(other), "k:" + string(other) + ":end", "x" + "k:" + w} {
				if got := m.Match([]byte(key), nil); got != None {
					t.Errorf("%q is %d", key, got)
				}
			}
		}
	}
	long := strings.Repeat("x", 500)
	m = compileItems(t, items(t, long+"a:{id}", long+"b:{id}"))
	for end, want := range map[string]int{"a:1": 0, "b:1": 1, "c:1": None} {
		if got := m.Match([]byte(long+end), nil); got != want {
			t.Errorf("…%s is %d", end, got)
		}
	}
}

// TestTheSegmentInHand: where a segment ends, its first bytes and its hash are those of a slow reading, whatever is
// before and after it.
func TestTheSegmentInHand(t *testing.T) {
	for _, before := range []string{"", "a:", "abcdefg:", "abcdefgh:", "abcdefghijklmnop:"} {
		for n := range 30 {
			segment := strings.Repeat("zyxwvu\xff\x3b\x39\x00", 3)[:n]
			_, lo, hi, hash := segmentAt([]byte(segment), 0)
			for i, b := range []byte(segment[:min(n, 16)]) {
				if w := []uint64{lo, hi}[i/8]; byte(w>>(8*(i%8))) != b {
					t.Errorf("%q: byte %d of the words %x %x", segment, i, lo, hi)
				}
			}
			if n < 8 && lo>>(8*n) != 0 || n < 16 && n >= 8 && hi>>(8*(n-8)) != 0 || n <= 8 && hi != 0 {
				t.Errorf("%q: %x %x is not padded", segment, lo, hi)
			}
			for _, after := range []string{"", ":", ":b", ":bcdefghijk", "::"} {
				end, lo2, hi2, hash2 := segmentAt([]byte(before+segment+after), len(before))
				if end != len(before)+n || lo2 != lo || hi2 != hi || hash2 != hash {
					t.Errorf("%q in %q %q: ends at %d, %x %x %x, want %x %x %x", segment, before, after, end, lo2, hi2, hash2, lo,
						hi, hash)
				}
			}
		}
	}
}

// TestManyConflicts: of very many pairs only so many are compared, and every key has an owner all the same.
func TestManyConflicts(t *testing.T) {
	var in []Item
	for i := range 70 { // 2415 pairs
		in = append(in, items(t, fmt.Sprintf("a:{v%d}", i))...)
	}
	m, conflicts, err := Compile(in)
	if err != nil || len(conflicts) != MaxConflicts {
		t.Fatalf("%d conflicts, %v", len(conflicts), err)
	}
	if id := m.Match([]byte("a:x"), nil); id != 0 {
		t.Errorf("the owner is %d", id)
	}
	byItems := func(x, y Conflict) int { return slices.Compare([]int{x.A, x.B}, []int{y.A, y.B}) }
	if !slices.IsSortedFunc(conflicts, byItems) {
		t.Error("they are not sorted")
	}
}

// TestTooComplex: patterns that cannot be told apart within the limits are an error that names three of them, says how
// many more there are, and which limit it was.
func TestTooComplex(t *testing.T) {
	limit := &automaton.TooLargeError{What: "states", Limit: 7}
	for _, c := range []struct {
		cursors []cursor
		items   []int
		want    string
	}{
		{[]cursor{{item: 0}}, []int{0}, "a overlap in too many ways: needs more than 7 automaton states"},
		{[]cursor{{item: 2}, {item: 0}, {item: 2, segment: 1}}, []int{0, 2},
			"a, c overlap in too many ways: needs more than 7 automaton states"},
		{[]cursor{{item: 4}, {item: 3}, {item: 1}, {item: 0}, {item: 2}}, []int{0, 1, 2, 3, 4},
			"a, b, c and 2 more overlap in too many ways: needs more than 7 automaton states"},
	} {
		full := &compiler{items: items(t, "a", "b", "c", "d", "e"), queue: [][]cursor{nil, c.cursors}}
		err := full.tooComplex(1, limit)
		var complex *ComplexError
		if !errors.As(err, &complex) || !errors.Is(err, limit) || err.Error() != c.want ||
			!slices.Equal(complex.Items, c.items) {
			t.Errorf("%v, of %d", err, complex.Items)
		}
	}
}

// TestBoundsOfACompiler: each bound grows with the segments that there are, and says which it is.
func TestBoundsOfACompiler(t *testing.T) {
	for _, c := range []struct {
		what    string
		exceed  func(*compiler)
		message string
	}{
		{"states", func(c *compiler) { c.queue = make([][]cursor, maxStates+11) },
			"needs more than 20010 automaton states"},
		{"words", func(c *compiler) { c.words = make([]sealedWord, maxWords+21) },
			"needs more than 1000020 automaton words"},
		{"places", func(c *compiler) { c.cursors = maxCursors + 21 }, "needs more than 1000020 automaton places"},
	} {
		full := &compiler{total: 10}
		c.exceed(full)
		if err := full.bounded(); err == nil || err.Error() != c.message {
			t.Errorf("%s: %v", c.what, err)
		}
		full.total = 11
		if err := full.bounded(); err != nil {
			t.Errorf("%s, with one segment more: %v", c.what, err)
		}
	}
	counted := &compiler{routes: []route{{}, {segments: make([]segment, 3)}}}
	if counted.countSegments(); counted.total != 5 {
		t.Errorf("%d segments", counted.total)
	}
}

// TestClassifiers: what a segment is, by a classifier of several components, agrees with each of them; with a table of
// two bytes at once and without.
func TestClassifiers(t *testing.T) {
	var components []component
	names := []string{"int", "hex4", "enum", "re", "date", "short"}
	for _, name := range names {
		typ, ok := resolve(name)
		lang, err := typ.Key()
		if !ok || err != nil {
			t.Fatal(err)
		}
		n, err := automaton.Compile(lang.Expr)
		if err != nil {
			t.Fatal(err)
		}
		components = append(components, component{n, []int32{0}, true})
	}
	work := 0
	c, err := newClassifier(components, &work)
	if err != nil || work == 0 || c.anything {
		t.Fatal(work, err)
	}
	slow := *c
	slow.pairs = nil
	for _, segment := range []string{"", "a", "1", "12", "ab", "abc", "abcd", "1234", "12345", "high", "low", "user",
		"userx", "2026-11-20", "2026-13-20", "-1", "007", "\xff", "a:b", ":", "a1b2", "bad", "zzz"} {
		var in []string
		for _, r := range c.reached[c.label([]byte(segment))] {
			in = append(in, names[r.component])
		}
		var want []string
		for _, name := range names {
			typ, _ := resolve(name)
			if lang, _ := typ.Key(); lang.Accepts(segment) {
				want = append(want, name)
			}
		}
		if !slices.Equal(in, want) || slow.label([]byte(segment)) != c.label([]byte(segment)) {
			t.Errorf("%q is %q, want %q", segment, in, want)
		}
	}
	left := maxWork
	if _, err := newClassifier(components, &left); err == nil || err.Error() != "needs more than 5000000 automaton steps" {
		t.Errorf("without work left: %v", err)
	}
	text, _ := scalar.Type{}.Key()
	n, err := automaton.Compile(text.Expr)
	if err != nil {
		t.Fatal(err)
	}
	anything, err := newClassifier([]component{{n, []int32{0}, true}}, &work)
	if err != nil || !anything.anything || anything.label(nil) != 0 || anything.label([]byte("x")) != 1 {
		t.Error("text is not anything", err)
	}
}
