package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// ran runs a command line with a declaration in its folder.
func ran(t *testing.T, declaration, stdin string, args ...string) (code int, out, said string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keyspace.yaml")
	if err := os.WriteFile(path, []byte(declaration), 0o600); err != nil {
		t.Fatal(err)
	}
	var o, e bytes.Buffer
	code = Main(context.Background(), append(args, "--file", path), Streams{In: strings.NewReader(stdin), Out: &o, Err: &e, Getenv: func(string) string { return "" }})
	return code, o.String(), e.String()
}

// lined is lines of a declaration, each made of a number.
func lined(n int, format string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(i)))
	}
	return b.String()
}

// megabytes are declarations of about a megabyte.
func megabytes() map[string]string {
	const head = "keywright: 1\nkeys:\n"
	return map[string]string{
		"faults on one line":            "keywright: 1\nkeys: {" + lined(90_000, "a#: 1, ") + "}\n",
		"fields on one line":            head + "  e: {key: \"a:{x}\", type: hash, ttl: 1h, fields: {" + lined(70_000, "f#: tex, ") + "}}\n",
		"an enum":                       "keywright: 1\nvars: {x: \"" + lined(90_000, "w#|") + "z\"}\nkeys: {}\n",
		"an enum that is not too large": "keywright: 1\nvars: {x: \"" + lined(9_999, "w#|") + "z\"}\nkeys:\n  e: {key: \"a:{x}:{y:" + lined(9_999, "w#|") + "z}\", type: string, ttl: 1h}\n",
		"an enum in a key":              head + "  e: {key: \"a:{x:" + lined(90_000, "w#|") + "z}\", type: string, ttl: 1h}\n",
		"ignore comments":               head + strings.Repeat("  # keywright:ignore KW101 x\n", 16_000) + lined(30_000, "  a#: 1\n"),
		"pairs that overlap":            head + lined(400, "  e#: {key: \"k#:{a}:{b}:{c}:{d}\", type: string, ttl: 1h}\n  f#: {key: \"{a}:{b}:{c}:{d}:k#\", type: string, ttl: 1h}\n"),
		"hostile patterns":              head + lined(400, "  e#: {key: \"{a:/([a-z]*x){1,20}/}:{b:/([0-9]?){40}[a-z]#/}\", type: string, ttl: 1h}\n"),
		"placeholders":                  head + "  e: {key: \"" + lined(100_000, "{p#}:") + "\", type: string, ttl: 1h}\n",
		"a long key":                    head + "  e: {key: \"" + strings.Repeat("a", 1_000_000) + "\", type: string, ttl: 1h}\n",
		"levels":                        "keywright: 1\nkeys: " + strings.Repeat("[", 400_000),
		"a string without end":          "keywright: 1\nkeys: " + strings.Repeat("\"", 900_000),
		"the same pattern":              head + lined(9000, "  e#: {key: \"{a}:{b}\", type: string, ttl: 1h}\n"),
	}
}

// A declaration of a megabyte is accepted or refused soon, in little memory and with
// output that can be read. The bound on time is many times what it takes.
func TestDeclarationsOfAMegabyte(t *testing.T) {
	for name, text := range megabytes() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		code, out, said := ran(t, text, "", "lint")
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		if code > 2 || strings.Contains(said, "bug in keywright") {
			t.Errorf("%s: code %d, %s", name, code, said)
		}
		if len(out)+len(said) > 1<<18 {
			t.Errorf("%s: %d bytes of output", name, len(out)+len(said))
		}
		if took > 20*time.Second {
			t.Errorf("%s: %v", name, took)
		}
		t.Logf("%s: code %d, %v, %d MiB allocated, %d bytes of output", name, code, took, (after.TotalAlloc-before.TotalAlloc)>>20, len(out))
	}
}

// No key commands the log of a CI system or a terminal, in any form of match; JSON
// keeps each byte.
func TestMatchedKeysCommandNothing(t *testing.T) {
	keys := []string{"::add-mask::x", "##[error]x", "##vso[task.x]y", "\x1b]0;t\x07", "\u009b31m", "\u202eabc", "a\rb", "\xff", "app:plain"}
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
