package load

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load/internal/scope"
)

// load reads one file from memory.
func load(text string) (*keyspace.Keyspace, []finding.Finding) {
	return File(fstest.MapFS{"k.yaml": {Data: []byte(text)}}, "k.yaml")
}

const head = "keywright: 1\n"

// entry returns a file with one entry whose key is written as given.
func entry(key string) string {
	return head + "keys:\n  a:\n    key: " + key + "\n    type: string\n    ttl: 1d\n"
}

// What the YAML parser refuses, one at a time: it stops at the first.
var syntaxFaults = []struct{ name, text, want string }{
	{"empty", "", "k.yaml:1:1: KW006 the file is empty"},
	{"comment only", "# x\n", "k.yaml:1:1: KW006 the file is empty"},
	{"list", "- a\n", "k.yaml:1:1: KW005 the file must be a mapping of sections"},
	{"text", "hello\n", "k.yaml:1:1: KW005 the file must be a mapping of sections"},
	{"no version", "doc: x\n", "k.yaml:1:1: KW006 the file does not say which version"},
	{"NUL", head + "doc: a\x00b\n", "k.yaml:2:7: KW001 byte 0x00 is not text"},
	{"invalid UTF-8 behind CJK", head + "doc: 가\xff\n", "k.yaml:2:7: KW001 byte 0xff is not text"},
	{"UTF-16", "\xff\xfek\x00", "k.yaml:1:1: KW001 byte 0xff is not text"},
	{"bell", head + "doc: \x07\n", "k.yaml:2:6: KW001 byte 0x07 is not text"},
	{"escape sequence", head + "doc: \x1b[31m\n", "k.yaml:2:6: KW001 byte 0x1b is not text"},
	{"delete", head + "doc: \x7f\n", "k.yaml:2:6: KW001 the character U+007F is not text"},
	{"next line", head + "doc: a\u0085b\n", "k.yaml:2:7: KW001 the character U+0085 is not text"},
	{"line separator", head + "doc: a\u2028b\n", "k.yaml:2:7: KW001 the character U+2028 is not text"},
	{"byte order mark inside", head + "doc: \ufeffx\n", "k.yaml:2:6: KW001 the character U+FEFF is not text"},
	{"carriage returns", "keywright: 1\rdoc: x\r", "k.yaml:1:13: KW001 a carriage return without a line feed is not text"},
	{"tab", head + "keys:\n\ta: b\n", "k.yaml:3:1: KW002 a tab cannot indent YAML (indent with spaces)"},
	{"tab deeper", head + "keys:\n  a:\n\t\tkey: b\n", "k.yaml:4:1: KW002 a tab cannot indent YAML"},
	{"pattern in a flow list", head + "owns: [x:{id}]\n",
		`k.yaml:2:10: KW009 a pattern inside [ ] or { } is not read as text (put quotes around it, as in ["x:{id}"])`},
	{"pattern in a flow mapping", head + "keys:\n  a: {key: x:{id}, type: string, ttl: 1d}\n", "k.yaml:3:14: KW009"},
	{"key begins with a brace", entry("{id}:x"), "k.yaml:4:14: KW009 a value that begins with { is not read as text"},
	{"key is a placeholder", entry("{id}"),
		"k.yaml:4:10: KW009 the key of a begins with {, which YAML reads as a mapping"},
	{"glob begins with a star", head + "owns: *foo\n", "k.yaml:2:7: KW002 a value that begins with * is an alias to YAML"},
	{"glob is a star", head + "owns: *\n", "k.yaml:2:8: KW002 a value that begins with * or & is an alias to YAML"},
	{"star in a flow list", head + "owns: [*:x]\n", "k.yaml:2:8: KW002 a value that begins with * is an alias to YAML"},
	{"at sign", head + "doc: @x\n", "k.yaml:2:6: KW002 a value cannot begin with @, ` or %"},
	{"backtick", head + "doc: `x`\n", "k.yaml:2:6: KW002 a value cannot begin with @, ` or %"},
	{"colon and space", head + "doc: a: b\n", "k.yaml:2:7: KW002 a colon and a space inside a value begin a mapping"},
	{"open quote", head + "doc: \"abc\n", "k.yaml:3:1: KW002 a quote is not closed"},
	{"open bracket", head + "owns: [a\n", "k.yaml:3:1: KW002 a [, { or quote is not closed"},
	{"unknown escape", head + `doc: "\q"` + "\n", "k.yaml:2:7: KW002 a backslash"},
	{"lone surrogate", head + `doc: "\ud800"` + "\n", "k.yaml:2:9: KW002 found invalid Unicode"},
	{"indentation", head + "keys:\n  a:\n    key: b\n   type: c\n",
		"k.yaml:5:4: KW002 the line does not fit the indentation"},
	{"second document", head + "---\nkeywright: 1\n", "k.yaml:2:1: KW007 the file has a second document"},
	{"broken second document", head + "---\nfoo: [\n", "KW007 the file has a second document"},
	{"anchor on itself", head + "doc: &a [*a]\n", "k.yaml:2:10: KW007 aliases (*a) are not supported"},
	{"billion laughs", head + "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n",
		"k.yaml:4:8: KW007 aliases (*b) are not supported"},
	{"merge key", head + "<<: {doc: x}\n", "k.yaml:2:1: KW007 merge keys are not supported"},
	{"100,000 brackets", head + "doc: " + strings.Repeat("[", 100_000),
		"KW002 the file is nested deeper than 10000 levels"},
	{"20,000 mappings", head + "doc: " + strings.Repeat("{a: ", 20_000),
		"KW002 the file is nested deeper than 10000 levels"},
	{"1 MiB and a byte", head + "#" + strings.Repeat("x", MaxFileBytes-len(head)),
		"k.yaml is larger than 1024 KiB; divide it and use imports"},
}

