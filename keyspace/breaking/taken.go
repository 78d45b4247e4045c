package breaking

import (
	"fmt"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/breaking/internal/pairs"
	"github.com/keywright/keywright/keyspace/breaking/internal/stored"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/pattern"
)

// mostCompared bounds the steps in which patterns are compared: so many cost about a second.
const mostCompared = 1 << 24

// keysTaken: a key of another entry, of another type, that a new pattern matches and
// its entry did not match before.
func (c *context) keysTaken() {
	c.fallenUnlike()
	before := pattern.NewIndex(c.old.Keys, ofKey)
	was := c.formerly()
	budget := mostCompared
	for _, k := range c.new.Keys {
		former := was[k]
		if former != nil && former.Pattern.Language() == k.Pattern.Language() {
			continue
		}
		for _, old := range before.Meet(k.Pattern) {
			differs := unlike(old, k)
			if old == former || differs == "" {
				continue
			}
			var without []*pattern.Pattern
			if former != nil {
				without = patternsOf(former)
			}
			witness, found, decided := pattern.WitnessWithin(&budget, []*pattern.Pattern{k.Pattern, old.Pattern}, without)
			if found {
				c.report(k.Pos, old.Pos, k.Name, "", "the key %s matches %s (%s) now and belonged to %s (%s), %s",
					finding.Key(witness), k.Name, k.Pattern, old.Name, old.Pattern, differs)
			} else if !decided {
				c.report(k.Pos, old.Pos, k.Name, "", "whether %s (%s) matches keys of %s (%s) is not known: that takes too long",
					k.Name, k.Pattern, old.Name, old.Pattern)
				return
			}
		}
	}
}

// formerly returns the key that each new key was before.
func (c *context) formerly() map[*keyspace.Key]*keyspace.Key {
	out := map[*keyspace.Key]*keyspace.Key{}
	c.keys(func(old, new *keyspace.Key) { out[new] = old })
	return out
}

// patternsOf returns the patterns of a key and its former ones: what a construct derived of an
// old name is an old name, too.
func patternsOf(k *keyspace.Key) []*pattern.Pattern {
	out := []*pattern.Pattern{k.Pattern}
	for _, was := range k.Entry.Was {
		if p, err := k.Entry.Renamed(k, was); err == nil && p.String() != k.Pattern.String() {
			out = append(out, p)
		}
	}
	return out
}

// unlike says why what is stored under an old key is nothing for a new one, "" if it fits.
func unlike(old, new *keyspace.Key) string {
	if old.Kind != new.Kind {
		return fmt.Sprintf("which is a %s and no %s", old.Kind, new.Kind)
	}
	for _, s := range stored.Places(old, new) {
		if reason := stored.Narrowed(s.Old, s.New); reason != "" {
			return fmt.Sprintf("where %s is %s and not %s", s.Name, stored.Text(s.Old), stored.Text(s.New))
		}
	}
	return ""
}

func ofKey(k *keyspace.Key) *pattern.Pattern { return k.Pattern }

// fallen holds keys of an entry that is gone, or has another pattern, and that an entry
// which stays as it is matches, too: the narrower pattern had them, now the wider has.
type fallen struct {
	old, stays *keyspace.Key
	witness    []byte // nil: it takes too long to tell one
	differs    string // why they are nothing for the entry that stays, "" if they may be
}

// keysFallen finds them.
func (c *context) keysFallen() []fallen {
	if c.fell != nil {
		return *c.fell
	}
	var out []fallen
	c.fell = &out
	now, was := pattern.NewIndex(c.new.Keys, ofKey), c.formerly()
	before := pattern.NewIndex(c.old.Keys, ofKey)
	budget := mostCompared
	for _, p := range c.pairs {
		for _, old := range p.Old.Keys {
			var kept []*pattern.Pattern
			if p.New != nil {
				if k := pairs.Key(p.New, old.Role); k != nil {
					kept = patternsOf(k)
				}
			}
			if len(kept) > 0 && kept[0].Language() == old.Pattern.Language() {
				continue
			}
			other := wider(now.Meet(old.Pattern), old, func(k *keyspace.Key) bool {
				former := was[k]
				return former != nil && former != old && former.Pattern.Language() == k.Pattern.Language()
			})
			if other == nil {
				continue
			}
			for _, k := range before.Meet(old.Pattern) { // those had their keys before, too
				if _, within := pattern.Contains(old.Pattern, k.Pattern); k != old && within {
					kept = append(kept, k.Pattern)
				}
			}
			witness, found, decided := pattern.WitnessWithin(&budget, []*pattern.Pattern{old.Pattern, other.Pattern}, kept)
			if found || !decided {
				out = append(out, fallen{old, other, witness, unlike(old, other)})
			}
			if !decided {
				return out
			}
		}
	}
	return out
}

// wider returns the narrowest of some keys whose pattern has all keys of old, nil if there is none.
func wider(list []*keyspace.Key, old *keyspace.Key, stays func(*keyspace.Key) bool) (best *keyspace.Key) {
	for _, k := range list {
		if !stays(k) {
			continue
		}
		if _, ok := pattern.Contains(k.Pattern, old.Pattern); !ok || k.Pattern.Language() == old.Pattern.Language() {
			continue
		}
		if best != nil {
			if _, narrower := pattern.Contains(best.Pattern, k.Pattern); !narrower {
				continue
			}
		}
		best = k
	}
	return best
}

// fallenUnlike: what is there is nothing for the entry that reads it now.
func (c *context) fallenUnlike() {
	for _, f := range c.keysFallen() {
		if f.differs != "" {
			c.ordered(orderOfFallen, f.stays.Pos, f.old.Pos, f.stays.Name, "keep the entry until its keys are gone",
				"%s belonged to %s (%s), %s, and is read as %s (%s) now",
				f.shown(), f.old.Name, f.old.Pattern, f.differs, f.stays.Name, f.stays.Pattern)
		}
	}
}

// keysMerged: what is there is read as another entry.
func (c *context) keysMerged() {
	for _, f := range c.keysFallen() {
		if f.differs == "" {
			c.report(f.stays.Pos, f.old.Pos, f.stays.Name, "", "%s belonged to %s (%s) and is read as %s (%s) now", f.shown(),
				f.old.Name, f.old.Pattern, f.stays.Name, f.stays.Pattern)
		}
	}
}

func (f *fallen) shown() string {
	if f.witness == nil {
		return "a key"
	}
	return "the key " + finding.Key(f.witness)
}

// The orders of deployment for keys that another entry takes over.
const (
	orderOfFallen = "first all code that uses the old entry, then rename or delete its keys, then the declaration"
	orderOfMerged = "readers that know both kinds of keys, then writers, then the declaration"
)
