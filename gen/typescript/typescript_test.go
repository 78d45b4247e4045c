package typescript

import (
	"flag"
	"os"
	"slices"
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
  a_b: {key: "1:{x_y}:{xY}", type: string, ttl: none}
  ab: {key: "2", type: string, ttl: none}
  a__b: {key: "3:{x}", type: string, ttl: none}
  class: {key: "4", type: string, ttl: none}
  key: {key: "5:{x}", type: string, ttl: none}
  all_keys: {key: "6", type: string, ttl: none}
`))
	for _, want := range []string{"keyspace.ts\n", "const aB:", "const ab:", "const aB2:", "interface ABParams2 {",
		"const class2:", "const key:", "interface KeyParams {", "const allKeys2:",
		"readonly xY: string;", "readonly xY2: string;", `["a__b", aB2],`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func TestEmpty(t *testing.T) {
	if got := generated(t, &keyspace.Keyspace{}); !strings.Contains(got,
		"allKeys: ReadonlyMap<string, AnyKey> = new Map<string, AnyKey>([\n]);") {
		t.Error(got)
	}
}

// TestPrivateNamesCannotBeTaken: what the module does not export begins with $,
// which no name of a declaration does.
func TestPrivateNamesCannotBeTaken(t *testing.T) {
	exported := strings.Count(runtime, "\nexport ")
	names := declared(runtime)
	public := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return strings.HasPrefix(n, "$") })
	if len(names) < 30 ||
		len(public) != exported+len([]string{"allKeys", "allChannels", "atob", "btoa", "TextEncoder", "TextDecoder"}) {
		t.Errorf("%d names, %d of them public, %d exported: %q", len(names), len(public), exported, public)
	}
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"a": `"a"`, `"\`: `"\"\\"`, "\n\x00\u2028": `"\u{a}\u{0}\u{2028}"`, "한글 ${x}`": "\"한글 ${x}`\"", "\xff": `"\u{fffd}"`,
		"\u202e": `"\u{202e}"`, "😀\u00ad": `"😀\u{ad}"`,
	} {
		if got := quote(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
	if got := bytesOrText("a\xff"); got != "[97, 255]" {
		t.Error(got)
	}
	for name, want := range map[string]string{"a": "a", "aB_1": "aB_1", "": `""`, "1a": `"1a"`, "a b": `"a b"`,
		"constructor": `"constructor"`, "__proto__": `"__proto__"`, "é": `"é"`} {
		if got := property(name); got != want {
			t.Errorf("%q is %s, want %s", name, got, want)
		}
	}
}

func TestComment(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a": "/** a */\n", "a\nb": "/**\n * a\n * b\n */\n", "*/ x": "/** * / x */\n",
		"@ts-nocheck": "/** \\@ts-nocheck */\n", "a\n\nb": "/**\n * a\n *\n * b\n */\n",
	} {
		var b strings.Builder
		comment(&b, "", []string{text})
		if b.String() != want {
			t.Errorf("%q is %q, want %q", text, b.String(), want)
		}
	}
}

func TestTypes(t *testing.T) {
	for text, want := range map[string][2]string{ // in a key, as a value
		"text": {"string", "string"}, "int": {"number | bigint", "number | bigint"}, "int 1..5": {"number", "number"},
		"bool": {"boolean", "boolean"}, "bytes": {"Uint8Array", "Uint8Array"},
		"a|b": {`"a" | "b"`, `"a" | "b"`}, "unix_ms": {"number", "Date"}, "date": {"string", "Date"},
		"timestamp": {"string", "Date"}, "float": {"string", "number"}, "uuid": {"string", "string"},
	} {
		typ, err := scalar.Parse(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		ks := loaded(t, "keywright: 1\nvars: {x: "+text+"}\nkeys:\n  a: {key: \"a:{x}\", type: string, ttl: none}\n")
		place := portable.Places(portable.Steps(ks.Keys[0].Pattern))[0]
		if got := [2]string{outType(place), valueType(typ)}; got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}