func TestSyntaxFaults(t *testing.T) {
	for _, test := range syntaxFaults {
		t.Run(test.name, func(t *testing.T) {
			ks, findings := load(test.text)
			if got := print(ks.Files, findings); !strings.Contains(got, test.want) {
				t.Errorf("got\n%swant\n%s", got, test.want)
			}
		})
	}
}

// What looks wrong and is not.
func TestAccepted(t *testing.T) {
	for name, text := range map[string]string{
		"byte order mark":         "\ufeff" + entry("a:{id}"),
		"CRLF":                    strings.ReplaceAll(entry("a:{id}"), "\n", "\r\n"),
		"exactly 1 MiB":           head + "#" + strings.Repeat("x", MaxFileBytes-len(head)-1),
		"plain pattern":           entry("a:{#{id}}:b"),
		"quoted pattern":          entry(`"{id}:b"`),
		"block pattern":           entry(">-\n      a:{id}"),
		"one document in marks":   "---\n" + head + "...\n",
		"a space, an emoji":       entry(`"a b:🔑:{id}"`),
		"a byte":                  entry(`a:\xff:{id}`),
		"a NUL":                   entry(`'a:\x00:{id}'`),
		"globs in a flow list":    head + "owns: [a:*, b:*]\n",
		"one text for a list":     head + "owns: a:*\n",
		"on, off, yes, no":        head + "vars: {v: on|off|yes|no|null|true}\n",
		"numbers as enum":         head + "vars: {v: 1|2|3}\n",
		"a var of a later var":    head + "vars: {a: b, b: c, c: int}\n",
		"ttl with several units":  strings.ReplaceAll(entry("a"), "1d", "1h30m"),
		"text that needs escapes": head + `doc: "</script> */ \u202e \" ' back` + "`" + `tick \e[31m"` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			if ks, findings := load(text); len(findings) > 0 {
				t.Error(print(ks.Files, findings))
			}
		})
	}
}

func TestLimits(t *testing.T) {
	files := fstest.MapFS{}
	for i := range MaxFiles + 1 {
		files[fmt.Sprintf("%d.yaml", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, "%simports: %d.yaml\n", head, i+1)}
	}
	_, findings := File(files, "0.yaml")
	if got := print(nil, findings); !strings.Contains(got, "99.yaml:2:10: KW008 a declaration has at most 100 files") {
		t.Error(got)
	}
	var b strings.Builder
	b.WriteString(head + "keys:\n")
	for i := range MaxEntries + 1 {
		fmt.Fprintf(&b, "  e%d: {key: k%d, type: string, ttl: any}\n", i, i)
	}
	ks, findings := load(b.String())
	if got := print(nil, findings); len(ks.Entries) != MaxEntries ||
		!strings.Contains(got, "k.yaml:10003:3: KW008 a declaration has at most 10000 entries") {
		t.Errorf("%d entries, %s", len(ks.Entries), got)
	}
}

