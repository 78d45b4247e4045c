package keyspace

import (
	"strings"

	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// The ranks of what a key may belong to: a declared key wins over an old name
// (`was`), that over other software's keys, and the globs of `owns` come last:
// a key that only they match is undeclared although it is in our namespace. After them
// come namespaces as a whole: the one in effect is ours, and any other one is as other
// software.
const (
	RankDeclared = iota
	RankLegacy
	RankForeign
	RankOwned
	RankInside
	RankOtherNamespace
)

// Target describes what an item of the matcher belongs to: exactly one of Key, Legacy,
// Foreign and Owned is set.
type Target struct {
	Key     *Key
	Legacy  *Entry // the key has an old name of this entry
	Was     *Key   // with Legacy: which of its keys had that name
	Foreign *Glob
	Owned   *Glob
}

// Items returns the patterns of the keyspace for match.Compile, and what each of
// them belongs to.
func (ks *Keyspace) Items() ([]match.Item, []Target) {
	var items []match.Item
	var targets []Target
	for _, k := range ks.Keys {
		items, targets = append(items, match.Item{Pattern: k.Pattern, Rank: RankDeclared}), append(targets, Target{Key: k})
	}
	for _, e := range ks.Entries {
		for _, was := range e.Was {
			for _, k := range e.Keys { // what was derived of the old name is an old name, too
				if p, err := e.Renamed(k, was); err == nil && p.String() != k.Pattern.String() {
					items, targets = append(items, match.Item{Pattern: p, Rank: RankLegacy}),
						append(targets, Target{Legacy: e, Was: k})
				}
			}
		}
	}
	for i := range ks.Foreign {
		items, targets = append(items, match.Item{Pattern: ks.Foreign[i].Pattern, Rank: RankForeign}),
			append(targets, Target{Foreign: &ks.Foreign[i]})
	}
	for _, g := range ks.moving() {
		items, targets = append(items, match.Item{Pattern: g.Pattern, Rank: RankForeign}),
			append(targets, Target{Foreign: &g})
	}
	for i := range ks.Owns {
		items, targets = append(items, match.Item{Pattern: ks.Owns[i].Pattern, Rank: RankOwned}),
			append(targets, Target{Owned: &ks.Owns[i]})
	}
	for i := range ks.Inside {
		g := &ks.Inside[i]
		items, targets = append(items, match.Item{Pattern: g.Pattern, Rank: RankInside}), append(targets, Target{Owned: g})
	}
	for i := range ks.Siblings {
		g := &ks.Siblings[i]
		items, targets = append(items, match.Item{Pattern: g.Pattern, Rank: RankOtherNamespace}),
			append(targets, Target{Foreign: g})
	}
	return items, targets
}

// Narrower returns the keys whose patterns the pattern of k holds, and which are narrower: a key of the server that
// both match is one of theirs, as a matcher of Items says.
func (ks *Keyspace) Narrower(k *Key) (out []*Key) {
	for _, other := range ks.Keys {
		if other == k || pattern.Disjoint(k.Pattern, other.Pattern) {
			continue
		}
		_, within := pattern.Contains(k.Pattern, other.Pattern)
		if _, equal := pattern.Contains(other.Pattern, k.Pattern); within && !equal {
			out = append(out, other)
		}
	}
	return out
}

// Lookup finds an entry and one of its keys by name: "tasks" is the entry and
// its main key, "tasks.job" the entry and its job key. Both are nil for an
// unknown name; the key is nil for a script.
func (ks *Keyspace) Lookup(name string) (*Entry, *Key) {
	for _, e := range ks.Entries {
		if e.Name == name && len(e.Keys) == 0 {
			return e, nil
		}
		for _, k := range e.Keys {
			if k.Name == name {
				return e, k
			}
		}
	}
	return nil, nil
}

// Names returns the names Lookup knows, in the order of the declaration.
func (ks *Keyspace) Names() []string {
	var out []string
	for _, e := range ks.Entries {
		if len(e.Keys) == 0 {
			out = append(out, e.Name)
		}
		for _, k := range e.Keys {
			out = append(out, k.Name)
		}
	}
	return out
}

// Ordering returns the place of the placeholder that says which keys of a pattern are older:
// the only one that is a time, else the only one that is a whole number. It is -1 where
// there is none, or more than one. A clean-up rule with `older` needs a time, and one
// with `keep` any order.
func Ordering(p *pattern.Pattern) (at int, isTime bool) {
	var times, numbers []int
	for i, place := range p.Placeholders() {
		switch place.Type.Kind {
		case scalar.Timestamp, scalar.UnixS, scalar.UnixMS, scalar.ULID:
			times = append(times, i)
		case scalar.Date:
			if strings.Contains(place.Type.Layout, "YYYY") {
				times = append(times, i)
			}
		case scalar.Int:
			numbers = append(numbers, i)
		}
	}
	switch {
	case len(times) == 1:
		return times[0], true
	case len(times) == 0 && len(numbers) == 1:
		return numbers[0], false
	}
	return -1, false
}
