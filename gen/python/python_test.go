package python

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright/gen/portable"
	declaration "github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
)

var update = flag.Bool("update", false, "write the golden file")

var loaded = declaration.Clean[string]

// generated returns the module of a declaration, without what all modules have.
func generated(t *testing.T, ks *keyspace.Keyspace) string {
	return declaration.Generator(Generate).Module(t, ks, runtime)
}

// TestGolden shows a whole module. Write it with -update.
func TestGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/small.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got := generated(t, loaded(t, string(text)))
	if *update {
		if err := os.WriteFile("testdata/small.golden", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/small.golden")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

func TestNamesThatMeet(t *testing.T) {
	got := generated(t, loaded(t, `keywright: 1
keys:
  a_b: {key: "1:{x_y}:{xY}:{id}:{self}:{class}", type: string, ttl: none}
  a__b: {key: "3:{x}", type: string, ttl: none}
  class: {key: "4", type: string, ttl: none}
  id: {key: "5:{x}", type: string, ttl: none}
  key: {key: "6:{x}", type: string, ttl: none}
  all_keys: {key: "7", type: string, ttl: none}
  annotations: {key: "8", type: string, ttl: none}
`))
	for _, want := range []string{"keyspace.py\n", "\na_b = _AB(", "\na_b2 = _AB2(", "class ABParams2(",
		"\nclass_ = _Class(", "\nid_ = _Id(", "\nkey = _Key(", "\nall_keys = ", "\nannotations_ = ",
		"def key(self, *, x_y: str, x_y2: str, id_: str, self_: str, class_: str) -> str:", `"a__b": a_b2,`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestEmpty(t *testing.T) {
	if got := generated(t, &keyspace.Keyspace{Package: "import"}); !strings.HasPrefix(got, "import_.py\n") ||
		!strings.Contains(got, "ALL_KEYS: _t.Dict[str, Key] = {}\n") {
		t.Error(got)
	}
}

// TestPrivateNamesCannotBeTaken: what the module keeps to itself begins with an
// underscore, and the rest with a capital letter, which no variable of a
// declaration does.
func TestPrivateNamesCannotBeTaken(t *testing.T) {
	names := declared(runtime)
	for _, n := range names {
		if r := n[0]; r != '_' && (r < 'A' || r > 'Z') && n != "annotations" {
			t.Errorf("an entry may be called %s too", n)
		}
	}
	if len(names) < 20 {
		t.Errorf("only %d names were found: the search is broken", len(names))
	}
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"a": `"a"`, `"\`: `"\"\\"`, "\n\x00\u2028": `"\U0000000a\U00000000\U00002028"`, "한글 {x}'": `"한글 {x}'"`,
		"\xff": `"\U0000fffd"`, "\u202e": `"\U0000202e"`,
	} {
		if got := quote(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
	if got, want := quoteBytes("a\"\\\xff\n\u00e9"), `b"a\"\\\xff\x0a\xc3\xa9"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDocstring(t *testing.T) {
	for text, want := range map[string]string{
		"a": "\"\"\"a\"\"\"\n", `"""`: `"""\"\"\""""` + "\n", `\`: `"""\\"""` + "\n", "a\n\nb": "\"\"\"a\n\n  b\n  \"\"\"\n",
		"a\rb\x00": "\"\"\"a b\"\"\"\n",
	} {
		var b strings.Builder
		docstring(&b, "  ", []string{text})
		if got := strings.TrimPrefix(b.String(), "  "); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestTypes(t *testing.T) {
	for text, want := range map[string][2]string{ // in a key, as a value
		"text": {"str", "str"}, "int": {"int", "int"}, "bool": {"bool", "bool"}, "bytes": {"bytes", "bytes"},
		"a|b":     {`_t.Literal["a", "b"]`, `_t.Literal["a", "b"]`},
		"unix_ms": {"int", "_dt.datetime"}, "date": {"str", "_dt.date"}, "date YYYYMMDD-HH": {"str", "_dt.datetime"},
		"timestamp": {"str", "_dt.datetime"}, "float": {"str", "float"},
	} {
		typ, err := scalar.Parse(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		ks := loaded(t, "keywright: 1\nvars: {x: \""+text+"\"}\nkeys:\n  a: {key: \"a:{x}\", type: string, ttl: none}\n")
		place := portable.Places(portable.Steps(ks.Keys[0].Pattern))[0]
		if got := [2]string{placeType(place), valueType(typ)}; got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}
