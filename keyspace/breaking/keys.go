package breaking

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/breaking/internal/pairs"
	"github.com/keywright/keywright/keyspace/breaking/internal/stored"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/pattern"
)

// declared holds the patterns that are declared now, former ones included.
type declared struct {
	patterns *pattern.Index[*pattern.Pattern]
	union    *pattern.Union // nil: they are too many for one automaton
	budget   int            // of steps, where they are
}

// now returns them.
func (c *context) now() *declared {
	if c.declared == nil {
		var list []*pattern.Pattern
		for _, k := range c.new.Keys {
			list = append(list, patternsOf(k)...)
		}
		c.declared = &declared{pattern.NewIndex(list, func(p *pattern.Pattern) *pattern.Pattern { return p }), nil,
			mostCompared / 8}
		if union, err := pattern.Join(list...); err == nil {
			c.declared.union = union
		}
	}
	return c.declared
}

// lacks finds a key of p that none of them matches. Where none begins as p does it needs no automaton.
func (d *declared) lacks(p *pattern.Pattern) (witness []byte, found, decided bool) {
	others := d.patterns.Meet(p)
	switch {
	case len(others) == 0:
		return p.Example(), true, true
	case d.union != nil:
		witness, ok := d.union.Contains(p)
		return witness, !ok, true
	}
	return pattern.WitnessWithin(&d.budget, []*pattern.Pattern{p}, others)
}

// stranded: keys of the old pattern that neither the new one nor a former one
// matches. A var that was narrowed is one finding, whatever uses it.
func (c *context) stranded() {
	causes := c.fold()
	c.keys(func(old, new *keyspace.Key) {
		list := patternsOf(new)
		index := isIndex(old.Entry, old)
		witness, ok, err := within(old.Pattern, list)
		if err != nil || goesAlong(old, new) { // the finding of the main key names it
			return
		}
		if ok {
			if u := stored.UnitChanged(old.Pattern, list); u != nil && !index { // of an index KW613 says it, of the field
				causes.add(c.changedVar(old.Pattern, new.Pattern),
					found{pos: new.Pos, was: old.Pos, entry: new.Name, order: orderOfUnits,
						fix: "give the other unit a placeholder of its own, under a pattern of its own",
						message: fmt.Sprintf("keys of %s (%s) have %s: deployed code and new code find none of each other's", new.Name,
							old.Pattern, u)})
			}
			return
		}
		if index && old.Pattern.String() != new.Pattern.String() {
			return // KW615 says how it is built under its new keys
		}
		if r := c.retiredPattern(old.Pattern); r != nil {
			c.noteRetired(r, old.Pos, new.Name, "the pattern %s of %s is gone", old.Pattern, new.Name)
			return
		}
		fix, order := "", ""
		if old.Role == "" && old.Pattern.String() != new.Pattern.String() {
			way := renaming(new.Entry)
			switch f := c.former(old, new); {
			case f.was == "":
				fix, order = fixOfEntries, orderOfEntries
			case f.was != old.Pattern.String():
				fix, order = "add "+f.at("")+newTypeUnderWas, orderOfFormer
			default:
				fix = "add " + f.at("")
				if way.order != "" {
					order = "there is none without `was`. With it: " + way.order
				}
			}
		}
		if word := given(old); word != "" && old.Pattern.String() != new.Pattern.String() {
			fix = "keep its name: " + word + `: "` + old.Pattern.String() +
				`"; or see that there is no such key any more: was does not cover it`
			order = orderOfRole
		}
		if cause := c.changedVar(old.Pattern, new.Pattern); cause != "" {
			fix, order = "let the var "+cause+" take what is stored until no key has it", orderOfVars
			if f := c.former(old, new); f.was != "" && old.Role == "" {
				fix += "; or write " + f.at(" at "+new.Name) + ", and so at each entry that is named here" + newTypeUnderWas
			} else {
				fix += "; a pattern under was has the new type, too"
			}
		}
		if index {
			fix, order = "rewrite the items that have such a value, and delete the keys of the index that are left",
				orderOfValues
		}
		if words := c.keysGone(old.Pattern, list); words != "" {
			causes.add(c.changedVar(old.Pattern, new.Pattern), found{pos: new.Pos, was: old.Pos, entry: new.Name, order: order,
				told: true, message: fmt.Sprintf("%s has fewer keys, since %s", new.Name, words)})
			return
		}
		causes.add(c.changedVar(old.Pattern, new.Pattern), found{pos: new.Pos, was: old.Pos, entry: new.Name, fix: fix,
			order: order, message: fmt.Sprintf("the key %s belonged to %s (%s) and does not match %s%s", finding.Key(witness),
				old.Name, old.Pattern,
				new.Pattern, also(derived(old, new)))})
	})
	causes.report()
}

