package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/load"
)

// ran runs a command line with a declaration in its folder.
func ran(t *testing.T, declaration, stdin string, args ...string) (code int, out, said string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keyspace.yaml")
	if err := os.WriteFile(path, []byte(declaration), 0o600); err != nil {
		t.Fatal(err)
	}
	var o, e bytes.Buffer
	code = Main(context.Background(), append(args, "--file", path),
		cli.Streams{In: strings.NewReader(stdin), Out: &o, Err: &e, Getenv: func(string) string { return "" }})
	return code, o.String(), e.String()
}

// lined returns lines of a declaration, each made of a number.
func lined(n int, format string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(i)))
	}
	return b.String()
}

// megabytes returns declarations of about a megabyte, or of so many parts less.
func megabytes(part int) map[string]string {
	lined := func(n int, format string) string { return lined(n/part, format) }
	repeated := func(text string, n int) string { return strings.Repeat(text, n/part) }
	const head = "keywright: 1\npackage: p\nowner: o\nkeys:\n"
	words := func(n int) string {
		return "keywright: 1\npackage: p\nowner: o\nvars: {x: \"" + lined(n, "w#|") + "z\"}\nkeys:\n"
	}
	return map[string]string{
		"faults on one line": "keywright: 1\nkeys: {" + lined(90_000, "a#: 1, ") + "}\n",
		"fields on one line": head + "  e: {key: \"a:{x}\", type: hash, ttl: 1h, fields: {" + lined(70_000,
			"f#: tex, ") + "}}\n",
		"an enum": "keywright: 1\nvars: {x: \"" + lined(90_000, "w#|") + "z\"}\nkeys: {}\n",
		"an enum that is not too large": "keywright: 1\nvars: {x: \"" + lined(9_999,
			"w#|") + "z\"}\nkeys:\n  e: {key: \"a:{x}:{y:" + lined(9_999, "w#|") + "z}\", type: string, ttl: 1h}\n",
		"an enum in a key": head + "  e: {key: \"a:{x:" + lined(90_000, "w#|") +
			"z}\", type: string, ttl: 1h}\n",
		"an enum in keys":      words(9_999) + lined(9000, "  e#: {key: \"a#:{x}\", type: string, ttl: 1h}\n"),
		"an enum in values":    words(9_999) + lined(9000, "  e#: {key: \"a#:{y}\", type: string, value: x, ttl: 1h}\n"),
		"an enum in 60 values": words(9_999) + lined(60, "  e#: {key: \"a#:{y}\", type: hash, fields: {a: x}, ttl: 1h}\n"),
		"an enum in 800 keys":  words(1_000) + lined(800, "  e#: {key: \"a#:{x}\", type: string, ttl: 1h}\n"),
		"ignore comments": head + repeated("  # keywright:ignore KW101 x\n", 16_000) +
			lined(30_000, "  a#: 1\n"),
		"quotes on one line":            "keywright: 1\nkeys: {" + lined(60_000, "a#:  'b c', ") + "}\n",
		"quotes on one line that go on": "keywright: 1\nkeys: {" + lined(60_000, "a#: 'b c', ") + "\n}\n",
		"pairs that overlap": head + lined(400,
			"  e#: {key: \"k#:{a}:{b}:{c}:{d}\", type: string, ttl: 1h}\n  f#: {key: \"{a}:{b}:{c}:{d}:k#\", type: "+
				"string, ttl: 1h}\n"),
		"hostile patterns": head + lined(400,
			"  e#: {key: \"{a:/([a-z]*x){1,20}/}:{b:/([0-9]?){40}[a-z]#/}\", type: string, ttl: 1h}\n"),
		"placeholders":         head + "  e: {key: \"" + lined(100_000, "{p#}:") + "\", type: string, ttl: 1h}\n",
		"a long key":           head + "  e: {key: \"" + repeated("a", 1_000_000) + "\", type: string, ttl: 1h}\n",
		"levels":               "keywright: 1\nkeys: " + repeated("[", 400_000),
		"a string without end": "keywright: 1\nkeys: " + repeated("\"", 900_000),
		"the same pattern":     head + lined(3000, "  e#: {key: \"{a}:{b}\", type: string, ttl: 1h}\n"),
		"a pattern for all":    head + lined(9000, "  e#: {key: \"a:{b}\", type: string, ttl: 1h}\n"),
	}
}

