package golang_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/gen"
	"github.com/keywright/keywright/gen/conformance"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/scalar"
)

// question represents a text that the generated code of a key is asked about.
type question struct {
	Key  string `json:"key"`
	Text []byte `json:"text"`
}

type answer struct {
	OK    bool   `json:"ok"`
	Built []byte `json:"built"`
	Err   string `json:"err"`
}

// TestGeneratedCodeAgreesWithPatterns: for many texts the generated parser says
// yes where the pattern matches, and the generated builder makes the same bytes
// of what was parsed. It is the test that compiles every type, too.
func TestGeneratedCodeAgreesWithPatterns(t *testing.T) {
	ks := declare(t, strings.Replace(everyType(), "  z1:", hard+"  z1:", 1))
	for _, dir := range []string{"shop", "harca", "cunningbot", "poppobuilder", "githubbroker", "realworld"} {
		more := loaded(t, "../../examples/"+dir, "keyspace.yaml")
		for _, k := range more.Keys {
			k.Name = dir + "_" + k.Name
		}
		ks.Keys = append(ks.Keys, more.Keys...)
	}
	random := rand.New(rand.NewPCG(1, 2))
	var questions []question
	for _, k := range ks.Keys {
		for range 60 {
			questions = append(questions, question{k.Name, sample(random, k)})
		}
	}
	questions = append(questions, vectors(t, ks)...)
	answers := ask(t, ks, questions)
	yes := map[string]int{}
	for i, q := range questions {
		_, k := ks.Lookup(q.Key)
		if k == nil {
			for _, other := range ks.Keys {
				if other.Name == q.Key {
					k = other
				}
			}
		}
		values, want := k.Pattern.Match(q.Text)
		if k.Entry.Construct == keyspace.Entity {
			want = want && !slices.ContainsFunc(ks.Narrower(k),
				func(n *keyspace.Key) bool { _, is := n.Pattern.Match(q.Text); return is })
		}
		a := answers[i]
		switch {
		case want && !a.OK && beyond(k, values): // more than 64 bits, or a float in a spelling of its own
		case want != a.OK:
			t.Errorf("%s (%s): %q: the pattern says %t, the generated code %t", q.Key, k.Pattern, q.Text, want, a.OK)
		case a.OK && strings.Contains(a.Err, "is the zero time"): // the first day of the year 1, which Go cannot tell from no time
		case a.OK && (!bytes.Equal(a.Built, q.Text) || a.Err != ""):
			t.Errorf("%s: %q is built as %q %s", q.Key, q.Text, a.Built, a.Err)
		case a.OK:
			yes[q.Key]++
		}
	}
	for _, k := range ks.Keys {
		if len(k.Pattern.Placeholders()) > 0 && yes[k.Name] == 0 {
			t.Errorf("%s: no text was a key: the test shows nothing", k.Name)
		}
	}
}

// TestKeysOfNarrowerPatterns: the key of an item, or of an index, is none that a narrower pattern has; in a namespace
// the code for it compiles.
func TestKeysOfNarrowerPatterns(t *testing.T) {
	const declaration = `keywright: 1
package: every
owner: o
vars: {id: text, kind: slug, n: int 0.., word: low|high}
keys:
  memo:
    {key: "m:{id}", type: entity, ttl: 1h, fields: {kind: kind}, index: {kind: "m:kind:{kind}", expires: "m:expiry"}}
  lines: {key: "m:kind:lines", type: list, ttl: none}
  row: {key: "m:r{n}", type: list, ttl: none}
  pair: {key: "m:p{word}{n}", type: list, ttl: none}
`
	ks := declare(t, declaration)
	index := ks.Entries[0].Index[0].Key.Name
	var questions []question
	var want []bool
	for _, c := range []struct {
		key, text string
		is        bool
	}{
		{"memo", "m:x", true}, {"memo", "m:expiry", false}, {"memo", "m:r7", false}, {"memo", "m:r", true},
		{"memo", "m:plow7", false}, {"memo", "m:plow", true}, {index, "m:kind:x", true}, {index, "m:kind:lines", false},
		{"lines", "m:kind:lines", true}, {"row", "m:r7", true},
	} {
		questions, want = append(questions, question{c.key, []byte(c.text)}), append(want, c.is)
	}
	for i, a := range ask(t, ks, questions) {
		if a.OK != want[i] || a.Err != "" || a.OK && string(a.Built) != string(questions[i].Text) {
			t.Errorf("%s: %s: %+v", questions[i].Key, questions[i].Text, a)
		}
	}
	compile(t, map[string][]byte{"narrower": generate(t, declare(t,
		strings.Replace(declaration, "vars:", "namespace: {default: m, names: \"m|n\"}\nvars:", 1)))})
}

