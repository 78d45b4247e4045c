package splice_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/infer/internal/splice"
)

// TestInsert: lines are added at the end of a section, with its indent, before the comments of the next one; a
// section that is not there is made where sections of its kind are. What was there stays, and YAML reads it as
// before.
func TestInsert(t *testing.T) {
	keys := []string{"  new:", "    key: b"}
	for _, c := range []struct {
		name, text, section string
		added               []string
		want                string
	}{
		{"empty", "", "keys", keys, "\n\nkeys:\n  new:\n    key: b"},
		{"end", "keys:\n  old:\n    key: a", "keys", keys, "keys:\n  old:\n    key: a\n  new:\n    key: b"},
		{"indent", "keys:\n    old:\n        key: a\n", "keys",
			keys, "keys:\n    old:\n        key: a\n    new:\n      key: b\n"},
		{"no entries", "keys:\n", "keys", append([]string{""}, keys...), "keys:\n  new:\n    key: b\n"},
		{"only a comment", "keys:\n  # none\nx: 1", "keys", keys, "keys:\n  # none\n  new:\n    key: b\nx: 1"},
		{"braces", "keys: {}  # none\nx: 1", "keys", keys, "keys:  # none\n  new:\n    key: b\nx: 1"},
		{"brackets", "foreign: []\nx: 1", "foreign", []string{"  - a"}, "foreign:\n  - a\nx: 1"},
		{"comment", "keys: # all\n  old: 1\n\n# of x\nx: 1", "keys",
			keys, "keys: # all\n  old: 1\n  new:\n    key: b\n\n# of x\nx: 1"},
		{"list", "foreign:\n- a\n\nkeys: {}", "foreign", []string{"  - b"}, "foreign:\n- a\n- b\n\nkeys: {}"},
		{"made", "a: 1\nkeys: {}", "foreign", []string{"  - b"}, "a: 1\n\nforeign:\n  - b\n\nkeys: {}"},
		{"made before vars", "a: 1\n\n# of vars\nvars: {}\nkeys: {}", "foreign", []string{"  - b"},
			"a: 1\n\nforeign:\n  - b\n\n# of vars\nvars: {}\nkeys: {}"},
		{"made first", "keys: {}", "vars", []string{"  v: int"}, "\nvars:\n  v: int\n\nkeys: {}"},
		{"made last", "foreign: []\n", "vars", []string{"  v: int"}, "foreign: []\n\n\nvars:\n  v: int"},
		{"text like a section", "doc: |\n  keys:\n   x\nkeys:\n  old: 1", "keys",
			keys, "doc: |\n  keys:\n   x\nkeys:\n  old: 1\n  new:\n    key: b"},
		{"flow list", "foreign: [a, 'b]']  # c", "foreign", []string{"  - d", `  - "e"  # f`},
			`foreign: [a, 'b]', d, "e"]  # c`},
		{"empty flow list", "foreign: [ ]", "foreign", []string{"  - d"}, "foreign: [d ]"},
		{"flow list with a comma", "foreign: [a,]", "foreign", []string{"  - d"}, "foreign: [a, d]"},
		{"flow list of lines", "foreign: [a, # ]\n  b\n  ]\nx: 1", "foreign", []string{"  - d"},
			"foreign: [a, # ]\n  b, d\n  ]\nx: 1"},
		{"flow mapping", `vars: {a: "x\"}", b: {c: 1}}`, "vars", []string{"  v: a|b", `  w: "int"`},
			`vars: {a: "x\"}", b: {c: 1}, v: "a|b", w: "int"}`},
		{"flow quote in a word", "foreign: [it's, b]", "foreign", []string{"  - d"}, "foreign: [it's, b, d]"},
		{"flow doubled quote", "foreign: ['a'']', b]", "foreign", []string{"  - d"}, "foreign: ['a'']', b, d]"},
	} {
		lines := strings.Split(c.text, "\n")
		added := slices.Clone(c.added)
		got, err := splice.Insert(lines, c.section, added)
		if text := strings.Join(got, "\n"); err != nil || text != c.want {
			t.Errorf("%s: %v\n%q, and not\n%q", c.name, err, text, c.want)
		} else if !splice.Extends([]byte(c.text), []byte(text)) {
			t.Errorf("%s: what was there is another", c.name)
		}
		if !slices.Equal(added, c.added) {
			t.Errorf("%s: the lines to add are changed: %q", c.name, added)
		}
	}
}

