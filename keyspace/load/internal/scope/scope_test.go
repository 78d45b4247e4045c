package scope

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load/internal/node"
	"github.com/keywright/keywright/keyspace/scalar"
)

// opened returns a scope of files, a.yaml first, whose vars, namespaces and TTLs were read.
func opened(t testing.TB, names map[string]string, texts ...string) *Scope {
	t.Helper()
	s := New(fstest.MapFS{"s.json": {}}, names, MaxStates)
	for i, text := range texts {
		d := &Document{Reader: node.Reader{File: string(rune('a'+i)) + ".yaml", Dir: ".", Lines: strings.Split(text, "\n"),
			Out: &s.Findings}, Props: map[string]node.Property{}}
		root := d.Parse([]byte(text))
		if root == nil {
			t.Fatalf("%s: %v", text, s.Findings)
		}
		for _, p := range d.Mapping(root, "the file") {
			d.Props[p.Name] = p
		}
		s.Docs = append(s.Docs, d)
		s.KS.Files = append(s.KS.Files, keyspace.File{Name: d.File})
	}
	s.ReadVars()
	for i, d := range s.Docs {
		s.Namespace(d, i == 0)
	}
	for _, d := range s.Docs {
		s.ReadTTLs(d)
	}
	return s
}

// said writes the findings: file:line code message [fix].
func said(s *Scope) string {
	var out []string
	for _, f := range s.Findings {
		fix := ""
		if f.Fix != "" {
			fix = " [" + f.Fix + "]"
		}
		out = append(out, fmt.Sprintf("%s:%d %s %s%s", f.Pos.File, f.Pos.Line, f.Code, f.Message, fix))
	}
	return strings.Join(out, "\n")
}

// TestVars: what the vars of files mean, and what is said of those that do not.
func TestVars(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []string
		want  string // name=type, sorted
		said  string
	}{
		{"a type", []string{"vars: {a: int 1..5}"}, "a=int 1..5", ""},
		{"one var of another, declared later", []string{"vars: {a: b, b: int}"}, "a=int b=int", ""},
		{"in another file", []string{"vars: {a: b}", "vars: {b: uuid}"}, "a=uuid b=uuid", ""},
		{"of itself", []string{"vars: {a: a}"}, "a=text",
			`a.yaml:1 KW103 the type of a: "a" is neither a type nor a var`},
		{"in a circle", []string{"vars: {aaa: bbb, bbb: aaa}"}, "aaa=text bbb=text",
			`a.yaml:1 KW103 the type of bbb: "aaa" is neither a type nor a var`},
		{"twice, the same", []string{"vars: {a: int}", "vars: {a: int}"}, "a=int", ""},
		{"twice, another", []string{"vars: {a: int}", "vars: {a: uuid}"}, "a=int", "b.yaml:1 KW004 a means int at " +
			"a.yaml:1; " +
			"a placeholder means one thing in a declaration [give the two placeholders different names]"},
		{"a default", []string{"vars: {a: {type: low|high, default: low}}"}, "a=low|high default low", ""},
		{"another default", []string{"vars: {a: {type: l|h, default: l}}", "vars: {a: {type: l|h, default: h}}"},
			"a=l|h default l", `b.yaml:1 KW004 the default of a is "l" at a.yaml:1 [write the same default in both ` +
				`files, or in one]`},
		{"a default that it cannot be", []string{"vars: {a: {type: l|h, default: x}}"}, "a=l|h",
			`a.yaml:1 KW103 the default of a: "x" is not one of l, h [give one that a key may have]`},
		{"an empty one", []string{"vars: {a: {type: text, default: ''}}"}, "a=text",
			`a.yaml:1 KW103 the default of a: "" is empty, and a key has no such part [give one that a key may have]`},
		{"of a number", []string{"vars: {a: {type: int, default: '5'}}"}, "a=int", "a.yaml:1 KW103 the default of a: " +
			"a var of the type int has none, only one that is a text [leave the default out]"},
		{"no type", []string{"vars: {a: {default: x}}"}, "a=text", "a.yaml:1 KW006 the var a has no type [add type: …]"},
		{"the name of a type", []string{"vars: {uuid: int}"}, "",
			`a.yaml:1 KW010 "uuid" is the name of a type [choose another name]`},
		{"words that an enum had", []string{"vars: {a: {type: l|h, retired: [m]}}"}, "a=l|h less m", ""},
		{"of no enum", []string{"vars: {a: {type: int, retired: [m]}}"}, "a=int less m",
			"a.yaml:1 KW302 the var a is int, and only words of an enum are retired [remove it]"},
		{"a list", []string{"vars: {a: [l, h]}"}, "a=text", "a.yaml:1 KW005 the type of a must be text, not a " +
			"list [did you mean a: l|h?]"},
		{"a typo", []string{"vars: {a: itn}"}, "a=text", `a.yaml:1 KW103 the type of a: "itn" is neither a type ` +
			`nor a var [did you mean int?]`},
		{"a number", []string{"vars: {a: 5}"}, "a=text", `a.yaml:1 KW103 the type of a: "5" is neither a type nor a var`},
	} {
		s := opened(t, nil, c.files...)
		var got []string
		for _, name := range slices.Sorted(maps.Keys(s.Vars)) {
			v := s.Vars[name]
			text := name + "=" + v.Type.Definition()
			if v.Type.Default != "" {
				text += " default " + v.Type.Default
			}
			for _, r := range v.Retired {
				text += " less " + r.Name
			}
			got = append(got, text)
		}
		if strings.Join(got, " ") != c.want || said(s) != c.said {
			t.Errorf("%s: %s\n%s\nwant %s\n%s", c.name, strings.Join(got, " "), said(s), c.want, c.said)
		}
	}
}