// readers are commands that read a declaration, F, in the folder D.
var readers = []string{
	"lint F", "fmt --check F", "match --file F", "breaking --against D/old.yaml --file F", "diff D/old.yaml F",
	"acl print --file F", "explain --file F --key a:b",
	"gen go --file F --out D/go", "gen docs --file F --out D/docs", "audit --file F D/s.rdb", "ls --file F D/s.rdb",
}

// cpu returns the time that the processors gave to this program.
func cpu(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// least returns what the processors give to do, the least of three times: other programs take the caches of a
// processor,
// and what is slow by itself is slow each time.
func least(t *testing.T, do func()) (took time.Duration) {
	for try := range 3 {
		began := cpu(t)
		do()
		if now := cpu(t) - began; try == 0 || now < took {
			took = now
		}
	}
	return took
}

// slower says how often more than an ordinary declaration of the same size no hostile one may take of the processors.
// It is
// less than a quarter of that on a quiet machine, where an ordinary one takes half a second; what grows with the
// square of
// a declaration takes hundreds of times as much.
const slower = 20

// A declaration of a megabyte is accepted or refused by every command, in little memory, with output that can be read,
// and
// in not much more time than an ordinary one. The gate reads smaller ones, and measures nothing.
func TestDeclarationsOfAMegabyte(t *testing.T) {
	part := 60
	if gate.All() {
		part = 1
	}
	all, dir := megabytes(part), t.TempDir()
	all[""] = "keywright: 1\npackage: p\nowner: o\nkeys:\n" +
		lined(9000/part,
			"  e#: {doc: Things of the user., key: \"a#:{user}:{id}\", type: hash, ttl: 1h, fields: {name: text}}\n")
	ordinary := map[string]time.Duration{}
	for _, name := range slices.Sorted(maps.Keys(all)) { // the ordinary one is the first
		text, file := all[name], filepath.Join(dir, "keyspace.yaml")
		old := strings.Replace(text, "ttl: 1h", "ttl: 2h", 1)
		for path, text := range map[string]string{file: text, filepath.Join(dir, "old.yaml"): old,
			filepath.Join(dir, "s.rdb"): "REDIS0011\xfe\x00\x00\x03a:b\x01v\xff\x00\x00\x00\x00\x00\x00\x00\x00"} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, reader := range readers {
			var out, said bytes.Buffer
			args, code := strings.Fields(strings.NewReplacer("F", file, "D", dir).Replace(reader)), 0
			read := func() {
				out.Reset()
				said.Reset()
				code = Main(t.Context(), args,
					cli.Streams{In: strings.NewReader("a:b\n"), Out: &out, Err: &said, Getenv: func(string) string { return "" }})
			}
			if gate.All() {
				took := least(t, read)
				if t.Logf("%s of %s: %v", reader, name, took); name == "" {
					ordinary[reader] = took
				} else if most := slower * ordinary[reader]; took > most {
					t.Errorf("%s of %s: %v, %v at most", reader, name, took, most)
				}
			} else {
				read()
			}
			if code > 2 || strings.Contains(said.String(), "bug in keywright") {
				t.Errorf("%s of %s: code %d, %s", reader, name, code, said.String())
			}
			printed := out.Len() + said.Len()
			if code == 0 && strings.HasPrefix(reader, "acl") {
				printed = said.Len() // the users are as large as what they may do
			}
			if printed > 1<<19 && name != "" {
				t.Errorf("%s of %s: %d bytes of output", reader, name, printed)
			}
			if code == 2 && strings.HasPrefix(reader, "match") {
				break // it is refused by all, in the same way
			}
		}
	}
}

// The largest declarations that are accepted, of strings, of queues and of entities, are read by every
// command without a finding of lint, and compared with others that have no key in common with them. gen,
// whose output grows to many megabytes, is no part of this.
func TestTheLargestDeclarations(t *testing.T) {
	gate.Skip(t, "three declarations of megabytes, 20 s of CPU")
	const head = "keywright: 1\npackage: p\nowner: o\nowns: [\"app:*\"]\n"
	for name, text := range map[string]string{
		"entries": head + "keys:\n" + lined(9200,
			"  e#:\n    doc: Things of the user, in order.\n    key: \"app:e#:{user}:{id}\"\n    type: string\n    ttl: 1h\n"),
		"queues": head + "keys:\n" + lined(load.MaxPatterns/11-1,
			"  q#:\n    doc: Work of users.\n    key: \"app:q#:{user}\"\n    type: queue\n    value: text\n    ttl: none\n"),
		"entities": head + "vars: {id: uuid}\nkeys:\n" + lined(3900,
			"  e#:\n    doc: Things of a user.\n    key: \"app:e#:{id}\"\n    type: entity\n    ttl: 1h\n    fields: {id: id, "+
				"name: text max 100, status: a|b|c, made: unix_ms}\n    index:\n      status+made: \"app:x#:{status}\"\n      "+
				"expires: \"app:y#\"\n"),
	} {
		other := filepath.Join(t.TempDir(), "other.yaml")
		if err := os.WriteFile(other, []byte(strings.NewReplacer("app:", "old:", "\n  e", "\n  o", "\n  q",
			"\n  p").Replace(text)),
			0o600); err != nil {
			t.Fatal(err)
		}
		for _, reader := range []string{"lint", "fmt --check", "match", "acl print", "breaking --against " + other} {
			code, out, said := ran(t, text, "app:e1:a:b\n", strings.Fields(reader)...)
			found := code > 0 && (reader == "match" || strings.HasPrefix(reader, "breaking"))
			if code > 1 || code > 0 && !found || len(said) > 1<<10 || len(out) > 1<<17 && reader != "acl print" {
				t.Errorf("%s of %s: code %d, %d bytes, %.300s", reader, name, code, len(out), said)
			}
		}
	}
}

// No key commands the log of a CI system or a terminal, in any form of match; JSON
// keeps each byte.
func TestMatchedKeysCommandNothing(t *testing.T) {
	keys := []string{"::add-mask::x", "##[error]x", "##vso[task.x]y", "\x1b]0;t\x07", "\u009b31m", "\u202eabc", "a\rb",
		"\xff", "app:plain"}
	declaration := "keywright: 1\nowns: [\"app:*\"]\nkeys:\n  a: {key: \"app:{x}\", type: string, ttl: 1h}\n"
	for _, form := range []string{"text", "jsonl"} {
		_, out, said := ran(t, declaration, strings.Join(keys, "\n")+"\n", "match", "-o", form)
		if strings.Count(out, "\n") != len(keys) {
			t.Fatalf("%s: %q, %s", form, out, said)
		}
		for _, bad := range []string{"\n::", "##[", "##vso[", "\x1b", "\u009b", "\u202e", "\r"} {
			if strings.Contains("\n"+out, bad) {
				t.Errorf("%s: %q in %q", form, bad, out)
			}
		}
		if form == "jsonl" {
			for i, line := range strings.Split(strings.TrimSpace(out), "\n") {
				var row struct{ Key struct{ Text string } }
				if err := json.Unmarshal([]byte(line), &row); err != nil || i < 4 && row.Key.Text != keys[i] {
					t.Errorf("%s: %v, %q", line, err, row.Key.Text)
				}
			}
		}
	}
}
