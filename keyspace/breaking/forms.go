package breaking

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/breaking/internal/pairs"
	"github.com/keywright/keywright/keyspace/breaking/internal/stored"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// surviving calls a check for each entry that both have.
func (c *context) surviving(check func(old, new *keyspace.Entry)) {
	for _, p := range c.pairs {
		if p.New != nil {
			check(p.Old, p.New)
		}
	}
}

// keysMoved: new code reads and writes another name than deployed code. The old
// name is known (else the keys are stranded), but what is written under it from
// now on is not seen.
func (c *context) keysMoved() {
	c.keys(func(old, new *keyspace.Key) {
		if old.Role != "" || old.Entry.Construct == keyspace.Script {
			return
		}
		witness, contained := pattern.Contains(new.Pattern, old.Pattern)
		if contained || !formerly(new.Entry, old.Pattern) {
			return
		}
		users := slices.Clone(old.Entry.Readers)
		if owner := old.Entry.Owner; owner != "" && !slices.Contains(users, owner) {
			users = append([]string{owner}, users...)
		}
		way := renaming(new.Entry)
		if !canRename(new.Entry, old.Pattern) {
			way.fix = cmp.Or(way.fix, c.current.Fix) + namedAlike
			way.order = cmp.Or(way.order, orderWithoutRename)
		}
		c.ordered(cmp.Or(way.order, c.current.order), new.Pos, old.Pos, new.Name, way.fix,
			"deployed code of %s reads and writes %s as %s, and new code does not see it under %s",
			orNobody(strings.Join(users, ", ")), new.Name, finding.Key(witness), new.Pattern)
	})
}

// way describes what to do about a change, and the order of deployment; empty: those of the rule.
type way struct{ fix, order string }

// ways say how the entries of each construct get another name where two versions may not use
// both at once.
var ways = map[keyspace.Construct]way{
	keyspace.Lock: {"stop all that take the lock, then rename its fencing tokens: keywright rename",
		"there is none while both run: the lock would be held under two names at once. Stop all that take it, then rename " +
			"what is there, then start the new version, then drop `was`"},
	keyspace.Queue: {"stop the workers of the old name, then keywright rename; once more when its producers have stopped",
		"stop the workers of the old name, then rename what is there, then the new workers and producers, then stop the " +
			"old producers and rename once more, then drop `was` (in a cluster stop the old producers, too, before the " +
			"first rename)"},
	keyspace.Entity: {"stop all that use the items, then keywright rename: their indexes go along",
		"there is none while both run: neither finds or updates the items of the other. Stop all that use them, then " +
			"rename what is there, then start the new version, then drop `was`"},
	keyspace.Counter: {"stop all that count, then keywright rename",
		"there is none while both run: each version counts by its own name. Stop all that count, then rename what is " +
			"there, then start the new version, then drop `was`"},
	keyspace.Ranking: {"stop all that write the ranking, then keywright rename",
		"there is none while both run: each version ranks by its own name. Stop all that write it, then rename what " +
			"is there, then start the new version, then drop `was`"},
	keyspace.RateLimit: {"see that twice as many may pass for a while",
		"any: each version counts by its own name, and what was counted under the old one is forgotten. Then drop `was`"},
	keyspace.Cache: {"stop what invalidates the old name only, or bear stale values for a TTL",
		"any, where values that are stale for a TTL are borne: deployed code invalidates the old name only. Else stop it " +
			"first. Then drop `was`"},
	keyspace.Plain: {}, keyspace.Topic: {}, keyspace.Script: {}, // by the rule
}

// sealedToName says why keywright rename does not help.
const sealedToName = "read what is sealed under the old name and write it under the new one: keywright rename leaves " +
	"it (sealed-to-name)"

// renaming returns how an entry gets another name. What is sealed is bound to its name.
func renaming(e *keyspace.Entry) way {
	way := ways[e.Construct]
	if !e.HoldsSealed() {
		return way
	}
	if way.fix = sealedToName; e.Construct == keyspace.Plain || e.Construct == keyspace.Cache {
		way.order = "readers that look under both, then writers, then read and write again what is there, then drop `was`"
	} else {
		way.order = "there is none while both run. Stop all that use it, then read what is there and write it under the " +
			"new name, then start the new version, then drop `was`"
	}
	return way
}

// namedAlike and orderWithoutRename are for keys whose old pattern has other placeholders than the new one.
const (
	namedAlike = "; keywright rename takes the keys only if the placeholders under `was` are named as in the new pattern"

	orderWithoutRename = "ACL rules for both names, then readers that look under both, then writers, then drop `was` when " +
		"the old keys are gone"
)