// vectors returns the texts that TypeScript and Python are asked about, too: keys,
// and texts that are almost keys.
func vectors(t *testing.T, ks *keyspace.Keyspace) []question {
	t.Helper()
	files, err := conformance.Generate(ks)
	must(t, err)
	var set conformance.File
	must(t, json.Unmarshal(files[0].Text, &set))
	var out []question
	for _, k := range set.Keys {
		add := func(text conformance.Bytes) { out = append(out, question{k.Name, []byte(text)}) }
		for _, v := range append(k.Build, k.Parse...) {
			add(v.Key)
		}
		for _, text := range append(k.RejectParse, k.NotText...) {
			add(text)
		}
	}
	if len(out) < 1000 {
		t.Errorf("only %d vectors", len(out))
	}
	return out
}

// hard are patterns whose placeholders do not end at a fixed byte.
const hard = `  x1: {key: "x1-{a}-{b}", type: string, ttl: 1d}
  x2: {key: "x2:{word}{n}", type: string, ttl: 1d}
  x3: {key: "x3:{u}{n}:{tail}", type: string, ttl: 1d}
  x4: {key: "x4:{#{t1}}:{t2}:end:end", type: string, ttl: 1d}
  x5: {key: "{t2}:x5", type: string, ttl: 1d}
  x6: {key: "x6{d}{n}z", type: string, ttl: 1d}
`

// sample returns a key of the pattern, or something close to one.
func sample(random *rand.Rand, k *keyspace.Key) []byte {
	values := make([]string, 0, 4)
	for _, p := range k.Pattern.Placeholders() {
		values = append(values, sampleValue(random, p.Type))
	}
	key, err := k.Pattern.Build(values...)
	if err != nil {
		key = k.Pattern.Example()
	}
	key = bytes.Clone(key)
	switch at := random.IntN(len(key)); random.IntN(6) {
	case 0:
		key[at] = "09:-{}az_ \xff"[random.IntN(11)]
	case 1:
		key = append(key[:at], key[at+1:]...)
	case 2:
		key = append(key[:at], append([]byte{"019:-az+."[random.IntN(9)]}, key[at:]...)...)
	}
	return key
}

func sampleValue(random *rand.Rand, t scalar.Type) string {
	switch t.Kind {
	case scalar.Int:
		low, high := int64(-1000), int64(100_000)
		if t.HasMin {
			low = t.Low
		}
		if t.HasMax {
			high = t.High
		}
		return fmt.Sprint(low + random.Int64N(max(high-low, 0)+1))
	case scalar.Text, scalar.Bytes:
		return []string{"a", "a-b", "héé", "x y", "ab:cd", "{x}", "\xff\xfe", strings.Repeat("z", 80)}[random.IntN(8)]
	case scalar.Float:
		return []string{"0", "-0", "1.5", "-12.25", "0.1", "100000000000000000000", "3.00000000000000000001"}[random.IntN(7)]
	case scalar.Enum:
		return t.Values[random.IntN(len(t.Values))]
	case scalar.Slug:
		return []string{"a", "blue-shirt", "0", "a_b"}[random.IntN(4)]
	case scalar.UnixMS, scalar.UnixS:
		return fmt.Sprint(random.Int64N(99_999_999_999))
	case scalar.Bool:
		return []string{"true", "false"}[random.IntN(2)]
	}
	return t.Example()
}

// beyond reports whether a value is one that the Go types cannot hold exactly.
func beyond(k *keyspace.Key, values []string) bool {
	for i, p := range k.Pattern.Placeholders() {
		if p.Type.Kind == scalar.Float || p.Type.Kind == scalar.Int && len(values[i]) > 18 {
			return true
		}
	}
	return false
}

