package keyspace_test

import (
	"slices"
	"testing"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/match"
)

// TestNarrower: a key that a pattern matches, and none of the narrower ones, is the one that the matcher gives to it.
func TestNarrower(t *testing.T) {
	ks := declaration(t, `
  any: {key: "a:{id}", type: string, ttl: none}
  number: {key: "a:{n}", type: string, ttl: none}
  seven: {key: "a:7", type: string, ttl: none}
  word: {key: "a:word", type: string, ttl: none}
  longer: {key: "a:word:{id}", type: string, ttl: none}
`)
	var names [][]string
	for _, k := range ks.Keys {
		var list []string
		for _, n := range ks.Narrower(k) {
			list = append(list, n.Name)
		}
		names = append(names, list)
	}
	if !slices.EqualFunc(names, [][]string{{"number", "seven", "word"}, {"seven"}, nil, nil, nil}, slices.Equal) {
		t.Errorf("%q", names)
	}
	items, targets := ks.Items()
	m, _, err := match.Compile(items)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a:x", "a:7", "a:8", "a:word", "a:word:x", "a:07"} {
		has := func(k *keyspace.Key) bool { _, ok := k.Pattern.Match([]byte(text)); return ok }
		for _, k := range ks.Keys {
			is := has(k) && !slices.ContainsFunc(ks.Narrower(k), has)
			if owner := targets[m.Match([]byte(text), nil)].Key; is != (owner == k) {
				t.Errorf("%s is one of %s: %t, and the matcher gives it to %s", text, k.Name, is, owner.Name)
			}
		}
	}
}
