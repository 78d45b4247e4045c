package shape

import (
	"maps"
	"testing"

	"github.com/keywright/keywright/internal/gate"
)

// TestTwoShapes: whether one of two keys is the other with values, with words, or with words of a naming scheme in
// the places of its placeholders.
func TestTwoShapes(t *testing.T) {
	for _, c := range []struct{ wide, narrow, want string }{
		{"user:{id}", "user:{id}", "same"}, {"user:{id}", "user:{x}", "same"}, {"user:{id}", "user:42", "same"},
		{"user:*", "user:{id}", "same"},
		{"user:{id}", "user:bob", "word words"}, {"user:{id}", "post:bob", ""}, {"user:{id}:x", "user:42", ""},
		{"user/{id}", "user:42", ""},
		{"user:{id}", "user:a-{x}", "covers"}, {"user:{id}", "user:bob-1", "covers word"},
		{"user:{}", "user:bob-1", "covers word"},
		{"user:{id}:{x}", "user:42:bob", "covers word words"}, {"user:{}:{}", "user:42:bob", "word words"},
		{"user:42:{x}", "user:{id}:bob", "words"},
		{"user:{type}", "user:admin", "word words scheme"}, {"user:{type}:{n}", "user:admin:{n}", "scheme"},
		{"user:{type}:{n}", "user:admin:5",
			"word scheme"},
		{"user:{type}", "user:{x}-a", "covers"}, {"user:42", "user:bob", "words"},
		{"{prefix}:user:{id}", "app:user:{x}", "covers scheme"},
		{"{prefix}:user:{id}", "app-{n}:user:{x}", "covers"}, {"{env}:user", "{x}:user", "same words"},
		{"{id}:user", "bob:user", ""},
		{"a:{x}:b:{y}", "a:q:b:{y}", ""}, {"a:{x}:b:{y}", "a:q:b:z", "word"}, {"ab", "ab", "same words"},
		{"a:b:{x}", "a:c:d", ""},
	} {
		w, n := parsed(t, c.wide), parsed(t, c.narrow)
		before := printed(&w) + printed(&n)
		got := ""
		for _, q := range []struct {
			name string
			is   bool
		}{{"same", w.Signature() == n.Signature()}, {"covers", w.Covers(&n)}, {"word", n.InstanceOfKey(&w)},
			{"words", len(w.Parts) == len(n.Parts) && n.DiffersAt(&w, len(w.Parts)-1)}, {"scheme", n.InstanceOf(&w)}} {
			if q.is {
				got += " " + q.name
			}
		}
		if got != " "+c.want && got != c.want {
			t.Errorf("%s and %s: %q, and not %q", c.wide, c.narrow, got, c.want)
		}
		if after := printed(&w) + printed(&n); after != before {
			t.Errorf("%s and %s: comparing changes them: %s", c.wide, c.narrow, after)
		}
	}
}

// TestNameHoles: a key takes the names and the types that another way of writing it has. A number is none where
// another value has letters.
func TestNameHoles(t *testing.T) {
	for _, c := range []struct{ one, other, want string }{
		{"user:{}", "user:{handle}", "user:{handle}"}, {"user:{id}", "user:{handle}", "user:{id}"},
		{"user:42", "user:{handle}", "user:{handle}"},
		{"user:{}", "user:%d", "user:{user_id} user_id=int"}, {"user:42", "user:%d", "user:{user_id} user_id=int"},
		{"user:abc123", "user:%d", "user:{user_id}"}, {"user:%d", "user:42", "user:{user_id} user_id=int"},
		{"user:%d", "user:abc123", "user:{user_id}"},
		{"user:%d", "user:{id:uuid}", "user:{id} id=int"}, {"day:{}", "day:2026-01-31", "day:{day} day=date"},
		{"a:{x}:{}", "a:{}:{y}", "a:{x}:{y}"},
	} {
		s, o := parsed(t, c.one), parsed(t, c.other)
		before := printed(&o)
		if s.NameHoles(&o); printed(&s) != c.want || printed(&o) != before {
			t.Errorf("%s of %s: %q, and not %q; %s", c.one, c.other, printed(&s), c.want, printed(&o))
		}
	}
	s, o := parsed(t, "user:42"), parsed(t, "user:{id}")
	if s.NameHoles(&o); s.Concrete() {
		t.Error("a value stays one beside a placeholder")
	}
}

// TestDoubt: a placeholder is no number where another mention has letters there.
func TestDoubt(t *testing.T) {
	for _, c := range []struct{ one, other, want string }{
		{"a:%d", "a:42", "a:{a_id} a_id=int"}, {"a:%d", "a:bob", "a:{a_id}"}, {"a:%d", "a:{x}", "a:{a_id} a_id=int"},
		{"a:b:%d", "a:b", "a:b:{b_id} b_id=int"},
		{"a:b%d", "a:b", "a:b{b_id} b_id=int"}, {"a:b%d", "a:b-1", "a:b{b_id} b_id=int"},
		{"a:{id:uuid}", "a:bob", "a:{id} id=uuid"},
	} {
		s, o := parsed(t, c.one), parsed(t, c.other)
		if s.Doubt(&o); printed(&s) != c.want {
			t.Errorf("%s beside %s: %q, and not %q", c.one, c.other, printed(&s), c.want)
		}
	}
}