// goesAlong reports whether a construct derives a key of the main key, under another name
// than before and without `was`: one that is given for the main key is for this one, too.
func goesAlong(old, new *keyspace.Key) bool {
	if old.Role == "" || !old.Derived || !new.Derived || old.Pattern.String() == new.Pattern.String() {
		return false
	}
	main := old.Entry.Keys[0].Pattern
	if _, ok, err := within(main, patternsOf(new.Entry.Keys[0])); ok || err != nil {
		return false
	}
	p, err := new.Entry.Renamed(new, main)
	return err == nil && p.Language() == old.Pattern.Language()
}

// derived returns the keys that go along with a main key.
func derived(old, new *keyspace.Key) (out []found) {
	if old.Role != "" {
		return nil
	}
	for _, k := range old.Entry.Keys {
		if n := pairs.Key(new.Entry, k.Role); n != nil && goesAlong(k, n) {
			out = append(out, found{entry: n.Name})
		}
	}
	return out
}

// within reports whether every key of p is one of a list of patterns; if not, witness is
// the shortest that is none. Most keys stay what they are, which needs no automaton.
func within(p *pattern.Pattern, list []*pattern.Pattern) (witness []byte, ok bool, err error) {
	language := p.Language()
	if slices.ContainsFunc(list, func(q *pattern.Pattern) bool { return q.Language() == language }) {
		return nil, true, nil
	}
	union, err := pattern.Join(list...)
	if err != nil {
		return nil, false, err
	}
	witness, ok = union.Contains(p)
	return witness, ok, nil
}

// orderOfUnits says how a placeholder gets another unit.
const orderOfUnits = "there is none under one name. With a pattern of its own for the new unit: readers of both, " +
	"then writers, then the old pattern when its keys are gone"

// orderOfRole says how a further key of a construct gets another name.
const orderOfRole = "with its old name kept: any. Without it: stop all processes that use the old name first"

// orderOfVars says how a var loses values.
const orderOfVars = "writers that use the values that stay, then rename or delete the keys with others, then the " +
	"declaration. Where no value stays there is none: give the new values a var and a pattern of their own"

// orderOfValues says how values of an indexed field go.
const orderOfValues = "writers that use the values that stay, then rewrite the items with others, then the declaration"

// given returns the property that names a further key of a construct, "" if none does.
func given(k *keyspace.Key) string {
	if c := k.Entry.Construct; c != keyspace.Plain && c != keyspace.Topic &&
		k.Role != "pressure" && !strings.Contains(k.Role, ".") {
		return k.Role
	}
	return ""
}

// ChangedVar returns the var because of which a pattern of the same text is another
// language, "" if that is not the cause.
func (c *context) changedVar(old, new *pattern.Pattern) string {
	if old.String() != new.String() {
		return ""
	}
	for i, before := range old.Placeholders() {
		if after := new.Placeholders()[i]; before.Type.Definition() != after.Type.Definition() && c.isVar(before.Name) {
			return before.Name
		}
	}
	return ""
}

func (c *context) isVar(name string) bool {
	return slices.ContainsFunc(c.new.Vars, func(v keyspace.Var) bool { return v.Name == name })
}

// removed: keys of an entry that is gone, unless others declare them.
func (c *context) removed() {
	for _, p := range c.pairs {
		var line *keyspace.Retired
		var without []*keyspace.Key
		for _, k := range p.Old.Keys {
			if p.New != nil && (pairs.Key(p.New, k.Role) != nil || isIndex(p.Old, k)) {
				continue
			}
			var pos keyspace.Pos
			if p.New != nil {
				pos = at(p.New, "type")
			}
			witness, found, decided := c.now().lacks(k.Pattern)
			switch {
			case !decided:
				c.report(pos, k.Pos, k.Name, "", "whether other entries declare all keys of %s (%s), which is gone, cannot be "+
					"known: that takes too long", k.Name, k.Pattern)
				return
			case found && c.retiredKey(k) != nil:
				without = append(without, k)
				line = cmp.Or(line, c.retiredKey(k))
			case found:
				c.report(pos, k.Pos, k.Name, c.wayOut(p, k), "%s (%s) is gone, and no entry declares its keys, such as %s",
					k.Name, k.Pattern,
					finding.Key(witness))
			default:
				if u := stored.UnitChanged(k.Pattern, c.now().patterns.Meet(k.Pattern)); u != nil {
					c.report(pos, k.Pos, k.Name, "", "%s (%s) is gone, and the entries that match its keys have %s", k.Name,
						k.Pattern, u)
				}
			}
		}
		if line != nil {
			c.toldGone(line, without)
		}
	}
}

// wayOut says how an entry is removed, "" where the rule says it: of keys that go along.
func (c *context) wayOut(p pairs.Pair, k *keyspace.Key) string {
	if p.New != nil || k.Derived {
		return ""
	}
	return "keep the entry until its keys are gone; then write " + retirement(p.Old) + " in its place"
}

// isIndex: KW615 says of an index that is gone how it is taken off the server.
func isIndex(e *keyspace.Entry, k *keyspace.Key) bool {
	return slices.ContainsFunc(e.Index,
		func(i keyspace.Index) bool { return i.Key == k && (i.Field != "" || i.Score != "expires") })
}

