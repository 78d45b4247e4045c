package pattern

import (
	"strings"
	"testing"

	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/keyspace/scalar"
)

// TestNamespaceNames: what may be the name of a namespace, and why not.
func TestNamespaceNames(t *testing.T) {
	const bytes = "has a byte that is no letter, digit, - or _"
	for name, want := range map[string]string{
		"a": "", "Z9-_": "", "0": "", strings.Repeat("x", 64): "", "": "is empty",
		strings.Repeat("x", 65): "is longer than 64 bytes", "a:b": bytes, "a{": bytes, "é": bytes, "a b": bytes,
		"a\x00": bytes, "a/": bytes, "a@": bytes, "[": bytes, "`": bytes, "a.b": bytes,
	} {
		if got := NamespaceName(name); got != want {
			t.Errorf("%q %s, want %q", name, got, want)
		}
	}
	for b := range 256 {
		word := strings.Contains("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", string([]byte{byte(b)}))
		if NamespaceByte(byte(b)) != word {
			t.Errorf("byte %d", b)
		}
	}
}

// TestMoved: the namespace at the beginning and at the beginning of the hash tag is replaced, nothing else. The keys of
// the moved pattern are those of the pattern with the name replaced, which its elements say too.
func TestMoved(t *testing.T) {
	for _, c := range []struct{ text, want, elements string }{
		{"app:{x}", "other:{x}", `namespace "app" ":" x(text)@4`},
		{"app_{x}", "", ""}, {"app", "", ""}, {"app{x}", "", ""}, {"apple:{x}", "", ""}, {"a:app:{x}", "", ""},
		{"app*", "", ""}, {"app?x", "", ""}, {"app[ab]", "", ""}, {`app\{x\}`, "", ""},
		{"app.lock", "other.lock", `namespace "app" ".lock"`},
		{"app:{#app:lock:{n}}:fence", "other:{#other:lock:{n}}:fence",
			`namespace "app" ":{" namespace "app" ":lock:" n(int)@15# "}:fence"`},
		{"app:{#app}", "other:{#other}", `namespace "app" ":{" namespace "app" "}"`},
		{"app:{#apple:{n}}", "other:{#apple:{n}}", `namespace "app" ":{apple:" n(int)@12# "}"`},
		{"app:{n}:{#app:x}", "other:{n}:{#app:x}", `namespace "app" ":" n(int)@4# ":{app:x}"`},
		{`app:\{x:{#app:y}`, `other:\{x:{#app:y}`, `namespace "app" ":{x:{app:y}"`},
		{`app:\x7b{#app:y}`, `other:\x7b{#app:y}`, `namespace "app" ":{{app:y}"`},
		{`app:\x7B{#app:y}`, `other:\x7B{#app:y}`, `namespace "app" ":{{app:y}"`},
		{`app:\\{#app:y}`, `other:\\{#other:y}`, `namespace "app" ":\\{" namespace "app" ":y}"`},
		{`app:\}{#app:y}`, `other:\}{#other:y}`, `namespace "app" ":}{" namespace "app" ":y}"`},
		{`app:\x7d\xff{#app:y}`, `other:\x7d\xff{#other:y}`, `namespace "app" ":}\xff{" namespace "app" ":y}"`},
		{"app:", "other:", `namespace "app" ":"`},
	} {
		want := c.want
		if want == "" {
			want = c.text
		}
		if got := Moved(c.text, "app", "other"); got != want {
			t.Errorf("%s moved: %s", c.text, got)
		}
		if InNamespace(c.text, "app") != (c.want != "") {
			t.Errorf("%s is in the namespace: %t", c.text, c.want == "")
		}
		p := parse(t, c.text)
		named := &Pattern{elems: p.Namespaced("app"), places: p.places}
		if c.elements != "" && shape(named) != c.elements {
			t.Errorf("%s: %s", c.text, shape(named))
		}
		for i, e := range named.elems {
			if e.Namespace {
				named.elems[i].Literal = "other"
			}
		}
		moved := parse(t, want)
		if got, want := spelt(named), spelt(moved); got != want {
			t.Errorf("%s: the elements say %s, the text %s", c.text, got, want)
		}
		if c.want == "" && shape(named) != shape(p) {
			t.Errorf("%s: %s", c.text, shape(named))
		}
	}
	if got := Moved("app:*", "app", "o"); got != "o:*" {
		t.Errorf("a glob: %s", got)
	}
	if g := glob(t, "app:*"); shape(&Pattern{elems: g.Namespaced("app")}) != `"app:" wild!` {
		t.Error("a glob has elements of a namespace")
	}
}

// spelt joins what literals and names of placeholders say.
func spelt(p *Pattern) string {
	var b strings.Builder
	for _, e := range p.elems {
		if b.WriteString(e.Literal); e.Placeholder >= 0 {
			b.WriteString("{" + p.places[e.Placeholder].Name + "}")
		}
	}
	return b.String()
}

