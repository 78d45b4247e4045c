package conformance_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keywright/keywright/gen/python"
	"github.com/keywright/keywright/gen/typescript"
	stored "github.com/keywright/keywright/value"
)

// goReads describes whether generated Go reads a stored text, and a member of a JSON object.
type goReads struct{ text, member func(string) bool }

func readsOf[T any](form stored.Form, c stored.Codec[T]) goReads {
	inJSON := c
	if b, ok := any(&inJSON).(*stored.Codec[[]byte]); ok {
		*b = stored.Base64[[]byte]()
	}
	columns := []stored.ObjectColumn[T]{stored.Member("m", form, inJSON, func(v *T) *T { return v })}
	return goReads{
		func(text string) bool { _, err := c.Parse(text); return err == nil },
		func(text string) bool { var v T; return stored.UnmarshalObject(columns, []byte(text), &v) == nil },
	}
}

// readers lists the types that readers take whole. Those that are words or forms of text are
// read as text.
var readers = map[string]goReads{
	"text": readsOf(stored.Quoted, stored.Text(0)), "int": readsOf(stored.Bare, stored.Int(-1, 1)),
	"float": readsOf(stored.Bare, stored.Float()), "bool": readsOf(stored.Bare, stored.Bool()),
	"bytes": readsOf(stored.Quoted, stored.Bytes()), "date": readsOf(stored.Quoted, stored.Date("YYYY-MM-DD")),
	"timestamp": readsOf(stored.Quoted, stored.Timestamp()), "unix_s": readsOf(stored.Bare, stored.UnixS()),
	"unix_ms": readsOf(stored.Bare, stored.UnixMS()), "json": readsOf(stored.Inline, stored.Raw()),
}

// storedTexts are scalars, nearly scalars, and what only one language takes for a number.
var storedTexts = []string{
	"0", "1", "-1", "-0", "+1", "01", "1_0", "1_000.5", "0x1f", "0X1p-2", "0b1", "0o7", "1e3", "1E3", "1e", "1.0", "1.50",
	".5", "5.",
	"1e999", "-1e999", "NaN", "nan", "Inf", "-inf", "+Infinity", "infinit", " 1", "1 ", "1\n", "１", "٣",
	"9223372036854775807", "9223372036854775808",
	"-9223372036854775808", "123456789012345678901234567890", "1700000000", "99999999999", "253402300799", "253402300800",
	"253402300799999", "253402300800000", "8640000000000001", "true", "false", "True", "TRUE", "t", "null", "None",
	`"1"`, `"1.5"`, `"true"`, `"1700000000"`, `""`, `"abc"`, `"a"`, `"YQ=="`, `"YQ"`, `"YQ==\n"`, `"Y Q=="`, `"YWI="`,
	`"YWI=="`, `"-_=="`,
	`"2026-01-01"`, `"2026-02-30"`, `"2026-01-01T10:00:00Z"`, `"2026-01-01T10:00:00,5Z"`, "2026-01-01T1:00:00Z",
	"2026-01-01T10:00:00+09:60", "2026-01-01T10:00:00+24:00", "2026-01-01T10:00:60Z", "2026-01-01T10:00:00.1234567890Z",
	"2026-01-01t10:00:00z", "2026-1-01T10:00:00Z", `{}`, `{"a":1}`, `[]`, `[1]`, `"\u0031"`,
	"2026-01-01", "2026-02-30", "2026-01-01T10:00:00Z", "2026-01-01T25:00:00Z", "abc",
}

// TestStoredValuesAreReadAlike: an audit takes for a value, or for a member of a JSON
// object, what Go, TypeScript and Python read, and nothing else.
func TestStoredValuesAreReadAlike(t *testing.T) {
	type question struct{ Item, Text string }
	var questions []question
	var want []bool
	var keys strings.Builder
	for name, reads := range readers {
		fmt.Fprintf(&keys, "  s_%s: {key: \"s:%s\", type: string, value: %s, ttl: any}\n", name, name, name)
		fmt.Fprintf(&keys, "  m_%s: {key: \"m:%s\", type: string, value: {m: %s}, ttl: any}\n", name, name, name)
		typ := parsed(name)
		for _, text := range storedTexts {
			audited := typ.Check([]byte(text)) == nil
			if reads.text(text) != audited {
				t.Errorf("%s %q: the audit says %t, Go %t", name, text, audited, !audited)
			}
			questions, want = append(questions, question{"s_" + name, text}), append(want, audited)
			if !json.Valid([]byte(text)) || text != strings.TrimSpace(text) {
				continue
			}
			object := `{"m":` + text + `}`
			audited = text != "null" && typ.CheckJSON([]byte(text)) == nil
			if reads.member(object) != audited {
				t.Errorf("%s %s: the audit says %t, Go %t", name, object, audited, !audited)
			}
			questions, want = append(questions, question{"m_" + name, object}), append(want, audited)
		}
	}
	dir := t.TempDir()
	declared := filepath.Join(dir, "k.yaml")
	if err := os.WriteFile(declared, []byte("keywright: 1\npackage: stored\nowner: o\nkeys:\n"+keys.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	ks := loaded(t, declared)
	module := func(path string) string { return strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) }
	ts, py := module(written(t, dir, ks, typescript.Generate)), module(written(t, dir, ks, python.Generate))
	asked, err := json.Marshal(questions)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"questions.json": string(asked),
		"ask.mjs": `import * as m from "./js/` + ts + `.js";
import { readFileSync } from "node:fs";
const names = (q) => q.Item.replace(/_(.)/g, (_, c) => c.toUpperCase());
const reads = (q) => { try { m[names(q)].value.decode(q.Text); return true; } catch (e) { if (e instanceof m.ValueError) return false; throw e; } };
console.log(JSON.stringify(JSON.parse(readFileSync(new URL("questions.json", import.meta.url))).map(reads)));
`,
		"ask.py": `import json, os, sys
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
import ` + py + ` as m
def reads(q):
    try:
        getattr(m, q["Item"]).value.decode(q["Text"])
        return True
    except m.StoredValueError:
        return False
print(json.dumps([reads(q) for q in json.load(open(os.path.join(here, "questions.json")))]))
`}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	compiled(t, dir)
	for _, l := range [][]string{{"node", "ask.mjs"}, {"python3", "ask.py"}} {
		var answers []bool
		if err := json.Unmarshal([]byte(run(t, l[0], filepath.Join(dir, l[1]))), &answers); err != nil ||
			len(answers) != len(questions) {
			t.Fatalf("%s: %d answers, %v", l[0], len(answers), err)
		}
		for i, q := range questions {
			if answers[i] != want[i] {
				t.Errorf("%s: %s %q: the audit says %t, the reader %t", l[0], q.Item, q.Text, want[i], answers[i])
			}
		}
	}
}