func (c *context) forgotten() {
	for _, p := range c.pairs {
		if p.New == nil {
			continue
		}
		for _, was := range p.Old.Was {
			witness, found, decided := c.now().lacks(was)
			if !decided {
				c.report(at(p.New, "was"), at(p.Old, "was"), p.New.Name, "",
					"whether keys of the former pattern %s of %s are still declared is not known: that takes too long", was,
					p.New.Name)
				return
			}
			if r := c.retiredPattern(was); found && r != nil {
				c.noteRetired(r, at(p.Old, "was"), p.New.Name, "the former pattern %s of %s is gone", was, p.New.Name)
			} else if found {
				c.report(at(p.New, "was"), at(p.Old, "was"), p.New.Name, "",
					"the former pattern %s of %s is gone; keys like %s are unknown now", was, p.New.Name, finding.Key(witness))
			}
		}
	}
}

func (c *context) ownsNarrowed() {
	var list []*pattern.Pattern
	for _, g := range c.new.Owns {
		list = append(list, g.Pattern)
	}
	union, err := pattern.Join(list...)
	if err != nil || len(c.new.Owns) == 0 && len(c.old.Owns) == 0 {
		return
	}
	for _, g := range c.old.Owns {
		if witness, ok := union.Contains(g.Pattern); !ok {
			var pos keyspace.Pos
			if len(c.new.Owns) > 0 {
				pos = c.new.Owns[0].Pos
			}
			c.report(pos, g.Pos, "", "", "%s was owned; a key like %s is under no glob of owns now", g.Text,
				finding.Key(witness))
		}
	}
}

func (c *context) channelMoved() {
	for _, old := range c.old.Channels {
		new := c.channel(old.Name)
		switch {
		case old.Derived && (new == nil || new.Derived):
		case new == nil && c.retired("channels", old.Name) != nil && c.retiredPattern(old.Pattern) != nil:
			c.noteRetired(c.retired("channels", old.Name), old.Pos, old.Name, "the channel %s (%s) is gone", old.Name, old.Pattern)
		case new == nil:
			c.report(keyspace.Pos{}, old.Pos, old.Name,
				"keep it until no program publishes or listens; then write "+
					retirementOf("channels", old.Name, old.Pattern.String())+" in its place",
				"the channel %s (%s) is gone", old.Name, old.Pattern)
		case old.Pattern.Language() != new.Pattern.Language():
			if witness, ok := pattern.Contains(new.Pattern, old.Pattern); ok {
				if u := stored.UnitChanged(old.Pattern, []*pattern.Pattern{new.Pattern}); u != nil {
					c.report(new.Pos, old.Pos, new.Name, "",
						"the channel %s (%s) has %s: subscribers and publishers of the two versions do not meet", new.Name,
						new.Pattern, u)
				}
			} else {
				c.report(new.Pos, old.Pos, new.Name, "", "messages on %s are not received under %s: the channel %s was %s",
					finding.Key(witness), new.Pattern, new.Name, old.Pattern)
			}
		}
	}
}

func (c *context) channel(name string) *keyspace.Channel {
	if c.channels == nil {
		c.channels = make(map[string]*keyspace.Channel, len(c.new.Channels))
		for _, ch := range slices.Backward(c.new.Channels) { // of two of one name the first
			c.channels[ch.Name] = ch
		}
	}
	return c.channels[name]
}

func (c *context) invalidationDropped() {
	c.surviving(func(old, new *keyspace.Entry) {
		for _, action := range slices.Sorted(maps.Keys(old.Emits)) {
			if name := old.Emits[action]; new.Emits[action] != name && !c.undeclared(name) {
				c.report(at(new, "emits"), at(old, "emits"), new.Name, "", "%s of %s announces nothing on %s any more", action,
					new.Name, name)
			}
		}
	})
	for _, old := range c.old.Events {
		i := slices.IndexFunc(c.new.Events, func(e *keyspace.Event) bool { return e.Name == old.Name })
		if i < 0 {
			continue // its name is gone: KW641
		}
		new := c.new.Events[i]
		for _, what := range []struct {
			verb     string
			old, new []string
		}{{"deletes", old.Deletes, new.Deletes}, {"emits", old.Emits, new.Emits}} {
			for _, name := range what.old {
				if !slices.Contains(what.new, name) && !c.undeclared(name) {
					c.report(new.Pos, old.Pos, new.Name, "", "the event %s %s %s no more", new.Name, what.verb, name)
				}
			}
		}
	}
}

// undeclared reports whether a name is declared no more: an event need not
// delete what is not there.
func (c *context) undeclared(name string) bool {
	if c.names == nil {
		c.names = map[string]bool{}
		for _, n := range c.new.Names() {
			c.names[n] = true
		}
	}
	return !c.names[name] && c.channel(name) == nil
}
