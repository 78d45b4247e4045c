package breaking

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/breaking/internal/pairs"
	"github.com/keywright/keywright/keyspace/breaking/internal/stored"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
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

// former is what makes the keys of an old pattern known under the new declaration.
type former struct {
	was  string   // the pattern; "": none does
	vars []string // to be declared, with their types: a placeholder of it has another type now
}

// former returns the pattern itself where that does. A placeholder whose var has another type now gets a var of its
// own, of the type that it had.
func (c *context) former(old, new *keyspace.Key) former {
	types := map[string]scalar.Type{}
	for _, v := range c.new.Vars {
		types[v.Name] = v.Type
	}
	resolve := func(name string) (scalar.Type, bool) {
		t, ok := types[name]
		t.Var = name
		return t, ok
	}
	out := former{was: old.Pattern.String()}
	if knows(old, new, out.was, resolve) {
		return out
	}
	places := old.Pattern.Placeholders()
	if p, err := pattern.Parse(out.was, resolve); err == nil {
		for i, now := range p.Placeholders() {
			if now.Type.Definition() == places[i].Type.Definition() {
				continue
			}
			t := places[i].Type
			name := now.Name + "_was"
			has, taken := types[name]
			for taken && has.Definition() != t.Definition() {
				name += "_was"
				has, taken = types[name]
			}
			if !taken {
				types[name] = t
				out.vars = append(out.vars, name+": "+typeText(t))
			}
			out.was = strings.ReplaceAll(out.was, "{"+now.Name+"}", "{"+name+"}")
		}
	}
	if !knows(old, new, out.was, resolve) {
		return former{}
	}
	return out
}

// knows reports whether all keys of an old pattern, and those that are derived of them, belong to the new entry if a
// pattern is under its was.
func knows(old, new *keyspace.Key, was string, resolve pattern.Resolve) bool {
	p, err := pattern.Parse(was, resolve)
	if err != nil {
		return false
	}
	if _, ok, err := within(old.Pattern, append(patternsOf(new), p)); !ok || err != nil {
		return false
	}
	for _, k := range old.Entry.Keys {
		n := pairs.Key(new.Entry, k.Role)
		if n == nil || !goesAlong(k, n) {
			continue // it has a finding of its own, or none
		}
		q, err := new.Entry.Renamed(n, p)
		if err != nil {
			return false
		}
		if _, ok, err := within(k.Pattern, append(patternsOf(n), q)); !ok || err != nil {
			return false
		}
	}
	return true
}

var plainType = regexp.MustCompile(`^[a-z][A-Za-z0-9_.| -]*$`)

// typeText returns a type as it is written under vars.
func typeText(t scalar.Type) string {
	if text := t.Definition(); !plainType.MatchString(text) {
		return strconv.Quote(text)
	}
	return t.Definition()
}

// at returns what is to be written at an entry, and under vars.
func (f former) at(entry string) string {
	s := "was: [" + strconv.Quote(f.was) + "]" + entry
	if len(f.vars) > 0 {
		s += ", and " + strings.Join(f.vars, ", ") + " under vars"
	}
	return s
}

// orderOfFormer says how keys go whose values the new type does not have.
const orderOfFormer = "there is none without `was`. With it: code that knows both names, then drop `was` when the " +
	"old keys are gone; keywright rename leaves them, since a placeholder has another type now"

// newTypeUnderWas says why a var of another name is needed.
const newTypeUnderWas = ", since a var has its new type under was, too"

// fixOfEntries and orderOfEntries are for keys that no pattern under was makes known.
const (
	fixOfEntries = "keep the entry, with its vars, as it was until its keys are gone, and give the new pattern an entry " +
		"of its own"
	orderOfEntries = "code that uses both entries, then writers of the new one, then the old entry when its keys are gone"
)