// TestNamesOfTTLs: a ttl by its name, in place, and what is said of one that is neither.
func TestNamesOfTTLs(t *testing.T) {
	const file = "ttls: {short: 5m, other: none}\nuse: "
	for _, c := range []struct{ use, want, said string }{
		{"short", "5m", ""}, {"none", "none", ""}, {"90s", "90s", ""}, {"other", "none", ""}, {"any", "any", ""},
		{"shrt", "any", `a.yaml:2 KW201 "shrt" is neither a duration nor a name from ttls [did you mean short?]`},
		{"quite", "any", `a.yaml:2 KW201 "quite" is neither a duration nor a name from ttls ` +
			"[declare it under ttls, or write a duration like 30s, none or any]"},
		{"short sliding", "any", "a.yaml:2 KW201 nothing may follow short [declare another one under ttls that says so]"},
		{"none ever", "any", "a.yaml:2 KW201 nothing may follow none [declare another one under ttls that says so]"},
	} {
		s := opened(t, nil, file+c.use)
		ttl := s.TTL(s.Docs[0], s.Docs[0].Props["use"].Value)
		same := ttl.Text == c.want || c.want == "90s" && ttl.Default == 90*time.Second
		if !same || said(s) != c.said || ttl.Pos.Line != 2 {
			t.Errorf("%s: %s at %v\n%s", c.use, ttl.Text, ttl.Pos, said(s))
		}
		if used := s.TTLs["short"].Used; used != (c.use == "short") {
			t.Errorf("%s: short is used: %t", c.use, used)
		}
	}
	for _, c := range []struct {
		files []string
		said  string
	}{
		{[]string{"ttls: {a: 5m}", "ttls: {a: 5m}"}, ""},
		{[]string{"ttls: {a: 5m}", "ttls: {a: 6m}"}, "b.yaml:1 KW004 the ttl a is 5m at a.yaml:1 [rename one of them]"},
		{[]string{"ttls: {none: 5m}"}, `a.yaml:1 KW010 "none" has a meaning of its own as a ttl [choose another name]`},
		{[]string{"ttls: {a: [5m]}"}, "a.yaml:1 KW005 ttl must be text, not a list"},
	} {
		if s := opened(t, nil, c.files...); said(s) != c.said {
			t.Errorf("%q: %s", c.files, said(s))
		}
	}
	if ttl := AtMost(time.Minute); ttl.Policy != keyspace.TTLExpires || ttl.Max != time.Minute || ttl.Text != "1m" {
		t.Errorf("%+v", ttl)
	}
}

