package finding

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/keywright/keywright/internal/gate"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-update writes it anew):\n%s", name, diff)
	}
}

const source = "keywright: 1\nkeys:\n  상품: {key: \"캐시:{상품}:x\", ttl: 7}\n\ttab: \"x\"\nlast line"

// hostile are key names that try to steer a terminal.
var hostile = [][]byte{[]byte("plain:1"), []byte("\x1b[31mred"), []byte("\u202eabc"), []byte("line\nbreak"),
	{0xff, 0xfe}, []byte("with space"), []byte(`"quoted\`), []byte("키:1"), {}}

// hostileKeys returns the same as examples; every second one is in database 3.
func hostileKeys() []Example {
	var out []Example
	for i, k := range hostile {
		out = append(out, Example{DB: i % 2 * 3, Key: k})
	}
	return out
}

func samples() []Finding {
	return []Finding{
		{Code: "KW201", Severity: Error, Pos: Position{"k.yaml", 3, 31, 32}, Message: "\"7\" has no unit", Fix: "7s?"},
		{Code: "KW101", Severity: Warning, Pos: Position{"k.yaml", 3, 14, 25}, Message: "wide",
			Related: []Related{{Position{"k.yaml", 1, 1, 10}, "declared here"}}},
		{Code: "KW102", Severity: Note, Pos: Position{"k.yaml", 4, 2, 0}, Message: "behind a tab"},
		{Code: "KW103", Severity: Error, Pos: Position{"k.yaml", 5, 6, 99}, Message: "beyond the end"},
		{Code: "KW104", Severity: Error, Pos: Position{"k.yaml", 99, 1, 2}, Message: "no such line"},
		{Code: "KW501", Severity: Error, Entry: "e", Message: "keys, 100%: a,b\nc", Count: 1200, Examples: hostileKeys()},
		{Code: "KW502", Severity: Warning, Pos: Position{File: "k.yaml"}, Message: "a file only", Count: 1,
			Examples: []Example{{Key: []byte("a")}}},
	}
}

var rules = []Rule{{"KW101", "one", Warning, "One", "Why.", "general fix"},
	{"KW501", "two", Error, "Two", "Why.", "declare it"}}

func options(color bool) Options {
	return Options{Rules: rules, Color: color, Source: func(f string) []byte {
		if f == "k.yaml" {
			return []byte(source)
		}
		return nil
	}}
}

func TestPrinters(t *testing.T) {
	for name, print := range map[string]func(*bytes.Buffer) error{
		"text.golden":   func(b *bytes.Buffer) error { return Text(b, samples(), options(false)) },
		"color.golden":  func(b *bytes.Buffer) error { return Text(b, samples()[:2], options(true)) },
		"json.golden":   func(b *bytes.Buffer) error { return jsonOf(b, samples(), options(false)) },
		"github.golden": func(b *bytes.Buffer) error { return GitHub(b, samples(), options(false)) },
		"sarif.golden":  func(b *bytes.Buffer) error { return SARIF(b, samples(), options(false)) },
		"junit.golden":  func(b *bytes.Buffer) error { return JUnit(b, samples(), options(false)) },
		"passed.golden": func(b *bytes.Buffer) error { return JUnit(b, nil, Options{}) },
		"empty.golden":  func(b *bytes.Buffer) error { return jsonOf(b, nil, Options{}) },
	} {
		var out bytes.Buffer
		if err := print(&out); err != nil {
			t.Fatal(err)
		}
		golden(t, name, out.String())
	}
}

// jsonOf prints findings as a command does.
func jsonOf(w io.Writer, findings []Finding, o Options) error {
	return WriteJSON(w, NewDocument(findings, o.Rules), "  ")
}

// TestJSONKeepsEveryByteOfAKey: a key is an object, whatever its bytes are.
func TestJSONKeepsEveryByteOfAKey(t *testing.T) {
	for _, k := range hostile {
		text, err := json.Marshal(JSONKey(k))
		if err != nil {
			t.Fatal(err)
		}
		var form struct {
			Text   *string
			Base64 []byte
		}
		if err := json.Unmarshal(text, &form); err != nil || form.Text == nil {
			t.Fatalf("%s: %v", text, err)
		}
		if utf8.Valid(k) && (*form.Text != string(k) || form.Base64 != nil) ||
			!utf8.Valid(k) && !bytes.Equal(form.Base64, k) {
			t.Errorf("%q is %s", k, text)
		}
		var back JSONKey
		if err := json.Unmarshal(text, &back); err != nil || !bytes.Equal(back, k) {
			t.Errorf("%q became %q: %v", k, back, err)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, k := range hostile {
		f.Add(k, "message", "source \x1b line")
	}
	f.Fuzz(func(t *testing.T, key []byte, message, line string) {
		var out bytes.Buffer
		finding := Finding{Code: "KW501", Pos: Position{"f\x1b", 1, 3, 7}, Message: message, Fix: message, Count: 1,
			Examples: []Example{{Key: key}}, Related: []Related{{Position{"f\x1b", 1, 1, 2}, message}}}
		if err := Text(&out, []Finding{finding}, Options{Source: func(string) []byte { return []byte(line) }}); err != nil {
			t.Fatal(err)
		}
		for _, r := range out.String() {
			if r < ' ' && r != '\n' || r == 0x7f || r == 0x202e || r == 0x9b {
				t.Fatalf("%U reaches the terminal in %q", r, out.String())
			}
		}
	})
}

func TestWidth(t *testing.T) {
	for text, want := range map[string]int{"abc": 3, "가나": 4, "カナ": 4, "ｶﾅ": 2, "漢": 2, "é": 1, "e\u0301": 1, "😀": 2,
		"": 0, "Ａ": 2} {
		if got := Width(text); got != want {
			t.Errorf("Width(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestIgnore(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	file := func(lines ...string) map[string][]byte {
		return map[string][]byte{"k.yaml": []byte(strings.Join(lines, "\n"))}
	}
	at := func(line int) Finding {
		return Finding{Code: "KW101", Severity: Warning, Pos: Position{File: "k.yaml", Line: line, Column: 1}, Message: "m"}
	}
	for name, c := range map[string]struct {
		files map[string][]byte
		in    Finding
		want  string // codes that remain
	}{
		"used":           {file("# keywright:ignore KW101 because", "a: b"), at(2), ""},
		"over a comment": {file("# keywright:ignore KW101 because", "# more", "", "a: b"), at(4), ""},
		"several codes":  {file("# keywright:ignore KW501, KW101 because", "a: b"), at(2), ""},
		"a block": {file("  # keywright:ignore KW101 because", "  e:", "    key: x", "", "    ttl: 1", "  f:"),
			at(5), ""},
		"after the block": {file("  # keywright:ignore KW101 because", "  e:", "    key: x", "  f:"), at(4),
			"KW090 KW101"},
		"other code":           {file("# keywright:ignore KW501 because", "a: b"), at(2), "KW090 KW101"},
		"not yet expired":      {file("# keywright:ignore KW101 until 2026-11-21 because", "a: b"), at(2), ""},
		"expired":              {file("# keywright:ignore KW101 until 2026-11-20 because", "a: b"), at(2), "KW091 KW101"},
		"no reason":            {file("# keywright:ignore KW101", "a: b"), at(2), "KW092 KW101"},
		"no reason but a date": {file("# keywright:ignore KW101 until 2027-01-01", "a: b"), at(2), "KW092 KW101"},
		"bad date":             {file("# keywright:ignore KW101 until soon because", "a: b"), at(2), "KW092 KW101"},
		"at the end of a line": {file("a: b # keywright:ignore KW101 because"), at(1), "KW101 KW092"},
		"in quotes":            {file(`a: "b # keywright:ignore KW101 because"`), at(1), "KW101"},
		"unknown code":         {file("# keywright:ignore KW999 because", "a: b"), at(2), "KW092 KW101"},
		"no comment":           {file("a: \"# keywright:ignore KW101 because\"", "b: c"), at(2), "KW101"},
		"at the end":           {file("a: b", "# keywright:ignore KW101 because"), at(1), "KW101 KW090"},
	} {
		var codes []string
		for _, f := range Ignore([]Finding{c.in}, c.files, rules, rules, now) {
			codes = append(codes, f.Code)
		}
		if got := strings.Join(codes, " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestIgnoreOfWhatWasNotLookedFor: lint cannot call a comment unused that
// silences an audit, and neither can a run that stopped at a faulty file.
func TestIgnoreOfWhatWasNotLookedFor(t *testing.T) {
	files := map[string][]byte{
		"k.yaml": []byte(
			"# keywright:ignore KW501 because\na: b\n# keywright:ignore KW101,KW501 because\nc: d\n# keywright:ignore KW501 " +
				"until 2026-01-01 because\ne: f")}
	found := Ignore(nil, files, rules, rules[:1], time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC))
	if len(found) != 1 || found[0].Code != "KW091" {
		t.Errorf("%+v", found)
	}
}

func TestSARIFNamesFilesAsURIs(t *testing.T) {
	for file, want := range map[string]string{"a/k.yaml": "a/k.yaml", "my keys.yaml": "my%20keys.yaml",
		"100%.yaml": "100%25.yaml", "a:b.yaml": "./a:b.yaml", "상품.yaml": "%EC%83%81%ED%92%88.yaml"} {
		if got := (&Options{}).physical(Position{File: file}).Artifact.URI; got != want {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
	}
}

func TestBaseline(t *testing.T) {
	all := samples()
	var file bytes.Buffer
	if err := NewBaseline(append(all[:3:3], all[0])).Write(&file); err != nil {
		t.Fatal(err)
	}
	b, err := ReadBaseline(&file)
	if err != nil {
		t.Fatal(err)
	}
	moved := all[0]
	moved.Pos.Line = 500
	got := b.Apply([]Finding{moved, all[1], all[4]}, lookedForAll)
	if len(got.Known) != 2 || len(got.Fresh) != 1 || got.Fresh[0].Code != "KW104" || len(got.Gone) != 2 ||
		len(got.Grown) != 0 {
		t.Errorf("%+v", got)
	}
	many := all[5]
	many.Count = 12
	accepted := NewBaseline([]Finding{many})
	for count, known := range map[int64]int{3: 1, 12: 1, 13: 0} {
		many.Count = count
		got := accepted.Apply([]Finding{many}, lookedForAll)
		if len(got.Known) != known || len(got.Grown) != 1-known || len(got.Fresh) != 1-known || len(got.Gone) != 0 {
			t.Errorf("%d keys where 12 were accepted: %+v", count, got)
		}
		if known == 0 && got.Grown[0].Accepted != 12 || known == 1 && got.Violations() != count {
			t.Errorf("%d keys where 12 were accepted: %+v", count, got)
		}
	}
	for _, text := range []string{"", "{", `{"what":1}`, "[]"} {
		if _, err := ReadBaseline(strings.NewReader(text)); err == nil {
			t.Errorf("%q is taken for a baseline", text)
		}
	}
}

func TestCounts(t *testing.T) {
	c := Count(samples())
	if c != (Counts{4, 2, 1}) || Summary(c) != "4 errors, 2 warnings, 1 note" {
		t.Errorf("%+v %s", c, Summary(c))
	}
	for from, want := range map[Severity]bool{Error: false, Warning: true, Note: true} {
		if (Counts{Warnings: 1}).Failing(from) != want {
			t.Errorf("one warning, failing from %s: %v", from, !want)
		}
	}
}

// TestABaselineThatIsTooLarge: what would not be read is not written.
func TestABaselineThatIsTooLarge(t *testing.T) {
	var file bytes.Buffer
	if err := (Baseline{Findings: make([]BaselineEntry, maxAccepted)}).Write(&file); err == nil || file.Len() > 0 {
		_, read := ReadBaseline(&file)
		t.Errorf("it is written, and reading it says %v", read)
	}
	if bounded(make([]byte, maxBaseline+1)) == nil {
		t.Error("a baseline has no bound in bytes")
	}
}

func lookedForAll(BaselineEntry) bool { return true }

// TestBaselineOfWhatWasNotLookedFor: a baseline after any run is what that run found, and what the
// baseline had and the run did not look for. Nothing of that is gone.
func TestBaselineOfWhatWasNotLookedFor(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		type state struct{ before, now int64 } // keys of a finding; 0: it is not there
		var before, now []Finding
		looked, states := map[string]bool{}, map[string]state{}
		for i := range rapid.IntRange(0, 8).Draw(t, "findings") {
			f := Finding{Code: "KW505", Entry: fmt.Sprint("e", i), Message: "m", Pos: Position{File: "k.yaml"}}
			print, s := Fingerprint(f), state{rapid.Int64Range(0, 3).Draw(t, "before"), rapid.Int64Range(0, 3).Draw(t, "now")}
			looked[print], states[print] = rapid.Bool().Draw(t, "looked"), s
			if f.Count = s.before; f.Count > 0 {
				before = append(before, f)
			}
			if f.Count = s.now; f.Count > 0 {
				now = append(now, f)
			}
		}
		ask := func(e BaselineEntry) bool { return looked[e.Fingerprint] }
		b := NewBaseline(before)
		settled, written := b.Apply(now, ask), map[string]int64{}
		for _, e := range b.Update(now, ask).Findings {
			written[e.Fingerprint] = e.Keys
		}
		gone, unseen, grown, fresh, known := 0, 0, 0, 0, 0
		for print, s := range states {
			want := s.now
			switch {
			case s.now == 0 && s.before > 0 && looked[print]:
				gone++
			case s.now == 0 && s.before > 0:
				unseen++
				want = s.before
			case s.now > s.before:
				fresh++
				if s.before > 0 {
					grown++
				}
			case s.now > 0:
				known++
				if !looked[print] {
					want = s.before
				}
			}
			if written[print] != want {
				t.Fatalf("%+v, looked for %v: the baseline has %d keys", s, looked[print], written[print])
			}
		}
		if len(settled.Gone) != gone || len(settled.Unseen) != unseen || len(settled.Grown) != grown ||
			len(settled.Fresh) != fresh || len(settled.Known) != known {
			t.Fatalf("%+v of %+v", settled, states)
		}
		if all := settled.Balance(); all.NotLooked != unseen || all.Gone != gone || all.Accepted != known {
			t.Fatalf("%+v", all)
		}
	})
}

func TestGitHubSaysThatARunIsNotWhole(t *testing.T) {
	var out bytes.Buffer
	if err := GitHub(&out, nil, Options{Failed: "shard a is missing\n::stop"}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, "::error title=incomplete::shard a is missing") ||
		strings.Count(got, "\n") != 1 {
		t.Errorf("%q", got)
	}
}
