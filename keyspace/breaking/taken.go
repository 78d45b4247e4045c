package breaking

import (
	"fmt"

	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
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
	for _, s := range places(old, new) {
		if reason := narrowed(s.old, s.new); reason != "" {
			return fmt.Sprintf("where %s is %s and not %s", s.name, text(s.old), text(s.new))
		}
	}
	return ""
}

func ofKey(k *keyspace.Key) *pattern.Pattern { return k.Pattern }