// TestPatternsAreBounded: what a declaration expands to is bounded, whatever adds to it, and what is
// beyond is one finding at the first line that passes the bound.
func TestPatternsAreBounded(t *testing.T) {
	lined := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(i)))
		}
		return b.String()
	}
	const queue = 11 // patterns
	var pairs strings.Builder
	for i := range scope.MaxPatterns + 9 {
		a := i / scope.MaxFields
		fmt.Fprintf(&pairs, "      f%d+f%d: \"i%d:{f%d}\"\n", a, i%scope.MaxFields, i, a)
	}
	for name, tt := range map[string]struct {
		text string
		line int
	}{
		"queues": {"keys:\n" + lined(scope.MaxPatterns/queue+9, "  q#: {key: \"k#:{a}\", type: queue, ttl: none}\n"),
			3 + scope.MaxPatterns/queue},
		"channels": {"keys: {}\nchannels:\n" + lined(scope.MaxPatterns+9, "  c#: \"k#\"\n"), 4 + scope.MaxPatterns},
		"requests": {
			"keys: {}\nchannels:\n" + lined(scope.MaxPatterns/2+9, "  c#: {channel: \"k#\", message: {a: int}, reply: {a: int}}\n"),
			4 + scope.MaxPatterns/2},
		"globs": {"keys: {}\nowns:\n" + lined(scope.MaxPatterns+9, "- k#\n"), 4 + scope.MaxPatterns},
		"old names": {
			"keys:\n  q:\n    key: k\n    type: string\n    ttl: none\n    was:\n" + lined(scope.MaxPatterns+9, "    - k#\n"),
			7 + scope.MaxPatterns},
		"old names of a construct": {"keys:\n  q:\n    key: k\n    type: queue\n    ttl: none\n    was:\n" +
			lined(scope.MaxPatterns/10, "    - k#\n"), 8},
		"clean-up": {"keys: {}\ncleanup:\n" + lined(scope.MaxPatterns+9, "- {match: k#, idle: 1d}\n"), 4 + scope.MaxPatterns},
		"indexes": {
			"keys:\n  q:\n    key: \"k:{x}\"\n    type: entity\n    ttl: none\n    fields: {" + lined(scope.MaxFields, "f#: int, ") +
				"}\n    index:\n" + pairs.String(), 8 + scope.MaxPatterns},
		"namespaces": {"namespace: {default: w0, names: \"" + lined(9_999, "w#|") + "z\"}\nkeys:\n" +
			lined(scope.MaxPatterns/queue, "  q#: {key: \"w0:k#:{a}\", type: queue, ttl: none}\n"), 2},
	} {
		ks, findings := load(head + tt.text)
		if want := fmt.Sprintf("k.yaml:%d:", tt.line); len(findings) != 1 || findings[0].Code != "KW008" ||
			!strings.Contains(findings[0].Message, fmt.Sprintf("at most %d patterns", scope.MaxPatterns)) || findings[0].Fix == "" ||
			!strings.HasPrefix(print(nil, findings), want) {
			t.Errorf("%s: %d findings, not at %s: %.200s", name, len(findings), want, print(nil, findings))
		}
		if items, _ := ks.Items(); name != "old names of a construct" && len(items) > scope.MaxPatterns {
			t.Errorf("%s: %d patterns", name, len(items))
		}
	}
	for name, text := range map[string]string{
		"queues":   "keys:\n" + lined(scope.MaxPatterns/queue, "  q#: {key: \"k#:{a}\", type: queue, ttl: none}\n"),
		"channels": "keys: {}\nchannels:\n" + lined(scope.MaxPatterns, "  c#: \"k#\"\n"),
	} {
		if _, findings := load(head + text); len(findings) > 0 {
			t.Errorf("%s up to the bound: %s", name, print(nil, findings))
		}
	}
}

