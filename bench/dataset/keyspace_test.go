package dataset

import (
	"bytes"
	"testing"
	"testing/fstest"
	"time"

	"github.com/keywright/keywright/bench/keygen"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/keyspace/pattern"
)

// keyspace.yaml and the table of families say the same: the pattern, the type,
// and the longest life that the loader makes of the TTL.
func TestDeclarationMatchesFamilies(t *testing.T) {
	ks := declared(t)
	if len(ks.Entries) != len(families) {
		t.Fatalf("%d entries declared, %d families made", len(ks.Entries), len(families))
	}
	for i, f := range families {
		entry := ks.Entries[i]
		key := entry.Keys[0]
		if entry.Name != f.name || key.Pattern.String() != f.template.Text || string(key.Kind) != f.kind {
			t.Errorf("entry %d is %s %s %s, the family makes %s %s %s", i,
				entry.Name, key.Pattern, key.Kind, f.name, f.template.Text, f.kind)
		}
		if got := ruleOf(key.TTL); got != f.ttl {
			t.Errorf("%s: ttl %s allows %+v, the family makes %+v", f.name, key.TTL.Text, got, f.ttl)
		}
	}
}

func ruleOf(ttl keyspace.TTL) lifetimeRule {
	switch ttl.Policy {
	case keyspace.TTLAny:
		return anyTTL
	case keyspace.TTLNone:
		return never
	}
	return expires(int64(ttl.LiveMax() / time.Millisecond))
}

// Every key is of the entry that the manifest counts it for: as the matcher
// sees it, key by key.
func TestKeysMatchTheirEntries(t *testing.T) {
	ks := declared(t)
	m := matcher(t, ks)
	want := newManifest(Options{Keys: 100_000})
	g := &generator{rand: keygen.New(5), commands: newCommands(&bytes.Buffer{}),
		serials: make([]uint64, len(families)), manifest: want}
	got := Observed{Keys: 100_000, Entries: map[string]EntryTruth{}}
	for range want.Keys {
		g.next()
		switch i := m.Match(g.key, nil); {
		case i == match.None:
			got.Undeclared++
		case i < len(ks.Keys):
			name := ks.Keys[i].Name
			entry := got.Entries[name]
			entry.Keys++
			got.Entries[name] = entry
		case i < len(ks.Keys)+len(ks.Foreign):
			got.Foreign++
		default:
			got.UndeclaredOwned++
			got.Undeclared++
		}
	}
	for i := range want.Entries {
		want.Entries[i].Violations = nil // names do not show them
	}
	for _, difference := range want.Diff(got) {
		t.Error(difference)
	}
}

func declared(t *testing.T) *keyspace.Keyspace {
	t.Helper()
	ks, findings := load.File(fstest.MapFS{"keyspace.yaml": {Data: Declaration}}, "keyspace.yaml")
	for _, f := range findings {
		t.Errorf("keyspace.yaml:%d:%d: %s %s", f.Pos.Line, f.Pos.Column, f.Code, f.Message)
	}
	return ks
}

func matcher(t *testing.T, ks *keyspace.Keyspace) *match.Matcher {
	t.Helper()
	var items []match.Item
	add := func(p *pattern.Pattern, rank int) { items = append(items, match.Item{Pattern: p, Rank: rank}) }
	for _, key := range ks.Keys {
		add(key.Pattern, 0)
	}
	for _, glob := range ks.Foreign {
		add(glob.Pattern, 2)
	}
	for _, glob := range ks.Owns {
		add(glob.Pattern, 3)
	}
	m, conflicts, err := match.Compile(items)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range conflicts {
		t.Errorf("patterns %d and %d overlap: %q", c.A, c.B, c.Witness)
	}
	return m
}
