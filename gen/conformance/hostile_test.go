package conformance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright/gen"
	"github.com/keywright/keywright/gen/conformance"
	"github.com/keywright/keywright/gen/python"
	"github.com/keywright/keywright/gen/typescript"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// nasty are texts that end a comment or a string somewhere, or begin a
// directive, and run something if they get out. What runs ends with 7.
var nasty = []string{
	"plain", "*/process.exit(7)/*", "*/\nprocess.exit(7)\n/*", `"); process.exit(7); ("`, "`${process.exit(7)}`",
	"${process.exit(7)}", `\`, `\\`, `\"`, `a\`, `\u000a`, `\x22`, `\N{LATIN SMALL LETTER A}`,
	"\"\"\"\nraise SystemExit(7)\n\"\"\"", `"""+exit(7)+"""`, `""`, `"`, `'''`, `'`, "\\\n", "a\nraise SystemExit(7)",
	"a\rraise SystemExit(7)", "a\r\nprocess.exit(7)",
	"a\u2028process.exit(7)", "a\u2029process.exit(7)", "a\u0085b", "a\x00b", "a\x1ab", "a\x0cb", "a\x0bb",
	"-*- coding: rot13 -*-", "vim: set fileencoding=rot13 :", "@ts-nocheck", "@ts-expect-error",
	"@ts-ignore", "/ <reference path=\"x\" />", "# sourceMappingURL=x", "!/bin/sh", "type: ignore", "pyright: basic",
	"eslint-disable", "@internal", "{@link x}", "</script>", "<!--", "-->", "]]>",
	"__proto__", "constructor", "prototype", "toString", "a$1", "class", "None", "self", "import", "undefined",
	"\u202e evil \u202c", "\ufeff", "e\u0301", "한글", "😀", "\U0010ffff", "\ufffd", "*", "/", "**/", "* /",
	"{", "}", "{x}", "{}", "%s", "f\"{x}\"", ":", "a:b", "a b", " ", "0", "-", "1e3", "a|b", "\xff", "\xc3(",
	"\xed\xa0\x80",
}

// hostile returns a keyspace in which everything that an author writes is text.
func hostile(name, text string) *keyspace.Keyspace {
	word := strings.ToValidUTF8(text, "�")
	enum := scalar.Type{Kind: scalar.Enum, Values: []string{word, "b"}, Var: word}
	expr := scalar.Type{Kind: scalar.Regexp, Expr: regexp.QuoteMeta(word)}
	fields := []keyspace.Field{{Name: word, Type: enum},
		{Name: word + "2", Type: scalar.Type{Kind: scalar.JSON, File: word, Optional: true}}}
	types := map[string]scalar.Type{"e": enum, "r": expr, "raw": {Kind: scalar.Bytes}}
	resolve := func(name string) (scalar.Type, bool) { t, ok := types[name]; return t, ok }
	var escaped strings.Builder
	for _, b := range []byte(text) {
		fmt.Fprintf(&escaped, `\x%02x`, b)
	}
	entry := &keyspace.Entry{Name: "e", Doc: word, Owner: word, Construct: keyspace.Construct(word),
		StreamSpec: keyspace.StreamSpec{MaxLen: 5, Groups: []string{word}}}
	ks := &keyspace.Keyspace{Package: name, Doc: word, Entries: []*keyspace.Entry{entry}}
	for i, p := range []string{escaped.String(), "e:{e}", "r:{r}:{x}", "b:{raw}"} {
		parsed, err := pattern.Parse(p, resolve)
		if err != nil {
			return nil // too long, or nothing to declare a key with
		}
		ttl := keyspace.TTL{Policy: keyspace.Policy(i % 3), Text: word, Default: time.Second, Min: time.Second,
			Max: time.Second, Jitter: 0.1}
		k := &keyspace.Key{Entry: entry, Role: word, Name: fmt.Sprintf("e%d", i), Pattern: parsed, Kind: keyspace.Hash,
			TTL: ttl, Doc: word, Value: &enum, Member: &enum, Score: &expr, Fields: fields, Field: &enum, Item: &expr}
		if i == 1 {
			k.JSON = fields
		}
		if i == 2 {
			k.Kind, k.Role = keyspace.Stream, ""
		}
		ks.Keys = append(ks.Keys, k)
		ks.Channels = append(ks.Channels,
			&keyspace.Channel{Name: fmt.Sprintf("c%d", i), Doc: word, Pattern: parsed, Owner: word, Message: fields})
	}
	return ks
}

// tame returns a text that shapes the code as text does, without its tricks.
func tame(text string) string {
	out := "tame text"
	if strings.Contains(text, ":") {
		out += ":"
	}
	if !utf8.ValidString(text) {
		out += "\xff"
	}
	return out
}

// language describes how the comments and strings of a language are left out.
type language struct {
	generate func(*keyspace.Keyspace) ([]gen.File, error)
	comments [][2]string // how they begin and end
	strings  []string    // how they begin and end
}

