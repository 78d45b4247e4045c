package infer

import (
	"bytes"
	"slices"
	"testing"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/lint"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/match"
)

// declaration loads a text.
func declaration(t *testing.T, text string) *keyspace.Keyspace {
	t.Helper()
	ks, findings := load.File(oneFile{bytes.NewReader([]byte(text)), int64(len(text))}, draftName)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	return ks
}

// TestInvolvedAreOfTheDraft: what is left out, since patterns cannot be compared, is one of those in the draft.
func TestInvolvedAreOfTheDraft(t *testing.T) {
	d := &Draft{Entries: []*Entry{{Name: "a", Count: Count{Keys: 3}}, {Name: "b", Count: Count{Keys: 2}},
		{Name: "c", Count: Count{Keys: 1}}}}
	var targets []keyspace.Target
	for _, name := range []string{"known", "a", "b", "c"} {
		targets = append(targets, keyspace.Target{Key: &keyspace.Key{Entry: &keyspace.Entry{Name: name}}})
	}
	for _, c := range []struct {
		items []int
		want  []*Entry
	}{{[]int{0, 1, 2}, d.Entries[:2]}, {[]int{0}, d.Entries}, {nil, d.Entries}} {
		if got := d.involved(&match.ComplexError{Items: c.items}, targets); !slices.Equal(got, c.want) {
			t.Errorf("%v: %d entries, want %d", c.items, len(got), len(c.want))
		}
	}
	if got := smallest(d.Entries); got.Name != "c" {
		t.Errorf("the smallest is %s", got.Name)
	}
}

// TestGiveUpLintsClean: a draft that cannot be compared with what is declared already loses its entries, until lint has
// nothing to say. The first of the patterns is a known one.
func TestGiveUpLintsClean(t *testing.T) {
	gate.Skip(t, "compares automata for 10 s")
	const vars = "keywright: 1\nowner: us\nvars:\n  h: /[0-9a-f]{13}/\nkeys:\n"
	d := &Draft{Package: "ours", options: Options{Known: declaration(t, vars+
		"  x: {doc: X., key: \"{a}a{h}\", type: string, ttl: any}\n  y: {doc: Y., key: \"y:{a}\", type: string, ttl: any}\n")}}
	for i, pattern := range []string{"{a}b{h}", "z:{a}"} {
		d.Entries = append(d.Entries, &Entry{Name: []string{"few", "many"}[i], Pattern: pattern, Type: "string", TTL: "any",
			Count: Count{Keys: int64(9 + i)}, tokens: tokensOf(pattern, map[string]string{"h": "/[0-9a-f]{13}/"})})
	}
	d.vars()
	d.names()
	d.giveUp()
	ks, findings, _ := d.load()
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	for _, f := range lint.Run(d.within(ks)) {
		if f.Code == "KW120" {
			t.Errorf("%s: %s", f.Code, f.Message)
		}
	}
	if len(d.Entries) != 1 || d.Entries[0].Pattern != "z:{a}" || len(d.Left) != 1 || d.Left[0].Why != tooComplex {
		t.Errorf("%d entries, left: %+v\n%s", len(d.Entries), d.Left, d.YAML())
	}
}