// TestNamespaces: the namespace of each file, in effect or not, and the patterns and globs in it.
func TestNamespaces(t *testing.T) {
	for _, c := range []struct {
		name                       string
		file                       string
		chosen                     map[string]string
		key, former, glob, foreign string // of app:{x}, old:{x}, app:*, other:*
		said                       string
	}{
		{"none", "x: 1", nil, "app:{x}", "old:{x}", "app:*", "other:*", ""},
		{"as declared", "namespace: app", nil, "app:{x}", "old:{x}", "app:*", "other:*", ""},
		{"another one", "namespace: app", map[string]string{"app": "test"}, "test:{x}", "-", "test:*", "other:*", ""},
		{"before there were any", "namespace: app", map[string]string{"app": "-"}, "app:{x}", "old:{x}", "app:*",
			"other:*", ""},
		{"outside", "namespace: you", nil, "app:{x}", "old:{x}", "-", "other:*",
			"a.yaml:2 KW107 the key is outside of the namespace you: two programs with different namespaces would share it " +
				"[begin it with you:]\n" +
				`a.yaml:4 KW107 the glob "app:*" of owns reaches outside of the namespace you [begin it with you:]`},
		{"no name", "namespace: 'a:b'", nil, "app:{x}", "old:{x}", "app:*", "other:*",
			`a.yaml:1 KW107 the namespace "a:b" has a byte that is no letter, digit, - or _ [as in namespace: poppo]`},
		{"no default", "namespace: {names: slug}", nil, "app:{x}", "old:{x}", "app:*", "other:*",
			"a.yaml:1 KW006 the namespace has no default [add default: …, the name that the patterns of the file begin with]"},
		{"names that none can have", "namespace: {default: app, names: 'app|a.b'}", nil, "app:{x}", "old:{x}",
			"app:*", "other:*",
			`a.yaml:1 KW107 the namespace "a.b" has a byte that is no letter, digit, - or _ [letters, digits, - and _]`},
	} {
		s := opened(t, c.chosen, c.file+"\nkey: 'app:{x}'\nformer: 'old:{x}'\nglob: 'app:*'\nforeign: 'other:*'")
		d := s.Docs[0]
		of := func(p fmt.Stringer, ok bool) string {
			if !ok {
				return "-"
			}
			return p.String()
		}
		key := s.Pattern(d, d.Props["key"].Value, "the key", nil)
		former := s.Former(d, d.Props["former"].Value, "the former key")
		glob, ok := d.Glob(d.Props["glob"].Value, "owns")
		foreign, there := d.Glob(d.Props["foreign"].Value, "foreign")
		got := []string{of(key, key != nil), of(former, former != nil), of(glob.Pattern, ok), of(foreign.Pattern, there)}
		if want := []string{c.key, c.former, c.glob, c.foreign}; !slices.Equal(got, want) || said(s) != c.said {
			t.Errorf("%s: %q\n%s\nwant %q\n%s", c.name, got, said(s), want, c.said)
		}
	}
	s := opened(t, nil, "namespace: {default: app, names: app|test|dev}", "namespace: {default: app, names: "+
		"app|test}", "x: 1")
	if want := "b.yaml:1 KW004 the namespace app has other names at a.yaml:1 [write the same names in both " +
		"files]"; said(s) != want ||
		len(s.KS.Spaces) != 1 || s.Docs[2].Space != s.KS.Spaces[0] {
		t.Errorf("%s, %d", said(s), len(s.KS.Spaces))
	}
	s.Spaces()
	s.Spaces()
	var foreign []string
	for _, g := range s.KS.Foreign {
		foreign = append(foreign, g.Text)
	}
	if !slices.Equal(foreign, []string{"test:*", "dev:*"}) || s.KS.Inside[0].Text != "app:*" {
		t.Errorf("%q, inside %v", foreign, s.KS.Inside)
	}
	typed := opened(t, nil, "namespace: {default: app, names: slug}")
	if typed.Spaces(); len(typed.KS.Siblings) != 1 || typed.KS.Siblings[0].Text != "other namespaces of app" {
		t.Errorf("%v", typed.KS.Siblings)
	}
}

// TestPatternsAndTypes: faults of patterns, globs and types at their places, with the way out.
func TestPatternsAndTypes(t *testing.T) {
	pattern := func(s *Scope, d *Document, n *yaml.Node) bool { return s.Pattern(d, n, "the key", nil) != nil }
	glob := func(s *Scope, d *Document, n *yaml.Node) bool { _, ok := d.Glob(n, "owns"); return ok }
	typ := func(s *Scope, d *Document, n *yaml.Node) bool { _, ok := s.TypeOf(d, n, "the type"); return ok }
	for _, c := range []struct {
		text string
		read func(*Scope, *Document, *yaml.Node) bool
		ok   bool
		said string
	}{
		{"'a:{x}'", pattern, true, ""},
		{"5", pattern, false, `a.yaml:1 KW005 the key must be text, and YAML reads 5 as a number [quote it: "5"]`},
		{"'a:{x'", pattern, false, `a.yaml:1 KW101 the key: the placeholder has no closing }; a literal brace is ` +
			`written \{ [did you mean a:{x}?]`},
		{"'a:{'", pattern, false, `a.yaml:1 KW101 the key: the placeholder has no closing }; a literal brace is written \{`},
		{"'{x}-{y}'", pattern, false, `a.yaml:1 KW102 the key: a key like "a--a" can be read in two ways; give ` +
			`the placeholders ` +
			`types that cannot hold what is between them [did you mean vars: x: /[^:\-]+/?]`},
		{"'a*'", glob, true, ""}, {"'a:{x}*'", glob, true, `a.yaml:1 KW104 "a:{x}*" is a glob and has no placeholders: ` +
			`{ is a literal brace here [write * where the placeholder is, as in poppo:temp:*; a literal brace is written \{]`},
		{`'a\{b\\*'`, glob, true, ""},
		{"''", glob, false, "a.yaml:1 KW104 the glob cannot be used: a glob has 1 to 1024 bytes, not 0"},
		{"json s.json", typ, true, ""}, {"json s.json#/a", typ, true, ""},
		{"json t.json", typ, false, "a.yaml:1 KW308 the type: the schema file t.json does not exist [create it, " +
			"or write json without a file]"},
		{"json ../t.json", typ, false, "a.yaml:1 KW308 the type: the schema file ../t.json leads outside of the " +
			"declaration's folder " +
			"[name a file below the folder of the first file, relative to this one]"},
		{"int 5", typ, false, `a.yaml:1 KW103 the type: "5" is not a range; expected one like 1..5, 0.. or ..9 ` +
			`[did you mean 0..5?]`},
		{"string", typ, false, `a.yaml:1 KW103 the type: "string" is neither a type nor a var [did you mean text?]`},
	} {
		s := opened(t, nil, "a: "+c.text)
		ok := c.read(s, s.Docs[0], s.Docs[0].Props["a"].Value)
		if ok != c.ok && !strings.Contains(c.said, "KW308") || said(s) != c.said {
			t.Errorf("%s: %t\n%s\nwant\n%s", c.text, ok, said(s), c.said)
		}
	}
}