// ask compiles a program with the generated code and lets it answer.
func ask(t *testing.T, ks *keyspace.Keyspace, questions []question) []answer {
	t.Helper()
	text := generate(t, ks)
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	must(t, err)
	overlay := map[string]string{}
	put := func(name string, text []byte) {
		file := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		must(t, os.WriteFile(file, text, 0o600))
		overlay[filepath.Join(root, "internal", "zz_generated", name)] = file
	}
	put("every/every.go", text)
	put("main.go", []byte(driver(ks, string(text))))
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "overlay.json"), list, 0o600))
	program := filepath.Join(dir, "program")
	build := exec.Command("go", "build", "-gcflags=github.com/keywright/keywright/internal/zz_generated/...=-N -l",
		"-ldflags=-s -w", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, "./internal/zz_generated")
	build.Dir, build.Env = root, append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.4000s", err, out)
	}
	in, err := json.Marshal(questions)
	must(t, err)
	run := exec.Command(program)
	run.Stdin = bytes.NewReader(in)
	out, err := run.Output()
	must(t, err)
	var answers []answer
	must(t, json.Unmarshal(out, &answers))
	if len(answers) != len(questions) {
		t.Fatalf("%d answers to %d questions", len(answers), len(questions))
	}
	return answers
}

var must = expect.NoError

// driver returns a program that parses and builds for each question.
func driver(ks *keyspace.Keyspace, code string) string {
	var b strings.Builder
	b.WriteString(
		"package main\n\nimport " +
			"(\n\"encoding/json\"\n\"fmt\"\n\"os\"\n\n\"github.com/keywright/keywright/internal/zz_generated/every\"\n)\n\nvar ask = map[string]func(string) (string, bool, error){\n")
	names := functionNames(code)
	for i, k := range ks.Keys {
		n := len(k.Pattern.Placeholders())
		if n == 0 {
			fmt.Fprintf(&b,
				"%q: func(text string) (string, bool, error) { s, err := every.%sKey(); return s, s == text, err },\n", k.Name,
				names[i])
			continue
		}
		var list []string
		for j := range n {
			list = append(list, fmt.Sprintf("a%d", j))
		}
		args := strings.Join(list, ", ")
		fmt.Fprintf(&b,
			"%q: func(text string) (string, bool, error) { %s, ok := every.Parse%sKey(text); if !ok { return \"\", false, nil "+
				"}; s, err := every.%sKey(%s); return s, true, err },\n", k.Name, args, names[i], names[i], args)
	}
	b.WriteString(`}

func main() {
	var questions []struct { Key string; Text []byte }
	if err := json.NewDecoder(os.Stdin).Decode(&questions); err != nil { panic(err) }
	type answer struct { OK bool; Built []byte; Err string }
	out := make([]answer, len(questions))
	for i, q := range questions {
		s, ok, err := ask[q.Key](string(q.Text))
		out[i] = answer{OK: ok, Built: []byte(s)}
		if err != nil { out[i].Err = fmt.Sprint(err) }
	}
	json.NewEncoder(os.Stdout).Encode(out)
}
`)
	return b.String()
}

// functionNames returns what the keys are called in the code, in their order.
func functionNames(code string) []string {
	var out []string
	for line := range strings.SplitSeq(code, "\n") {
		if rest, ok := strings.CutPrefix(line, "var entry_"); ok && !strings.Contains(line, `Type: "script"`) {
			name, _, _ := strings.Cut(rest, " ")
			out = append(out, name)
		}
	}
	return out
}