// canRename reports whether keywright rename gives the keys of an old pattern the new name of the entry: the
// placeholders of the new pattern have the names of those of a former one.
func canRename(e *keyspace.Entry, old *pattern.Pattern) bool {
	to := e.Keys[0].Pattern
	return slices.ContainsFunc(e.Was, func(was *pattern.Pattern) bool {
		_, contains := pattern.Contains(was, old)
		return contains && len(was.Placeholders()) == len(to.Placeholders()) &&
			!slices.ContainsFunc(was.Placeholders(), func(p pattern.Placeholder) bool { return !to.Has(p.Name) })
	})
}

// formerly reports whether a pattern is under the former ones of an entry.
func formerly(e *keyspace.Entry, p *pattern.Pattern) bool {
	_, ok, err := within(p, pairs.Patterns(e))
	return ok && err == nil
}

// formChanged: what is stored under one key means something else.
func (c *context) formChanged() {
	c.surviving(func(old, new *keyspace.Entry) {
		if old.Method != new.Method && old.Method != "" && new.Method != "" {
			c.report(at(new, "algorithm"), at(old, "algorithm"), new.Name, "give the new algorithm a key of its own",
				"%s counted by %s and counts by %s, which keeps another state under the same key", new.Name, old.Method, new.Method)
		}
		if old.Construct == keyspace.Ranking && new.Construct == keyspace.Ranking && ties(old) != ties(new) {
			c.report(at(new, "ties"), at(old, "ties"), new.Name, "let the periods that are there end under the old name",
				"ties of %s were ordered by %s and are by %s: the stored scores hold the time in the one and not in the other",
				new.Name, ties(old), ties(new))
		}
	})
}

func ties(e *keyspace.Entry) keyspace.Ties {
	if e.Ties == "" {
		return keyspace.ByMember
	}
	return e.Ties
}

// valueWidened: what new code writes does not fit the type that deployed readers
// have.
func (c *context) valueWidened() {
	c.lanesAdded()
	c.keys(func(old, new *keyspace.Key) {
		c.shapeDropped(old, new)
		if old.Kind != new.Kind {
			return
		}
		for _, s := range stored.Places(old, new) {
			if s.Loosened() {
				c.report(s.Is, s.Was, new.Name, "", "%s of %s was required and is optional: deployed readers refuse what lacks it",
					s.Name, new.Name)
			}
			if s.Old == nil || stored.Narrowed(s.Old, s.New) != "" { // the latter is a finding of its own
				continue
			}
			if reason := stored.Unreadable(s.New, s.Old); reason != "" {
				was, is := s.Places(old, new)
				c.report(is, was, new.Name, "", "%s of %s was %s and is %s, and deployed readers parse it: %s", s.Name, new.Name,
					stored.Text(s.Old), stored.Text(s.New), reason)
			}
		}
	})
}

// lanesAdded: deployed workers do not look into a lane that they do not know.
func (c *context) lanesAdded() {
	c.surviving(func(old, new *keyspace.Entry) {
		if old.Construct != keyspace.Queue || new.Construct != keyspace.Queue {
			return
		}
		known := lanes(old)
		added := slices.DeleteFunc(slices.Clone(lanes(new)), func(l string) bool { return slices.Contains(known, l) })
		if len(known) > 0 && len(added) > 0 {
			c.ordered("all workers, then what enqueues into the new lanes", at(new, "order"), at(old, "order"), new.Name,
				"deploy the workers first",
				"%s has new lanes, %s, and deployed workers take nothing from them", new.Name, strings.Join(added, ", "))
		}
	})
}

// lanes returns the values that the order of a queue has, none if it has no order.
func lanes(e *keyspace.Entry) []string {
	for _, p := range e.Keys[0].Pattern.Placeholders() {
		if p.Name == e.Order {
			return p.Type.Values
		}
	}
	return nil
}

// writersDiffer: an older process writes past what the construct keeps in step.
func (c *context) writersDiffer() {
	c.surviving(func(old, new *keyspace.Entry) {
		if old.Type == new.Type || old.Construct.Stored() != new.Construct.Stored() || old.Script != nil ||
			old.Keys[0].Kind != new.Keys[0].Kind {
			return
		}
		c.report(at(new, "type"), at(old, "type"), new.Name, "",
			"%s was a %s and is a %s: deployed code writes it with other operations", new.Name, old.Type, new.Type)
	})
}

