package sample

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/scalar"
	"pgregory.net/rapid"
)

var now = time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)

var opt = Options{Keys: 6000, Seed: 7, Now: now}

// examples loads the five teams' keyspace, the widest there is.
func examples(t testing.TB) *keyspace.Keyspace {
	t.Helper()
	ks, findings := load.File(os.DirFS("../../../../examples"), "all.yaml")
	if len(findings) > 0 {
		t.Fatalf("all.yaml: %s", findings[0].Message)
	}
	return ks
}

// TestKeysObeyTheirDeclaration: each key is matched by its own declaration and
// by no narrower one, with its type, TTL, fields, members and values.
func TestKeysObeyTheirDeclaration(t *testing.T) {
	t.Parallel()
	ks := examples(t)
	o, err := newOwner(ks)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range Generate(ks, opt) {
		if i := o.matcher.Match(k.Name, nil); i < 0 || ks.Keys[i] != k.Decl {
			t.Errorf("%q is not a key of %s", k.Name, k.Decl.Name)
		}
		if k.Kind != k.Decl.Kind || len(k.Rows) == 0 || len(k.Rows[0]) == 0 {
			t.Errorf("%q is a %s with %d rows; %s is a %s", k.Name, k.Kind, len(k.Rows), k.Decl.Name, k.Decl.Kind)
		}
		if expires := k.Decl.TTL.Policy == keyspace.TTLExpires; expires != (k.TTL > 0) ||
			expires && k.TTL > k.Decl.TTL.LiveMax() {
			t.Errorf("%q has TTL %s; %s is %s", k.Name, k.TTL, k.Decl.Name, k.Decl.TTL.Text)
		}
		for _, row := range k.Rows {
			if problem := content(k.Decl, row); problem != "" {
				t.Errorf("%q (%s): %s", k.Name, k.Decl.Name, problem)
			}
		}
	}
}

// content checks the arguments of one command against the declaration.
func content(decl *keyspace.Key, row [][]byte) string {
	switch decl.Kind {
	case keyspace.String:
		if _, payload, headed := bytes.Cut(row[0], []byte("\n")); decl.Headed && headed {
			return check(decl.Value, payload)
		}
		return check(decl.Value, row[0])
	case keyspace.Hash, keyspace.Stream:
		return pairs(row, func(name, value []byte) string { return field(decl, name, value) })
	case keyspace.ZSet:
		return pairs(row, func(score, member []byte) string { return check(decl.Score, score) + check(decl.Member, member) })
	}
	var problem string
	for _, m := range row {
		problem += check(decl.Member, m)
	}
	return problem
}

func pairs(row [][]byte, each func(a, b []byte) string) string {
	var problem string
	for i := 0; i+1 < len(row); i += 2 {
		problem += each(row[i], row[i+1])
	}
	return problem
}

func field(decl *keyspace.Key, name, value []byte) string {
	for _, f := range decl.Fields {
		if f.Name == string(name) {
			return check(&f.Type, value)
		}
	}
	if decl.Field == nil && len(decl.Fields) > 0 {
		return "no field " + string(name)
	}
	if decl.Role == "ledger" && len(name) == 0 { // what it says of the indexes
		return check(decl.Item, value)
	}
	return check(decl.Field, name) + check(decl.Item, value)
}

func check(t *scalar.Type, value []byte) string {
	if t == nil {
		return ""
	}
	if err := t.Check(value); err != nil {
		return err.Error() + ": " + string(value) + "; "
	}
	return ""
}

// TestEveryDeclarationHasKeys, and the total is what was asked for.
func TestEveryDeclarationHasKeys(t *testing.T) {
	t.Parallel()
	ks := examples(t)
	counts := map[*keyspace.Key]int{}
	keys := Generate(ks, opt)
	for _, k := range keys {
		counts[k.Decl]++
	}
	for _, decl := range ks.Keys {
		if counts[decl] == 0 {
			t.Errorf("%s has no keys", decl.Name)
		}
	}
	if n := len(keys); n < opt.Keys*8/10 || n > opt.Keys*13/10 {
		t.Errorf("%d keys; asked for %d", n, opt.Keys)
	}
}

// TestIndexesAgreeWithTheirItems: every member of an index is the id of an item
// that has that value.
func TestIndexesAgreeWithTheirItems(t *testing.T) {
	t.Parallel()
	ks := examples(t)
	items, indexed := map[string]bool{}, 0
	keys := Generate(ks, opt)
	for _, k := range keys {
		if k.Decl.Name == "context" {
			items[string(k.Rows[0][1])] = true // the field id
		}
	}
	for _, k := range keys {
		if k.Decl.Name != "context.index.type" {
			continue
		}
		for i := 1; i < len(k.Rows[0]); i += 2 { // each after its score
			m := k.Rows[0][i]
			indexed++
			if !items[string(m)] {
				t.Fatalf("%q holds %q, which is no context", k.Name, m)
			}
		}
	}
	if indexed != len(items) {
		t.Errorf("%d of %d contexts are in the index by type", indexed, len(items))
	}
}

func TestSameSeedSameData(t *testing.T) {
	t.Parallel()
	ks := examples(t)
	flat := func(seed uint64) []string {
		var out []string
		for _, k := range Generate(ks, Options{Keys: 2000, Seed: seed, Now: now}) {
			for _, cmd := range k.Commands() {
				out = append(out, string(bytes.Join(cmd, []byte{0})))
			}
		}
		return out
	}
	if diff := cmp.Diff(flat(1), flat(1)); diff != "" {
		t.Errorf("two runs with one seed differ:\n%s", diff)
	}
	if cmp.Equal(flat(1), flat(2)) {
		t.Error("two seeds gave the same data")
	}
}

// TestSoonestLast: what expires first is written last.
func TestSoonestLast(t *testing.T) {
	t.Parallel()
	keys := Generate(examples(t), opt)
	for i := 1; i < len(keys); i++ {
		if due(keys[i-1]) < due(keys[i]) {
			t.Fatalf("%q (%s) comes before %q (%s)", keys[i-1].Name, keys[i-1].TTL, keys[i].Name, keys[i].TTL)
		}
	}
}

// TestValuesAreOfTheirType for any type anybody could write.
func TestValuesAreOfTheirType(t *testing.T) {
	t.Parallel()
	texts := []string{
		"text", "text max 5", "int", "int 1..5", "int -9..-3", "int 5000000..", "int ..-7",
		"int -9223372036854775808..9223372036854775807",
		"float", "bool", "bytes", "uuid", "ulid", "hex", "hex 8", "slug", "date", "date YYYYMMDD-HHmmss", "timestamp",
		"unix_s", "unix_ms",
		"a|b|c", "/[a-z]+-[0-9]{2,4}(x|y)?/", "/(global|[0-9]{6,20})/", "/[^:]+/", "json", "text encrypted",
	}
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		typ, err := scalar.Parse(rapid.SampledFrom(texts).Draw(t, "type"), nil)
		if err != nil {
			t.Fatal(err)
		}
		g := newMaker("x", Options{Seed: rapid.Uint64().Draw(t, "seed"), Now: now})
		if v := g.value(typ); typ.Check(v) != nil {
			t.Fatalf("%s: %q: %v", typ, v, typ.Check(v))
		}
	})
}