// TestHostileDeclarations: what is strange in a declaration stays a string or a
// comment, and the code compiles.
func TestHostileDeclarations(t *testing.T) {
	packages := map[string][]byte{"channels": generate(t, declare(t, channelsOnly))}
	for i, text := range []string{
		"keywright: 1\npackage: func\ndoc: \"+build ignore\\n//go:build ignore\\n*/ package x\\n//line x.go:1\"\nkeys:\n  type: {key: type, type: string, ttl: 1d, doc: \"` \\\" */ \\\\n func init() { panic(1) }\"}\n  func: {key: \"{#a}:{func}:{range}\", type: hash, ttl: 1d, fields: {func: int, _x: text, a-b: text, \"1\": int, 상품: text, get: text, set: int, key: text, Key: text, name: int optional, ttl: int, later: text, string: text, \"\\\"\": text, \"`\": text}}\n  product: {key: \"p:{x}\", type: string, ttl: 1d}\n  product_key: {key: \"q:{x}\", type: string, ttl: 1d}\n  parse_product: {key: \"r:{x}\", type: string, ttl: 1d}\n  client: {key: \"s:{part0}:{end0}:{text}:{ok}:{rest}:{b}:{k}:{err}:{reason}\", type: string, ttl: 1d}\n  new: {key: n, type: string, ttl: 1d}\n  entries: {key: e, type: string, ttl: 1d}\n  keyspace: {key: k, type: string, ttl: 1d}\n",
		"keywright: 1\npackage: keywright\nvars: {product_key: a|b, e: \"x|X|_|-|x-|`\"}\nkeys:\n  product: {key: \"p:{product_key}:{e}\", type: set, member: e, ttl: 1d}\n  a: {key: 'x\\xff\\{\\}\"`', type: string, ttl: 1d, value: {marshal_json: int, unmarshal_json: e, \"a\\\"b\": text, \"x`y\": json}}\n  product_value: {key: v, type: string, ttl: 1d}\n  product_handle: {key: h, type: hash, fields: {a: int}, ttl: 1d}\n  run: {type: script, file: s.lua, keys: [product, a], args: {ctx: int, product_key: text, keys: text, args: text, name: text, failed: text, err: int}, returns: e}\n  later_run: {type: script, file: s.lua, keys: [a]}\nchannels: {product: x, product_key: \"y:{e}\"}\nevents: {product: {with: [product_key, e], deletes: [product]}}\n",
		"keywright: 1\nkeys: {}\n",
	} {
		packages[fmt.Sprint("hostile", i)] = generate(t, declare(t, text))
	}
	compile(t, packages)
	for _, text := range packages {
		if !gen.Ours(text) {
			t.Error("the marker is missing")
		}
	}
}

// FuzzTexts: whatever a declaration says, the generated file parses and has the
// declarations it has with harmless texts; no comment is a directive.
func FuzzTexts(f *testing.F) {
	for _, text := range []string{"*/ func init() {}", "\n//go:build ignore\n", "+build x", "`", "\"", "\\", "line x.go:1",
		"\u2028", "\x00", "//line a:1", "go:embed x", "%s%d", "${x}", "x\r\ny"} {
		f.Add(text)
	}
	declaration := func(text string) string {
		return fmt.Sprintf("keywright: 1\npackage: p\ndoc: %q\nowner: o\nkeys:\n  a: {doc: %q, key: \"a:{x}\", type: hash, fields: {n: int, %q: text}, ttl: 1d}\n  b: {doc: %q, key: b, type: stream, groups: [%q], ttl: 1d}\n  s: {doc: %q, type: script, file: s.lua, keys: [a]}\n", text, text, "f"+text, text, text, text)
	}
	read := func(text string) (*keyspace.Keyspace, bool) {
		ks, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte(declaration(text))},
			"s.lua": {Data: []byte("return '" + text + "'")}}, "k.yaml")
		return ks, finding.Count(found).Errors == 0 && len(ks.Entries) == 3
	}
	f.Fuzz(func(t *testing.T, text string) {
		ks, ok := read(text)
		if !ok || len(ks.Keys[0].Fields) != 2 || len(ks.Keys[1].Entry.Groups) != 1 {
			return
		}
		plain, _ := read("abc")
		names := func(code []byte) (kinds []string) {
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, "x.go", code, parser.ParseComments)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			for _, d := range file.Decls {
				kinds = append(kinds, fmt.Sprintf("%T", d))
			}
			for _, c := range file.Comments {
				for _, line := range c.List {
					if !strings.HasPrefix(line.Text, "// ") && line.Text != "//" || strings.Contains(line.Text, "\r") {
						t.Fatalf("%q: the comment %q", text, line.Text)
					}
				}
			}
			return kinds
		}
		if got, want := names(generate(t, ks)), names(generate(t, plain)); !slices.Equal(got, want) {
			t.Fatalf("%q: %q, want %q", text, got, want)
		}
	})
}
