package finding

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/keywright/keywright/internal/gate"
)

// some draws findings: few codes, files and messages, so that several are alike.
func some(t *rapid.T) (out []Finding) {
	word := func(name string, words ...string) string { return rapid.SampledFrom(words).Draw(t, name) }
	for range rapid.IntRange(0, 12).Draw(t, "findings") {
		f := Finding{Code: word("code", "KW101", "KW204"), Severity: Severity(rapid.IntRange(0, 2).Draw(t, "severity")),
			Pos:   Position{File: word("file", "a.yaml", "b.yaml"), Line: rapid.IntRange(1, 3).Draw(t, "line")},
			Entry: word("entry", "", "user"), Message: word("message", "one", "two"),
			Count: rapid.Int64Range(0, 5).Draw(t, "count")}
		if rapid.Bool().Draw(t, "parts") {
			f.Count = 0
			for i := range rapid.IntRange(1, 3).Draw(t, "groups") {
				p := Part{Name: fmt.Sprintf("g%d:{int}", i), Count: rapid.Int64Range(1, 5).Draw(t, "keys")}
				f.Parts, f.Count = append(f.Parts, p), f.Count+p.Count
			}
		}
		out = append(out, f)
	}
	return out
}

func all(BaselineEntry) bool { return true }

// TestBaselinesAcceptWhatTheyAreOf: a baseline of findings accepts all of them, whatever their order, and is one text;
// it is the same after it was written and read; an update with the same findings changes nothing.
func TestBaselinesAcceptWhatTheyAreOf(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		// Of findings that are alike a baseline keeps the keys of the first: one of each is drawn.
		findings := slices.CompactFunc(some(t), func(a, b Finding) bool { return Fingerprint(a) == Fingerprint(b) })
		seen := map[string]bool{}
		findings = slices.DeleteFunc(findings, func(f Finding) bool {
			print := Fingerprint(f)
			defer func() { seen[print] = true }()
			return seen[print]
		})
		b := NewBaseline(findings)
		var text, other bytes.Buffer
		if err := b.Write(&text); err != nil {
			t.Fatal(err)
		}
		if err := NewBaseline(rapid.Permutation(findings).Draw(t, "order")).Write(&other); err != nil {
			t.Fatal(err)
		}
		if text.String() != other.String() {
			t.Fatalf("in another order the baseline is\n%s\nnot\n%s", other.String(), text.String())
		}
		back, err := ReadBaseline(&text)
		if err != nil || !reflect.DeepEqual(back, b) {
			t.Fatalf("%+v is read as %+v, %v", b, back, err)
		}
		s := b.Apply(findings, all)
		if len(s.Fresh)+len(s.Grown)+len(s.Gone)+len(s.Unseen) > 0 || len(s.Known) != len(findings) || s.Old > 0 {
			t.Fatalf("%+v", s)
		}
		if again := b.Update(findings, all); !reflect.DeepEqual(again, b) {
			t.Fatalf("%+v is updated to %+v", b, again)
		}
		none := b.Apply(nil, all)
		if len(none.Gone) != len(b.Findings) || len(none.Known)+len(none.Fresh) > 0 {
			t.Fatalf("%+v", none)
		}
		unseen := b.Apply(nil, func(BaselineEntry) bool { return false })
		if len(unseen.Unseen) != len(b.Findings) || len(unseen.Gone) > 0 {
			t.Fatalf("%+v", unseen)
		}
		if kept := b.Update(nil, func(BaselineEntry) bool { return false }); !reflect.DeepEqual(kept, b) {
			t.Fatalf("%+v is updated to %+v", b, kept)
		}
		for i := range findings { // one key more
			more := slices.Clone(findings)
			if more[i].Count++; len(more[i].Parts) > 0 {
				more[i].Parts = slices.Clone(more[i].Parts)
				more[i].Parts[0].Count++
			}
			if s := b.Apply(more, all); len(s.Grown) != 1 || len(s.Fresh) != 1 || s.Grown[0].Accepted+1 != s.Grown[0].Count {
				t.Fatalf("one key more of %+v: %+v", more[i], s)
			}
		}
	})
}