// TestNoPlace: a declaration in braces, or a section whose name is in quotes, is not added to; nor is what is no
// YAML.
func TestNoPlace(t *testing.T) {
	for text, want := range map[string]error{
		"{keys: {a: 1}}": splice.ErrFlow, "keys: {a: 1}": splice.ErrFlow, "keys: text": splice.ErrFlow,
		"\"keys\":\n  a: 1": splice.ErrFlow,
		"'keys':\n  a: 1":   splice.ErrFlow, "keys:\n\ta: 1": splice.ErrPlaces, "keys: [": splice.ErrPlaces,
		"a: 1\na: 2\n- b": splice.ErrPlaces,
	} {
		if got, err := splice.Insert(strings.Split(text, "\n"), "keys",
			[]string{"  b: 1"}); !errors.Is(err, want) || got != nil {
			t.Errorf("%q: %q, %v, and not %v", text, got, err, want)
		}
	}
	if _, err := splice.Insert([]string{"vars: text"}, "vars", []string{"  b: int"}); !errors.Is(err, splice.ErrFlow) {
		t.Errorf("a word for vars: %v", err)
	}
}

// TestExtends: a declaration extends another that it has all of, if it has more only in the sections that grow.
func TestExtends(t *testing.T) {
	for _, c := range []struct {
		old, merged string
		want        bool
	}{
		{"", "", false}, {"", "keys: {}", true}, {"keys: {a: 1}", "keys: {a: 1}", true},
		{"keys: {a: 1}", "keys:\n  a: 1\n  b: 2", true},
		{"keys: {a: 1}", "keys: {b: 2, a: 1}", false}, {"keys: {a: 1}", "keys: {a: 2}", false},
		{"keys: {a: 1}", "keys: {}", false},
		{"keys: {a: 1}", "x: 1", false}, {"keys:", "keys: {a: 1}", true}, {"x:", "x: {a: 1}", false},
		{"x: [a]", "x: [a, b]", false},
		{"foreign: [a]", "foreign: [a, b]", true}, {"foreign: [a]", "foreign: {a: 1}", false},
		{"keys: {a: 1}", "keys: {a: '1'}", false},
		{"keys: {a: {b: 1}}", "keys: {a: {b: 1, c: 1}}", false}, {"x: 1", "y: 2\nx: 1", true}, {"x: [", "x: 1", false},
		{"x: 1", "x: [", false},
	} {
		if got := splice.Extends([]byte(c.old), []byte(c.merged)); got != c.want {
			t.Errorf("%q and %q: %v", c.old, c.merged, got)
		}
	}
}

// TestQuoted: a text between quotes is one line of ASCII signs and letters that YAML reads back; the second of two #
// is escaped.
func TestQuoted(t *testing.T) {
	for text, want := range map[string]string{
		"": `""`, "a": `"a"`, `a"b\c`: `"a\"b\\c"`, "a\nb\x00\x7f": `"a\u000ab\u0000\u007f"`, "é日": `"é日"`,
		"\u200b": `"\u200b"`, "\u2028": `"\u2028"`,
		"\U000e0001": `"\U000e0001"`, "#": `"#"`, "##[x": `"#\u0023[x"`, "###": `"#\u0023\u0023"`, "a#b": `"a#b"`,
	} {
		if got := splice.Quoted(text); got != want {
			t.Errorf("%q: %s, and not %s", text, got, want)
		}
	}
}