var languages = map[string]language{
	"typescript": {typescript.Generate, [][2]string{{"//", "\n"}, {"/*", "*/"}}, []string{`"`}},
	"python":     {python.Generate, [][2]string{{"#", "\n"}}, []string{`"""`, `"`}},
}

// noise is what may differ for another reason than a text that got out: numbers
// in place of a text that is not UTF-8, and names of fields that need no quotes.
var (
	bytesOf  = regexp.MustCompile(`\[[0-9, ]*\]`)
	property = regexp.MustCompile(`readonly ([\w$]+|"")(\??):`)
	blank    = regexp.MustCompile(`\s+`)
)

// skeleton returns the code without comments and without what is in its strings.
func (l language) skeleton(code string) (string, error) {
	var out strings.Builder
next:
	for code != "" {
		for _, c := range l.comments {
			if rest, ok := strings.CutPrefix(code, c[0]); ok {
				text, after, _ := strings.Cut(rest, c[1])
				if strings.ContainsAny(text, "\r\x00\x0b\x0c\u2028\u2029\u0085\u202e") {
					return "", fmt.Errorf("a comment has what another program takes for its end: %q", text)
				}
				code = after
				continue next
			}
		}
		for _, q := range l.strings {
			if rest, ok := strings.CutPrefix(code, q); ok {
				n := closing(rest, q)
				if n < 0 || len(q) == 1 && strings.ContainsAny(rest[:n], "\n\r\x00\u2028\u2029") {
					return "", fmt.Errorf("a string does not end on its line: %q", rest[:min(len(rest), 80)])
				}
				out.WriteString(`""`)
				code = rest[n+len(q):]
				continue next
			}
		}
		out.WriteByte(code[0])
		code = code[1:]
	}
	text := property.ReplaceAllString(bytesOf.ReplaceAllString(out.String(), "[]"), `readonly ""$2:`)
	return blank.ReplaceAllString(strings.ReplaceAll(text, "[]", `""`), " "), nil
}

// closing returns where a string ends, escapes left out.
func closing(text, quote string) int {
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' {
			i++
			continue
		}
		if strings.HasPrefix(text[i:], quote) {
			return i
		}
	}
	return -1
}

// contained: the code for text is the code for a tame one but for what is in
// strings and comments.
func contained(t *testing.T, name string, l language, text string) {
	t.Helper()
	wild, mild := hostile("p", text), hostile("p", tame(text))
	if wild == nil {
		return
	}
	var codes [2]string
	for i, ks := range []*keyspace.Keyspace{wild, mild} {
		files, err := l.generate(ks)
		if err != nil || len(files) != 1 || !gen.Ours(files[0].Text) || !utf8.Valid(files[0].Text) {
			t.Fatalf("%s: %q: %d files, %v", name, text, len(files), err)
		}
		_, code, _ := strings.Cut(string(files[0].Text),
			"_Place]) -> None:\n        super().__init__(name, pattern, owner, steps)\n")
		if name == "typescript" {
			_, code, _ = strings.Cut(string(files[0].Text), "void [")
		}
		codes[i], err = l.skeleton(code)
		if err != nil || code == "" {
			t.Fatalf("%s: %q: %v in\n%s", name, text, err, code)
		}
		if lines := strings.Split(string(files[0].Text), "\n"); name == "python" && lines[1] != "#" {
			t.Fatalf("%q is where Python looks for the encoding", lines[1])
		}
	}
	if diff := cmp.Diff(strings.Split(codes[1], ";"), strings.Split(codes[0], ";")); diff != "" {
		t.Errorf("%s: %q changes the code:\n%s", name, text, diff)
	}
}

func TestHostileTextsStayInside(t *testing.T) {
	for _, text := range nasty {
		for name, l := range languages {
			contained(t, name, l, text)
		}
	}
}

func FuzzHostileTexts(f *testing.F) {
	for _, text := range nasty {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, l := range languages {
			contained(t, name, l, text)
		}
	})
}

// TestHostileTextsCompile: compilers and interpreters agree that nothing got
// out, and say of the texts what Go says.
func TestHostileTextsCompile(t *testing.T) {
	gate.Skip(t, "compiles a module of each text in two languages")
	dir, js, py := t.TempDir(), []string{}, []string{}
	for i, text := range nasty {
		ks := hostile(fmt.Sprintf("p%d", i), text)
		if ks == nil {
			t.Errorf("%q makes no keyspace", text)
			continue
		}
		vectors := written(t, dir, ks, conformance.Generate)
		written(t, dir, ks, typescript.Generate)
		js = append(js, filepath.Join(dir, "js", strings.Replace(filepath.Base(vectors), ".vectors.json", ".js", 1)), vectors)
		py = append(py, written(t, dir, ks, python.Generate), vectors)
	}
	compiled(t, dir)
	if _, err := os.Stat(js[0]); err != nil {
		t.Fatal(err)
	}
	t.Log(run(t, "node", append([]string{nodeDir + "/run.mjs"}, js...)...))
	t.Log(run(t, "python3", append([]string{"-W", "error", pythonRun}, py...)...))
}