// TestEnumsAreBounded: an enum of many words that is used at many places is refused where it is too much, also where
// constructs and old names add the places.
func TestEnumsAreBounded(t *testing.T) {
	const words = 1 << 14
	head := head + "vars: {x: \"" + strings.Repeat("w", 500) + "|" + strings.Repeat("v", words-502) + "\"}\n"
	const most = scope.MaxEnumBytes/words - 1 // and the var itself
	lined := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(i)))
		}
		return b.String()
	}
	for _, tt := range gate.Pick(t, []struct {
		name   string
		text   string // of one thing, many of which are too much
		places int    // of each
	}{
		{"keys", "  e#: {key: \"k#:{x}\", type: string, ttl: 1d}\n", 1},
		{"queues", "  e#: {key: \"k#:{x}\", type: queue, ttl: none}\n", 11},
		{"requests", "  c#: {channel: \"k#:{x}\", message: {a: x}, reply: {a: int}}\n", 3},
		{"values", "  e#: {key: \"k#\", type: string, value: x, ttl: 1d}\n", 1},
		{"former", "  e#: {key: \"k#:{x}\", type: cache, was: [\"o#:{x}\"], ttl: 1d}\n", 4},
	}) {
		name, section := tt.name, "keys:\n"
		if name == "requests" {
			section = "keys: {}\nchannels:\n"
		}
		n := most / tt.places
		if _, findings := load(head + section + lined(n, tt.text)); len(findings) > 0 {
			t.Errorf("%s up to the bound: %.200s", name, print(nil, findings))
		}
		_, findings := load(head + section + lined(n+9, tt.text))
		if len(findings) != 1 || findings[0].Code != "KW008" ||
			!strings.Contains(findings[0].Message, "bytes of words of enums") ||
			!strings.Contains(findings[0].Message, fmt.Sprint(scope.MaxEnumBytes)) {
			t.Errorf("%s: %d findings: %.300s", name, len(findings), print(nil, findings))
		}
	}
}

func TestFieldsAreBounded(t *testing.T) {
	fields := func(n int) string {
		var b strings.Builder
		b.WriteString(head + "keys:\n  h:\n    key: k\n    type: hash\n    ttl: none\n    fields:\n")
		for i := range n {
			fmt.Fprintf(&b, "      f%d: text\n", i)
		}
		return b.String()
	}
	if _, findings := load(fields(scope.MaxFields)); len(findings) > 0 {
		t.Errorf("up to the bound: %s", print(nil, findings))
	}
	ks, findings := load(fields(scope.MaxFields + 9))
	if want := fmt.Sprintf("k.yaml:%d:7: KW008 fields of h: a mapping has at most 1000 fields",
		8+scope.MaxFields); len(findings) != 1 ||
		!strings.HasPrefix(print(nil, findings), want) || len(ks.Keys[0].Fields) != scope.MaxFields {
		t.Errorf("%s, and not %s", print(nil, findings), want)
	}
}

// TestTooManyFilesAreOneFinding: files over the limit are reported once, however many they
// are and whatever names them.
func TestTooManyFilesAreOneFinding(t *testing.T) {
	files := fstest.MapFS{}
	names := make([]string, 0, 3*MaxFiles)
	for i := range 3 * MaxFiles {
		name := fmt.Sprintf("part%d.yaml", i)
		names = append(names, name)
		files[name] = &fstest.MapFile{Data: fmt.Appendf(nil, "%simports: more%d.yaml\n", head, i)}
		files[fmt.Sprintf("more%d.yaml", i)] = &fstest.MapFile{Data: []byte(head)}
	}
	files["k.yaml"] = &fstest.MapFile{Data: []byte(head + "imports: [" + strings.Join(names, ", ") + "]\n")}
	ks, findings := File(files, "k.yaml")
	if len(findings) != 1 || findings[0].Code != "KW008" || len(ks.Files) != MaxFiles {
		t.Errorf("%d files\n%s", len(ks.Files), print(nil, findings))
	}
}

