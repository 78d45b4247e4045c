package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/group"
	"github.com/keywright/keywright/source"
	"pgregory.net/rapid"
)

// mergedOf has every kind of row and of fault.
const mergedOf = `keywright: 1
package: t
owner: o
owns: ["app:*"]
foreign: ["bull:*"]
vars: {n: int}
keys:
  album: {key: "app:album:{n}", type: string, ttl: 1h, was: ["app:alb:{n}"]}
  tags: {key: "tags:{n}", type: set, ttl: none, member: int}
  song: {key: "song:{n}", type: hash, ttl: any, fields: {title: text max 2, plays: int}}
`

// genPlace returns a key with a name of its own; most of them are of few families, so that words
// are folded in the whole and not in a part.
func genPlace(t *rapid.T, i int) source.Key {
	word := rapid.StringMatching(`[a-c]{1,3}`).Draw(t, "word")
	name := rapid.SampledFrom([]string{
		fmt.Sprintf("app:album:%d", i), fmt.Sprintf("app:alb:%d", i), fmt.Sprintf("tags:%d", i), fmt.Sprintf("song:%d", i),
		fmt.Sprintf("bull:%d", i),
		fmt.Sprintf("%s:%d", word, i), fmt.Sprintf("app:%s:%s:%d", word, word[:1], i), fmt.Sprintf("u:%s:profile", word),
		fmt.Sprintf("u:%s:%s", word[:1], word),
		fmt.Sprintf("%s-%d", word, i), "u:" + strings.Repeat("long", 20) + fmt.Sprint(i), "u:\xff" + fmt.Sprint(i)}).Draw(t,
		"name")
	k := source.Key{Name: []byte(name), DB: i, Kind: source.Kind(1 + rapid.IntRange(0, 5).Draw(t, "kind")),
		Bytes: int64(rapid.IntRange(-1, 9).Draw(t, "bytes")),
		TTL:   []time.Duration{source.NoTTL, time.Minute, 48 * time.Hour}[rapid.IntRange(0, 2).Draw(t, "ttl")]}
	switch {
	case strings.HasPrefix(name, "song"):
		k.Kind, k.Value = source.Hash, &source.Value{}
		for _, field := range rapid.SliceOfN(rapid.IntRange(0, 40), 0, 4).Draw(t, "fields") {
			k.Value.Elements = append(k.Value.Elements, fmt.Appendf(nil, "f%d", field), []byte("xyz"))
		}
	case strings.HasPrefix(name, "tags"):
		k.Kind, k.Value = source.Set, &source.Value{Elements: [][]byte{[]byte(word)}}
	}
	return k
}

// TestMergedIsWhole: audits of parts of the keys, merged in any order and by way of others,
// report what one audit of all keys reports: totals, quantiles, groups, examples, faults.
func TestMergedIsWhole(t *testing.T) {
	ks := loaded(t, mergedOf)
	folded := 0
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		begin := func() *Audit {
			a, err := New(ks, Options{Values: true, Whole: true, Groups: 7, Top: 4, Examples: 3})
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		state := func(a *Audit) []byte {
			text, err := a.State()
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		whole, parts := begin(), []*Audit{begin()}
		for range rapid.IntRange(0, 5).Draw(t, "more parts") {
			parts = append(parts, begin())
		}
		for i := range rapid.IntRange(0, 150).Draw(t, "keys") {
			k := genPlace(t, i)
			whole.Add([]source.Key{k})
			parts[rapid.IntRange(0, len(parts)-1).Draw(t, "part")].Add([]source.Key{k})
		}
		for i := range 30 { // words that are values in the whole, and are too few for that in a part
			k := key(fmt.Sprintf("flat:%c%c", 'a'+i%26, 'a'+i/26), source.String, no)
			whole.Add([]source.Key{k})
			parts[rapid.IntRange(0, len(parts)-1).Draw(t, "part")].Add([]source.Key{k})
		}
		for len(parts) > 1 { // two become one until one is left
			i := rapid.IntRange(1, len(parts)-1).Draw(t, "into another")
			into := begin()
			for _, part := range []*Audit{parts[i], parts[0]} {
				if err := into.Merge(state(part)); err != nil {
					t.Fatal(err)
				}
			}
			parts[i] = into
			parts = parts[1:]
		}
		a, _ := json.MarshalIndent(whole.Report(source.Summary{}, false), "", " ")
		b, _ := json.MarshalIndent(parts[0].Report(source.Summary{}, false), "", " ")
		if string(a) != string(b) {
			t.Fatalf("whole:\n%s\nmerged:\n%s", a, b)
		}
		for _, g := range whole.sketch.tree.Groups(nil) {
			folded += len(g.Folds)
		}
	})
	if folded == 0 {
		t.Error("no words became a placeholder")
	}
}

// TestMergedSketchesAreBounded: however many are merged, no key is lost, and the report says that words were given up.
func TestMergedSketchesAreBounded(t *testing.T) {
	ks := loaded(t, mergedOf)
	all, _ := New(ks, Options{})
	all.sketch.tree = group.New[tally](500)
	for part := range 20 {
		a, _ := New(ks, Options{})
		for i := range 1000 {
			a.Add([]source.Key{key(fmt.Sprintf("%c%c:%c:%c%d_%c", 'a'+part, 'a'+i%20, 'a'+i/20%20, 'a'+i/400, i, 'a'+i%7),
				source.String, no)})
		}
		text, err := a.State()
		if err != nil {
			t.Fatal(err)
		}
		if err := all.Merge(text); err != nil {
			t.Fatal(err)
		}
	}
	r := all.Report(source.Summary{}, false)
	keys := int64(0)
	if rest := r.Undeclared.Rest; rest != nil {
		keys = rest.Keys
	}
	for _, s := range r.Undeclared.Suggestions {
		keys += s.Keys
	}
	if keys != 20_000 || r.Total.Keys != 20_000 {
		t.Errorf("%d keys in groups, %d in all", keys, r.Total.Keys)
	}
	if len(r.Notes) == 0 || !strings.Contains(r.Notes[0], "are grouped as {text}") {
		t.Errorf("the report does not say that words were given up: %q", r.Notes)
	}
}

// TestMergeOfAnotherDeclaration: it is refused, and so is what is no state; nothing of it
// is counted.
func TestMergeOfAnotherDeclaration(t *testing.T) {
	a, _ := New(loaded(t, partsOf), Options{})
	a.Add([]source.Key{key("x", source.String, no)})
	text, _ := a.State()
	other, _ := New(loaded(t, mergedOf), Options{})
	if err := other.Merge(text); !errors.Is(err, ErrOtherState) {
		t.Error(err)
	}
	bad := strings.Replace(string(text), `"kind":1`, `"kind":99`, 1)
	if err := a.Merge([]byte(bad)); bad == string(text) || !errors.Is(err, ErrOtherState) {
		t.Error(err)
	}
	if err := other.Merge([]byte(`{"items":`)); err == nil {
		t.Error("half a state is taken")
	}
	if r := other.Report(source.Summary{}, false); r.Total.Keys != 0 {
		t.Errorf("%+v", r.Total)
	}
}
