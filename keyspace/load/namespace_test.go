package load

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
)

// tenants has every construct, with derived keys and channels, in a namespace.
const tenants = `keywright: 1
package: p
namespace: {default: poppo, names: "poppo|poppo-test|pop"}
owns: ["poppo:*"]
foreign: ["bull:*"]
shape: "poppo:{a}[:{b}][:{c}]"
vars: {id: int 1.., priority: high|low, day: date, k: a|b}
keys:
  text: {key: "poppo:text:{rest}", type: string, ttl: none, was: ["poppo:old:{rest}", "older:{rest}"]}
  mutex: {key: "poppo:lock:{id}", type: lock, ttl: 1m}
  tasks: {key: "poppo:queue:{priority}", type: queue, order: priority, ttl: none, skip: [shape]}
  tagged: {key: "poppo:{#jobs}:main", type: queue, ttl: none, skip: [shape]}
  inside: {key: "poppo:{#poppo:queue}:extra", type: set, ttl: none, skip: [shape]}
  page: {key: "poppo:page:{id}", type: cache, ttl: 10m}
  board: {key: "poppo:board:{day}", type: ranking, member: text, score: int, ttl: 7d, cached: 5m}
  memo: {key: "poppo:memo:{id}", type: entity, ttl: 1h, fields: {k: k, at: unix_ms}, index: {k+at: "poppo:idx:k:{k}"}}
channels:
  ask: {channel: "poppo:ask", message: {n: int}, reply: {n: int}}
  log: {channel: "poppo:log", durable: {age: 1d}, message: {n: int}}
cleanup: [{match: "poppo:text:*", idle: 1d}]
pressure: [{at: 80%, entry: memo, where: {k: a}, shorten: to 5m}]
`

// in loads the declaration with another namespace.
func in(t *testing.T, name string) *keyspace.Keyspace {
	t.Helper()
	files := fstest.MapFS{"k.yaml": {Data: []byte(tenants)}}
	ks, found := File(files, "k.yaml")
	if len(found) > 0 {
		t.Fatal(print(ks.Files, found))
	}
	names, err := ks.Choose(name)
	must(t, err)
	ks, found = In(files, "k.yaml", names)
	if len(found) > 0 {
		t.Fatal(print(ks.Files, found))
	}
	return ks
}

// names are the patterns of all keys and channels.
func patterns(ks *keyspace.Keyspace) (all []*pattern.Pattern) {
	for _, k := range ks.Keys {
		all = append(all, k.Pattern)
	}
	for _, c := range ks.Channels {
		all = append(all, c.Pattern)
	}
	return all
}

// TestNamespacesDoNotTouch: no key, derived key or channel of one namespace is one
// of another, not even where the one name begins with the other; and each is
// inside of its own.
func TestNamespacesDoNotTouch(t *testing.T) {
	a, b, c := in(t, "poppo"), in(t, "poppo-test"), in(t, "pop")
	for _, ks := range []*keyspace.Keyspace{a, b, c} {
		own := ks.Owns[0].Pattern
		for _, p := range patterns(ks) {
			if witness, ok := pattern.Contains(own, p); !ok {
				t.Errorf("%s is outside of %s: %s", p, own, witness)
			}
		}
	}
	for _, pair := range [][2]*keyspace.Keyspace{{a, b}, {a, c}, {b, c}} {
		for _, p := range patterns(pair[0]) {
			for _, q := range patterns(pair[1]) {
				if witness, ok := pattern.Overlap(p, q); ok {
					t.Errorf("%s and %s share %s", p, q, witness)
				}
			}
		}
	}
	if len(patterns(a)) < 30 {
		t.Errorf("%d patterns only", len(patterns(a)))
	}
}

// TestNamespaceMovesWhatItShould: patterns, globs, the shape and old names move; the
// slot of a derived key is that of its main key.
func TestNamespaceMovesWhatItShould(t *testing.T) {
	ks := in(t, "poppo-test")
	_, main := ks.Lookup("mutex")
	_, fence := ks.Lookup("mutex.fence")
	_, leases := ks.Lookup("tasks.leases")
	_, inside := ks.Lookup("inside")
	for _, test := range [][2]string{
		{main.Pattern.String(), "poppo-test:lock:{id}"}, {fence.Pattern.String(), "poppo-test:{#poppo-test:lock:{id}}:fence"},
		{leases.Pattern.String(), "poppo-test:{#poppo-test:queue}:leases"},
		{inside.Pattern.String(), "poppo-test:{#poppo-test:queue}:extra"},
		{ks.Owns[0].Text, "poppo-test:*"}, {ks.Cleanup[0].Match.Text, "poppo-test:text:*"},
		{ks.Entries[0].Was[0].String(), "poppo-test:old:{rest}"},
	} {
		if test[0] != test[1] {
			t.Errorf("%s, not %s", test[0], test[1])
		}
	}
	if !main.Pattern.SameSlot(fence.Pattern) {
		t.Error("the fence is in another slot than its lock")
	}
	if n := len(ks.Entries[0].Was); n != 1 {
		t.Errorf("%d old names: one is of the declared namespace only", n)
	}
	var foreign []string
	for _, g := range ks.Foreign {
		foreign = append(foreign, g.Text)
	}
	if got := strings.Join(foreign, " "); got != "bull:* poppo:* pop:*" {
		t.Errorf("foreign: %s", got)
	}
}

// TestNamespaceChoices: what cannot be chosen is refused with a reason.
func TestNamespaceChoices(t *testing.T) {
	ks := in(t, "poppo")
	for text, want := range map[string]string{
		"": "is empty", "a:b": "has a byte", "*": "has a byte", strings.Repeat("x", 65): "longer", "other": "one of",
		"shop=x": "no namespace", "poppo=poppo,poppo=pop": "two names",
	} {
		if _, err := ks.Choose(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := (&keyspace.Keyspace{}).Choose("x"); err == nil {
		t.Error("a declaration without a namespace took a name")
	}
}