// TestRoom: how much of a declaration is read: beyond each limit it is said once, and no more is read.
func TestRoom(t *testing.T) {
	const alone = "[divide it into declarations of their own: each is checked, and generates code, alone]"
	s := opened(t, nil, "a: 'a:{x}'")
	at := keyspace.Pos{File: "a.yaml", Line: 1}
	if !s.AffordsPatterns(at, MaxPatterns) || s.AffordsPatterns(at, 1) || s.AffordsPatterns(at, 1) || !s.Over {
		t.Error("patterns")
	}
	if want := "a.yaml:1 KW008 a declaration has at most 20000 patterns, with those that constructs and old " +
		"names add " + alone; said(s) != want {
		t.Error(said(s))
	}
	if p := s.Pattern(s.Docs[0], s.Docs[0].Props["a"].Value, "the key", nil); p != nil {
		t.Errorf("%s is read", p)
	}
	s = opened(t, nil, "a: 1")
	words := scalar.Type{Kind: scalar.Enum, Values: []string{strings.Repeat("x", MaxEnumBytes/4-1)}}
	s.spells(at, 4, words)
	s.spells(at, 0, words)
	s.spells(at, 9, scalar.Type{})
	if s.Over {
		t.Error("as many words as there may be")
	}
	if s.spells(at, 1, words); !s.Over || !strings.Contains(said(s), "at most 4194304 bytes of words of enums") {
		t.Error(said(s))
	}
	s = New(fstest.MapFS{}, nil, 10)
	few, many := scalar.Type{Kind: scalar.Regexp, Expr: "a"}, scalar.Type{Kind: scalar.Regexp, Expr: "a{20}"}
	if !s.affords(few) || !s.affords(scalar.Type{}) || s.affords(many) || !s.affords(few) ||
		s.affords(scalar.Type{Kind: scalar.Regexp, Expr: "b"}) {
		t.Errorf("%d states are left", s.room)
	}
}

// TestTakenNames: a name of a kind is taken once, and one that is not there is said, with the nearest.
func TestTakenNames(t *testing.T) {
	s := opened(t, nil, "user: 1\norder: 2", "user: 3")
	for _, d := range s.Docs {
		for _, name := range []string{"user", "order"} {
			if p, ok := d.Props[name]; ok {
				s.Take(d, "entry", p)
				s.Take(d, "event of "+d.File, p)
			}
		}
	}
	set := s.Declared("entry")
	s.MustKnow(set, "user", keyspace.Pos{})
	s.MustKnow(set, "usre", keyspace.Pos{File: "a.yaml", Line: 7})
	s.MustKnow(set, "other", keyspace.Pos{File: "a.yaml", Line: 8})
	want := `b.yaml:1 KW004 the entry "user" is already declared at a.yaml:1 [rename one of them]` + "\n" +
		`a.yaml:7 KW301 there is no entry "usre" [did you mean user?]` + "\n" +
		`a.yaml:8 KW301 there is no entry "other" [did you mean order?]`
	if got := said(s); strings.ReplaceAll(got, "[declare it, or remove the name]", "[did you mean order?]") != want ||
		!slices.Equal(set.sorted, []string{"order", "user"}) {
		t.Errorf("%s, %q", got, set.sorted)
	}
	if s.Order("b.yaml") != 1 || s.Order("c.yaml") != -1 {
		t.Error("the order of the files")
	}
}
