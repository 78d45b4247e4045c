package conformance_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keywright/keywright/gen/conformance"
	"github.com/keywright/keywright/gen/python"
	"github.com/keywright/keywright/gen/typescript"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// pieces are what random patterns are made of: types that run into each other,
// and literals that are part of their values.
var (
	pieceTypes = []string{
		"text", "text max 2", "text rest", "bytes", "int", "int 5..120", "int -20..3", "int ..-1", "bool", "hex", "hex 2",
		"slug", "float", "date", "date YYYYMMDD", "date HH:mm", "uuid", "ulid",
		"timestamp", "unix_s", "unix_ms", "a|b|ab", "a:b|{a}|:", "/[a-z]+/", "/[0-9]{2}(-[0-9]{2})?/", "/(ab|a)+c?/",
		"/[^:]é?/", "/x*y/", "/.{1,3}/",
	}
	pieceLiterals = []string{"", ":", ":", ":", "-", "x", "1", ".", "a", "::", "é", `\xff`, `\{`, `\}`, "e", "0"}
)

// randomPattern returns a pattern by chance; nil if it can be read in two ways or not
// at all.
func randomPattern(t *testing.T, rng *rand.Rand) *pattern.Pattern {
	var text strings.Builder
	types := map[string]scalar.Type{}
	tag := rng.IntN(3) == 0
	for i := range 1 + rng.IntN(5) {
		name := fmt.Sprintf("p%d", i)
		typ, err := scalar.Parse(pieceTypes[rng.IntN(len(pieceTypes))], nil)
		if err != nil {
			t.Fatal(err)
		}
		types[name] = typ
		place := "{" + name + "}"
		if tag && i == 1 {
			place = "{#" + place + "}"
		}
		text.WriteString(pieceLiterals[rng.IntN(len(pieceLiterals))] + place)
	}
	text.WriteString(pieceLiterals[rng.IntN(len(pieceLiterals))])
	p, err := pattern.Parse(text.String(),
		func(name string) (scalar.Type, bool) { typ, ok := types[name]; return typ, ok })
	if err != nil {
		return nil
	}
	return p
}

// TestRandomPatterns: the languages agree on patterns that no one thought of.
func TestRandomPatterns(t *testing.T) {
	gate.Skip(t, "hundreds of patterns in three languages")
	rng := rand.New(rand.NewPCG(7, 7))
	entry := &keyspace.Entry{Name: "e"}
	ks := &keyspace.Keyspace{Package: "random", Entries: []*keyspace.Entry{entry}}
	adjacent := 0
	for range 200 {
		p := randomPattern(t, rng)
		if p == nil || len(p.Placeholders()) < 2 && rng.IntN(8) > 0 {
			continue
		}
		for i, e := range p.Elements()[1:] {
			if e.Placeholder >= 0 && p.Elements()[i].Placeholder >= 0 {
				adjacent++
			}
		}
		ks.Keys = append(ks.Keys,
			&keyspace.Key{Entry: entry, Name: fmt.Sprintf("e%d", len(ks.Keys)), Pattern: p, Kind: keyspace.String,
				TTL: keyspace.TTL{Text: "any"}})
	}
	if len(ks.Keys) < 100 || adjacent < 10 {
		t.Fatalf("%d patterns, %d times two placeholders side by side: too few to prove anything", len(ks.Keys), adjacent)
	}
	dir := t.TempDir()
	vectors := written(t, dir, ks, conformance.Generate)
	agree(t, ks, vectors)
	written(t, dir, ks, typescript.Generate)
	js := filepath.Join(compiled(t, dir), "random.js")
	t.Log(len(ks.Keys), "patterns:", run(t, "node", nodeDir+"/run.mjs", js, vectors))
	t.Log(run(t, "python3", "-W", "error", pythonRun, written(t, dir, ks, python.Generate), vectors))
}