// TestWiden: a number may have more digits than its format shows, but not where something follows it at once.
func TestWiden(t *testing.T) {
	for raw, want := range map[string]string{
		"a:%03d": "a:{a_id} a_id=/[0-9]{3,}/", "a:%03d:%02d": "a:{a_id}:{a_id_2} a_id=/[0-9]{3,}/ a_id_2=/[0-9]{2,}/",
		"a:%03db": "a:{a_id}b a_id=/[0-9]{3}/", "a:%d": "a:{a_id} a_id=int",
	} {
		s := parsed(t, raw)
		s.Widen()
		if printed(&s) != want {
			t.Errorf("%s: %q, and not %q", raw, printed(&s), want)
		}
	}
}

// TestNarrow: of two placeholders in a segment the first does not have the byte after it, so that the pattern is one.
func TestNarrow(t *testing.T) {
	for raw, want := range map[string]string{
		"a:{x}-{y}": `a:{x}-{y} x=/[^-:\/]+/`, "a:{x}.{y}": `a:{x}.{y} x=/[^\.:\/]+/`, "a:{x}": "a:{x}",
		"a:{x}b":        `a:{x}b x=/[^b:\/]+/`,
		"a:{x:int}-{y}": "a:{x}-{y} x=int", "a:{x}{y}": "a:{x}{y}",
		"a:{x}-{y}-{z}": `a:{x}-{y}-{z} x=/[^-:\/]+/ y=/[^-:\/]+/`,
	} {
		s := parsed(t, raw)
		s.Narrow()
		if printed(&s) != want {
			t.Errorf("%s: %q, and not %q", raw, printed(&s), want)
		}
		if text, types := s.Print(nil); Loads(text, types) != (raw != "a:{x}{y}") {
			t.Errorf("%s: %s %v is a pattern: %v", raw, text, types, raw == "a:{x}{y}")
		}
	}
}

// TestEnums: the words that a key has in the place of a placeholder are its values, each once, in order.
func TestEnums(t *testing.T) {
	s := parsed(t, "queue:{priority}")
	for _, c := range []struct {
		words []string
		want  map[string]string
	}{
		{nil, map[string]string{}}, {[]string{"high"}, map[string]string{}},
		{[]string{"low", "high", "low"}, map[string]string{"priority": "high|low"}},
	} {
		text, types := s.Print(map[int][]string{1: c.words})
		if text != "queue:{priority}" || !maps.Equal(types, c.want) || !Loads(text, types) {
			t.Errorf("%v: %s %v", c.words, text, types)
		}
	}
	if _, types := s.Print(map[int][]string{0: {"a", "b"}}); len(types) > 0 {
		t.Errorf("values of a word: %v", types)
	}
}

// TestLoads: a pattern is one of the language with the types that it has, and not with others.
func TestLoads(t *testing.T) {
	for _, c := range []struct {
		text  string
		types map[string]string
		want  bool
	}{
		{"user:{id}", nil, true}, {"user:{id}", map[string]string{"id": "uuid"}, true}, {"user:{id}{x}", nil, false},
		{"user:{", nil, false},
		{"user:{a}-{b}", nil, false}, {"user:{a}-{b}", map[string]string{"a": "int"}, true},
		{"user:{id}", map[string]string{"id": "nothing"}, true},
	} {
		if got := Loads(c.text, c.types); got != c.want {
			t.Errorf("%s %v: %v", c.text, c.types, got)
		}
	}
}

// TestPatternsAreKeys: a pattern that was printed is read back as the same key, and prints the same.
func TestPatternsAreKeys(t *testing.T) {
	random := gate.Rand(t)
	pieces := []string{"user", "a", "x_y", "{id}", "{}", "%d", "<a b>", "42", "2026-01-31", "-", "_", ".",
		":", ":", ":", "*", "USER_ID", "日"}
	for range 2_000 {
		raw := ""
		for range 1 + random.IntN(7) {
			raw += pieces[random.IntN(len(pieces))]
		}
		s, ok := Parse(raw)
		if !ok {
			continue
		}
		text, types := s.Print(nil)
		again, ok := Parse(text)
		if !ok || again.Signature() != s.Signature() {
			t.Fatalf("%s: %s is %v, another key", raw, text, ok)
		}
		if twice, _ := again.Print(nil); twice != text {
			t.Fatalf("%s: %s prints %s", raw, text, twice)
		}
		for name := range types {
			if types[name] == "" {
				t.Fatalf("%s: %v", raw, types)
			}
		}
	}
}

// TestSet: the words of a text, each once; the empty one has none.
func TestSet(t *testing.T) {
	if got := Set(" a b\ta "); !maps.Equal(got, map[string]bool{"a": true, "b": true}) || len(Set("")) != 0 {
		t.Error(got)
	}
	for text, want := range map[string]bool{"": true, "0": true, "0123456789": true, "1a": false, "-1": false,
		"１": false} {
		if AllDigits(text) != want {
			t.Errorf("%q: %v", text, AllDigits(text))
		}
	}
}
