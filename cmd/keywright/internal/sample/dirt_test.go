package sample

import (
	"slices"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load"
)

// TestEveryFaultIsPlanted: the examples can show all of them, and each key
// really has the fault the manifest names, and no second one.
func TestEveryFaultIsPlanted(t *testing.T) {
	t.Parallel()
	ks := examples(t)
	keys, manifest, err := Soil(ks, Generate(ks, opt), 25, opt)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]Key{}
	for _, k := range keys {
		if _, twice := byName[string(k.Name)]; twice {
			t.Errorf("%q is there twice", k.Name)
		}
		byName[string(k.Name)] = k
	}
	o, err := newOwner(ks)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range manifest {
		if has := faults(ks, o, byName[string(p.Name)]); !slices.Equal(has, []Fault{p.Fault}) {
			t.Errorf("%q was planted with %q and has %q", p.Name, p.Fault, has)
		}
		delete(byName, string(p.Name))
	}
	for _, k := range byName {
		if has := faults(ks, o, k); len(has) > 0 {
			t.Errorf("%q is clean in the manifest and has %q", k.Name, has)
		}
	}
	for _, f := range Faults {
		if manifest.Count(f) == 0 {
			t.Errorf("no key has %q", f)
		}
	}
}

// faults looks at a key as an auditor would.
func faults(ks *keyspace.Keyspace, o *owner, k Key) []Fault {
	switch o.of(k.Name) {
	case keyspace.RankLegacy:
		return []Fault{Legacy}
	case keyspace.RankForeign:
		return []Fault{Foreign}
	case keyspace.RankOwned:
		return []Fault{Typo}
	case noOwner:
		return []Fault{Stray}
	}
	var out []Fault
	decl := ks.Keys[o.matcher.Match(k.Name, nil)]
	expires := decl.TTL.Policy == keyspace.TTLExpires
	for fault, has := range map[Fault]bool{
		WrongType:     k.Kind != decl.Kind,
		NoTTL:         expires && k.TTL == 0,
		TTLTooLong:    expires && k.TTL > decl.TTL.LiveMax(),
		UnexpectedTTL: decl.TTL.Policy == keyspace.TTLNone && k.TTL > 0,
	} {
		if has {
			out = append(out, fault)
		}
	}
	return out
}

// TestNothingToShow: a keyspace without `was`, `foreign` and expiring keys gets
// the faults it can have.
func TestNothingToShow(t *testing.T) {
	t.Parallel()
	ks, findings := load.File(mapFS(`
keywright: 1
package: p
owner: o
owns: ["a:*"]
keys:
  one:
    key: a:one
    type: string
    ttl: none
`), "k.yaml")
	if len(findings) > 0 {
		t.Fatal(findings[0].Message)
	}
	_, manifest, err := Soil(ks, Generate(ks, opt), 3, opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range manifest {
		if slices.Contains([]Fault{NoTTL, TTLTooLong, Legacy, Foreign}, p.Fault) {
			t.Errorf("%q was planted with %q, which this keyspace cannot have", p.Name, p.Fault)
		}
	}
	if manifest.Count(UnexpectedTTL) != 1 || manifest.Count(Stray) != 3 {
		t.Errorf("planted %v", manifest)
	}
}

func mapFS(text string) fstest.MapFS { return fstest.MapFS{"k.yaml": {Data: []byte(text)}} }