// TestNamespaces: the keys of all namespaces are those that begin with a name and a byte that ends it.
func TestNamespaces(t *testing.T) {
	for typ, keys := range map[string]map[string]bool{
		"a|b-c": {"a:": true, "a:x:y": true, "b-c:x": true, "a": false, "ab:x": false, "a-:x": false, "b:x": false,
			"a\xff": true, "": false, ":": false, "a{x": true},
		"/[a-z]+/": {"abc:x": true, "abc_x:y": false, "abc.x": true, "A:x": false},
		"slug":     {"a_b-c:x": true, "A:b": false},
		"text":     {"A-9_z:x": true, "é:x": false, ":x": false, "a b": true},
	} {
		names, err := scalar.Parse(typ, nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Namespaces(names)
		if err != nil || p.String() != "{namespace}:*" || !p.IsGlob() {
			t.Fatalf("%s: %v", p, err)
		}
		for key, want := range keys {
			if p.matches([]byte(key)) != want {
				t.Errorf("%s: %q: %t", typ, key, !want)
			}
		}
	}
	if _, err := Namespaces(scalar.Type{Kind: scalar.JSON}); err == nil || err.Error() != "json cannot be part of a key" {
		t.Errorf("%v", err)
	}
}

// TestDeriveIn: a derived key is in the namespace and in the slot of its main key.
func TestDeriveIn(t *testing.T) {
	const brace = "a key in the same cluster slot cannot be derived from a pattern with a literal brace outside a hash tag"
	for _, c := range []struct{ text, namespace, want string }{
		{"app:lock:{n}", "app", "app:{#app:lock:{n}}:fence"},
		{"app:lock:{n}", "", "{#app:lock:{n}}:fence"},
		{"app:{#{n}}", "app", "app:{#{n}}:fence"},
		{"app:{#{n}}", "", "app:{#{n}}:fence"},
		{`a\{{n}\}`, "app", `a\{{n}\}:fence`},
		{`a\{{n}`, "", brace}, {`a\}{n}`, "app", brace}, {`\{\}{n}`, "app", brace}, {`\x7b{n}`, "", brace},
		{"a:{rest}", "app", `{rest} is text rest and must be the last thing in the pattern, but "}:fence" follows`},
		{"a:" + strings.Repeat("x", 1013), "", "a"},
		{"a:" + strings.Repeat("x", 1014), "", "the pattern has 1025 bytes; the limit is 1024"},
		{"a:" + strings.Repeat("x", 1012), "app", "the pattern has 1027 bytes; the limit is 1024"},
		{strings.Repeat(":", 63) + "{n}", "", "the pattern has 65 segments; the limit is 64"},
	} {
		p := parse(t, c.text)
		d, err := p.DeriveIn(c.namespace, "fence")
		if err != nil {
			if err.Error() != c.want {
				t.Errorf("%.40s in %q: %v", c.text, c.namespace, err)
			}
			continue
		}
		if c.want != "a" && d.String() != c.want || !p.SameSlot(d) || !d.SameSlot(p) {
			t.Errorf("%.40s in %q: %.40s", c.text, c.namespace, d)
		}
		var values []string
		for range p.Placeholders() {
			values = append(values, "7")
		}
		a, err1 := p.Build(values...)
		b, err2 := d.Build(values...)
		if err1 != nil || err2 != nil || slot.Of(a) != slot.Of(b) {
			t.Errorf("%q and %q: %v %v", a, b, err1, err2)
		}
	}
}

// TestSlotsOfTwo: which patterns share a slot for sure, and which of them only seem to.
func TestSlotsOfTwo(t *testing.T) {
	other := func(name string) (scalar.Type, bool) { // x is another type
		typ, err := scalar.Parse("int", nil)
		return typ, name == "x" && err == nil
	}
	for _, c := range []struct {
		a, b *Pattern
		same bool
	}{
		{parse(t, "{#a}:{x}"), parse(t, "b:{#a}:{n}"), true},
		{parse(t, "{#a}:{x}"), parse(t, `b:\{a\}:{n}`), true},
		{parse(t, "{#a}:{x}"), parse(t, "a"), true},
		{parse(t, "{#a{n}}"), parse(t, "a{n}"), true},
		{parse(t, "{#a{n}}"), parse(t, "b{n}"), false},
		{parse(t, "{#{n}a}"), parse(t, "{#{n}}a"), false},
		{parse(t, "{#{x}}:a"), MustParse("{#{x}}:b", other), false},
		{parse(t, "{#{x}}:a"), parse(t, "{#x}:a"), false},
		{parse(t, `\{\}{#a}`), parse(t, "{#a}"), false},
		{parse(t, `{#a}\{b\}`), parse(t, "{#a}"), true},
		{glob(t, "{a}:x"), glob(t, "{a}:x"), false},
		{parse(t, "a"), glob(t, "a"), false},
		{glob(t, "a"), parse(t, "a"), false},
	} {
		if c.a.SameSlot(c.b) != c.same || c.b.SameSlot(c.a) != c.same {
			t.Errorf("%s and %s: %t", c.a, c.b, !c.same)
		}
	}
	for text, want := range map[string]string{"{#a{x}b}:{n}": "a{x}b", `\{a:{x}\}`: "a:{x}", "{x}:{#{n}-{m}}y": "{n}-{m}",
		`\{{x}`: "", `{x}\}`: "", `\}\{a\}`: "a", `\{\}\{a\}`: "", "a": ""} {
		if tag, ok := parse(t, text).HashTag(); tag != want || ok != (want != "") {
			t.Errorf("%s: %q %t", text, tag, ok)
		}
	}
}
