package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/source"
	"pgregory.net/rapid"
)

// TestAnAuditGoesOn: an audit that is cut into pieces, each with the state of the one
// before, reports what one in a single piece reports: values in parts included.
func TestAnAuditGoesOn(t *testing.T) {
	ks := loaded(t, `keywright: 1
package: p
vars: {n: int}
owns: ["app:*"]
foreign: ["bull:*"]
keys:
  album: {key: "app:album:{n}", type: hash, ttl: 1h, fields: {title: text, plays: int}}
  tags: {key: "tags:{n}", type: set, ttl: none, member: int}
`)
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		begin := func() *Audit {
			a, err := New(ks, Options{Values: true, Whole: true, Groups: 20, Top: 4})
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		whole, pieces := begin(), begin()
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			step := genStep(t)
			step(whole)
			if rapid.IntRange(0, 9).Draw(t, "cut") == 0 {
				text, err := pieces.State()
				if err != nil {
					t.Fatal(err)
				}
				pieces = begin()
				if err := pieces.Restore(text); err != nil {
					t.Fatal(err)
				}
			}
			step(pieces)
		}
		a, _ := json.Marshal(whole.Report(source.Summary{}, false))
		b, _ := json.Marshal(pieces.Report(source.Summary{}, false))
		if string(a) != string(b) {
			t.Fatalf("in one piece:\n%s\nin several:\n%s", a, b)
		}
	})
}

// genStep returns a key, or a part of the value of one.
func genStep(t *rapid.T) func(*Audit) {
	k := source.Key{Name: genName(t), DB: rapid.IntRange(0, 3).Draw(t, "db"),
		Kind:  source.Kind(1 + rapid.IntRange(0, 5).Draw(t, "kind")),
		Bytes: int64(rapid.IntRange(-1, 5000).Draw(t, "bytes")),
		TTL:   []time.Duration{source.NoTTL, time.Minute, 48 * time.Hour}[rapid.IntRange(0, 2).Draw(t, "ttl")]}
	v := &source.Value{From: int64(rapid.SampledFrom([]int{0, 0, 2, 4}).Draw(t, "from"))}
	for range rapid.IntRange(0, 3).Draw(t, "elements") {
		v.Elements = append(v.Elements,
			[]byte(rapid.SampledFrom([]string{"title", "plays", "7", "x", "\xff"}).Draw(t, "field")),
			fmt.Append(nil, rapid.IntRange(0, 9).Draw(t, "value")))
	}
	if k.Kind == source.Hash || k.Kind == source.Set {
		k.Value = v
	}
	part := rapid.Bool().Draw(t, "part")
	return func(a *Audit) {
		if part && k.Value != nil && a.WantsValue(k.Name, k.Kind) {
			a.Part(&k)
			return
		}
		a.Add([]source.Key{k})
	}
}

// TestAStateOfAnotherDeclaration: it is refused, and so is what is no state.
func TestAStateOfAnotherDeclaration(t *testing.T) {
	a, _ := New(loaded(t, partsOf), Options{})
	text, err := a.State()
	if err != nil {
		t.Fatal(err)
	}
	other, _ := New(loaded(t, "keywright: 1\npackage: p\nkeys:\n  a: {key: a, type: string, ttl: 1h, value: text}\n"), Options{})
	if err := other.Restore(text); !errors.Is(err, ErrOtherState) {
		t.Error(err)
	}
	if err := other.Restore([]byte(`{"items":`)); err == nil {
		t.Error("half a state is taken")
	}
}