// TestSortedFindings: the order of findings is by their place, then what they say, and Rank puts errors and many keys
// first; nothing is lost.
func TestSortedFindings(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		findings := some(t)
		one, two := slices.Clone(findings), rapid.Permutation(findings).Draw(t, "order")
		Sort(one)
		Sort(two)
		for i := range one {
			if one[i].Pos != two[i].Pos || one[i].Code != two[i].Code || one[i].Message != two[i].Message {
				t.Fatalf("%+v and %+v at %d", one[i], two[i], i)
			}
		}
		Rank(one)
		if !slices.IsSortedFunc(one, func(a, b Finding) int { return int(b.Severity) - int(a.Severity) }) ||
			Count(one) != Count(findings) {
			t.Fatalf("%+v", one)
		}
		c := Count(findings)
		for from, want := range map[Severity]bool{Error: c.Errors > 0, Warning: c.Errors+c.Warnings > 0,
			Note: len(findings) > 0} {
			if c.Failing(from) != want {
				t.Fatalf("%+v fails from %s: %t", c, from, !want)
			}
		}
	})
}

// TestKeysInJSON: a key of any bytes is the same after it was written as JSON and read, a long one its beginning; the
// JSON has no character that steers a terminal.
func TestKeysInJSON(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		key := rapid.SliceOf(rapid.Byte()).Draw(t, "key")
		if rapid.Bool().Draw(t, "text") {
			key = []byte(rapid.String().Draw(t, "key"))
		}
		if rapid.Bool().Draw(t, "long") {
			key = append(bytes.Repeat([]byte("é"), 3000), key...)
		}
		kept := Cut(key)
		var text bytes.Buffer
		if err := WriteJSON(&text, JSONKey(kept), ""); err != nil {
			t.Fatal(err)
		}
		var back JSONKey
		if err := json.Unmarshal(text.Bytes(), &back); err != nil || !bytes.Equal(back, kept) ||
			!bytes.Equal(Cut(kept), kept) {
			t.Fatalf("%q is %s, and back %q, %v", kept, text.Bytes(), back, err)
		}
		if printed := strings.TrimSuffix(text.String(), "\n"); Printable(printed) != printed {
			t.Fatalf("%q", text.String())
		}
		for _, shown := range []string{Key(key), FullKey(key), Cell(string(key))} {
			if !utf8.ValidString(shown) || Printable(shown) != shown || strings.HasPrefix(shown, "::") ||
				strings.Contains(shown, "##[") {
				t.Fatalf("%q is shown as %q", key, shown)
			}
		}
	})
	for key, want := range map[string]string{"a:b": "a:b", "": `""`, "a b": `"a b"`, `a"b`: `"a\"b"`, `a\b`: `"a\\b"`,
		"::a": `"::a"`, "a##b": `"a\x23#b"`, "\xff\x00é": `"\xff\x00é"`, "\u202e": `"\u202e"`, "a\n": `"a\n"`,
		strings.Repeat("x", 200): strings.Repeat("x", 200),
		strings.Repeat("x", 201): `"` + strings.Repeat("x", 200) + `"… (201 bytes)`} {
		if got := Key([]byte(key)); got != want {
			t.Errorf("%q: %s", key, got)
		}
	}
	for cell, want := range map[string]string{"": "", "a": "a", "=1": "'=1", "-1": "'-1", "+": "'+",
		"@x": "'@x", " =1": "' =1", "＝1": "'＝1", "a=1": "a=1", "\t=": "'\ufffd="} {
		if got := Cell(cell); got != want {
			t.Errorf("%q: %q", cell, got)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -999: "-999", -1000: "-1,000",
		1234567: "1,234,567", -123456: "-123,456"} {
		if got := Grouped(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