// groupGone: a consumer group that the new declaration does not have.
func (c *context) groupGone() {
	c.surviving(func(old, new *keyspace.Entry) {
		for _, group := range old.Groups {
			if !slices.Contains(new.Groups, group) {
				c.report(at(new, "groups"), at(old, "groups"), new.Name, "",
					"the group %s of %s is gone: what it has not acknowledged is not read any more, and a group under a new name "+
						"begins elsewhere", group, new.Name)
			}
		}
	})
}

// stampGone: a time or version that the server wrote into each item.
func (c *context) stampGone() {
	c.surviving(func(old, new *keyspace.Entry) {
		if new.Construct != keyspace.Entity || old.Construct != keyspace.Entity {
			return
		}
		for _, s := range []struct{ name, old, new string }{
			{"created", old.Stamps.Created, new.Stamps.Created}, {"updated", old.Stamps.Updated, new.Stamps.Updated},
			{"version", old.Stamps.Version, new.Stamps.Version},
		} {
			if s.old != "" && s.old != s.new {
				c.report(at(new, "stamps"), at(old, "stamps"), new.Name, "", "the %s of %s was written to the field %s and is %s",
					s.name, new.Name, s.old, written(s.new))
			}
		}
	})
}

func written(field string) string {
	if field == "" {
		return "not written any more"
	}
	return "written to " + field
}

// ruleShortened: an item lives shorter under the new ttl_by than under the old.
func (c *context) ruleShortened() {
	c.surviving(func(old, new *keyspace.Entry) {
		if old.TTLBy == nil {
			return
		}
		for _, before := range old.TTLBy.Cases {
			after := new.TTL.Default
			if new.TTLBy != nil && new.TTLBy.Field == old.TTLBy.Field {
				after = lifetime(new, before)
			}
			if after > 0 && after < before.TTL {
				c.report(at(new, "ttl_by"), old.TTLBy.Pos, new.Name, "", "items of %s whose %s is %s live for %s instead of %s",
					new.Name, old.TTLBy.Field, before.Word, keyspace.FormatDuration(after), keyspace.FormatDuration(before.TTL))
			}
		}
	})
}

// lifetime returns how long items of a case live now: the shortest, where the new rule
// divides it.
func lifetime(e *keyspace.Entry, before keyspace.TTLCase) (shortest time.Duration) {
	for _, now := range e.TTLBy.Cases {
		overlap := now.Low <= now.High && before.Low <= before.High && now.Low <= before.High && before.Low <= now.High
		if (now.Word == before.Word || overlap) && (shortest == 0 || now.TTL < shortest) {
			shortest = now.TTL
		}
	}
	if shortest == 0 {
		return e.TTL.Default
	}
	return shortest
}

// The ways of values whose old and new form cannot be distinguished by readers, or only by
// those that were made for both.
var (
	wayOfTimes = way{"give the new unit a name of its own",
		"there is none under one name: declare the new unit beside the old one, write both, then move the readers, then " +
			"drop the old one"}
	wayOfSealing = way{"seal what is there: keywright seal adopt",
		"processes that open both and write plain text (seal.Adopting with Plain), then those that seal, then `keywright " +
			"seal adopt --apply`, then the key ring alone"}
	wayOfOpening = way{"rewrite what is sealed as plain text first",
		"processes that open both and write plain text (seal.Adopting with Plain), then rewrite what is stored, then the " +
			"declaration"}
	wayOfReplaced = way{"give the new type a name of its own",
		"there is none under one name: declare the new type beside the old one, write both, then move the readers, then " +
			"drop the old one"}
)

const readersOfBoth = "all subscribers, then the publishers"

// wayTo returns what to do about a type that was narrowed, empty where the rule says it: where the
// values that fit the new type fit the old one.
func wayTo(s stored.Slot) way {
	if s.Old == nil || s.New == nil {
		return way{}
	}
	sealed, opened := s.New.Encrypted && !s.Old.Encrypted, s.Old.Encrypted && !s.New.Encrypted
	switch {
	case stored.Differ(s.Old.Kind, s.New.Kind, scalar.UnixS, scalar.UnixMS):
		return wayOfTimes
	case (sealed || opened) && s.Old.Kind != s.New.Kind:
		return wayOfReplaced
	case sealed:
		return wayOfSealing
	case opened:
		return wayOfOpening
	}
	return way{}
}