// TestWhatIsSaidOfBrokenFilesIsASentence: a finding names the file, and nothing of the
// parser or the system alone.
func TestWhatIsSaidOfBrokenFilesIsASentence(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "blank": " \n\n", "comment": "# nothing\n", "marks": "---\n", "end": "...\n", "null": "~\n",
		"open": "a: [", "quote": "a: \"",
		"tab": "\ta: 1\n", "key": "? [a]\n", "anchor": "a: *b\n", "tag": "!!x a\n", "text": "EOF", "list": "- a\n", "colon": ":/a\n", "two": "keywright: 1\n---\n",
		"imports nothing": head + "imports: \"\"\n", "imports a folder": head + "imports: /a\n",
		"imports an address": head + "imports: \":/a\"\n",
	} {
		_, findings := File(fstest.MapFS{"k.yaml": {Data: []byte(text)}}, "k.yaml")
		if len(findings) == 0 {
			t.Errorf("%s: nothing is said", name)
		}
		for _, f := range findings {
			words := strings.Fields(f.Message)
			if f.Pos.File != "k.yaml" || f.Pos.Line < 1 || len(words) < 3 ||
				strings.Contains(f.Message, "EOF") && name != "text" || strings.Contains(f.Message, ": :") {
				t.Errorf("%s: %q: %s", name, text, print(nil, findings))
			}
		}
	}
	if _, findings := File(fstest.MapFS{}, ":/a"); len(findings) != 1 || len(strings.Fields(findings[0].Message)) < 3 {
		t.Errorf("%s", print(nil, findings))
	}
}

// A file of 1 MiB that is wrong all over is read in time that grows with its
// size, not with the square of it: one eight times as long takes less than 32 times as long.
func TestHostileFilesAreReadInLinearTime(t *testing.T) {
	gate.Skip(t, "compares times")
	lines := func(form string) func(int) string {
		return func(n int) string {
			var b strings.Builder
			for i := range n / 25 {
				fmt.Fprintf(&b, form, i)
			}
			return b.String()
		}
	}
	unknown, misspelt := lines("  v%[1]d: xx%[1]d\n"), lines("  e%[1]d: {deletes: x%[1]d}\n")
	for name, text := range map[string]func(bytes int) string{
		"one line of duplicates": func(n int) string { return head + "vars: {" + strings.Repeat("a: int, ", n/8) + "}\n" },
		"unknown types":          func(n int) string { return head + "vars:\n" + unknown(n) },
		"unknown entries": func(n int) string {
			return head + "keys: {x: {key: a, type: string, ttl: 1d}}\nevents:\n" + misspelt(n)
		},
		"unknown properties": func(n int) string { return head + strings.Repeat("a: 1\n", n/5) },
		"deep but legal": func(n int) string {
			return head + "doc: " + strings.Repeat("[", n/120) + strings.Repeat("]", n/120)
		},
	} {
		t.Run(name, func(t *testing.T) {
			read := func(bytes int) time.Duration {
				start := time.Now()
				if _, findings := load(text(bytes)); len(findings) == 0 {
					t.Error("nothing is wrong with it")
				}
				return time.Since(start)
			}
			var short, long time.Duration
			for range 5 { // what a busy machine makes long once is not long each time
				short, long = read(1<<17), read(1<<20)
				if long < 32*short {
					return
				}
			}
			t.Errorf("128 KiB take %v, 1 MiB %v", short, long)
		})
	}
}

// Files that are none: what a path may lead to on a disk.
func TestSpecialFiles(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret.yaml")
	must(t, os.WriteFile(outside, []byte(head+"doc: secret\n"), 0o600))
	must(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	must(t, os.Symlink(outside, filepath.Join(dir, "link.yaml")))
	must(t, os.WriteFile(filepath.Join(dir, "k.yaml"), []byte(head+"imports: [folder, link.yaml, missing.yaml]\n"), 0o600))
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	ks, findings := File(root.FS(), "k.yaml")
	got := print(ks.Files, findings)
	for _, want := range []string{
		"k.yaml:2:11: KW001 folder is not a regular file",
		"k.yaml:2:19: KW001 link.yaml cannot be read",
		"k.yaml:2:30: KW001 missing.yaml does not exist",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
	if len(ks.Files) != 1 {
		t.Errorf("read %d files", len(ks.Files))
	}
}

// brokenFS fails while a file is read.
type brokenFS struct{ fs.FS }

type brokenFile struct{ fs.File }

func (f brokenFS) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	return brokenFile{file}, err
}

func (brokenFile) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }

func TestReadFails(t *testing.T) {
	_, findings := File(brokenFS{fstest.MapFS{"k.yaml": {Data: []byte(head)}}}, "k.yaml")
	if got := print(nil, findings); !strings.Contains(got, "KW001 k.yaml cannot be read: the disk is gone") {
		t.Error(got)
	}
}

var must = expect.NoError
