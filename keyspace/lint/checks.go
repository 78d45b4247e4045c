package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

func (c *context) overlaps() {
	if len(c.conflicts) >= match.MaxConflicts {
		pos, entry := c.place(c.conflicts[0].B)
		c.report(pos, entry, "see first to those that are listed",
			"more than %d pairs of patterns match common keys; only these were compared", match.MaxConflicts-1)
	}
	c.conflict(false)
}

func (c *context) identical() { c.conflict(true) }

// shownPartners says how many other entries a finding about a conflict names.
const shownPartners = 5

// conflict reports the conflicts of declared patterns, once for each entry with all
// that it is in conflict with; between globs there is nothing to decide.
func (c *context) conflict(equal bool) {
	partners := map[*keyspace.Key][]match.Conflict{}
	var order []*keyspace.Key
	for _, x := range c.conflicts {
		a, b := c.targets[x.A].Key, c.targets[x.B].Key
		if a == nil || b == nil || x.Equal != equal {
			continue
		}
		if partners[b] == nil {
			order = append(order, b)
		}
		partners[b] = append(partners[b], x)
	}
	for _, b := range order {
		c.conflictOf(b, partners[b])
	}
}

func (c *context) conflictOf(b *keyspace.Key, list []match.Conflict) {
	a := c.targets[list[0].A].Key
	more := ""
	if n := len(list) - 1; n > 0 {
		more = fmt.Sprintf("; so it is with %d more", n)
	}
	var f *finding.Finding
	if list[0].Equal {
		f = c.report(b.Pos, b.Name, "", "%s and %s match the same keys: %s and %s%s", a.Name, b.Name, a.Pattern,
			b.Pattern, more)
	} else {
		f = c.report(b.Pos, b.Name, "", "the key %s belongs to %s (%s) as well as to %s (%s)%s", finding.Key(list[0].Witness),
			b.Name, b.Pattern, a.Name, a.Pattern, more)
	}
	for _, x := range list[:min(len(list), shownPartners)] {
		f.Related = append(f.Related, here(c.targets[x.A].Key)...)
	}
}

func here(k *keyspace.Key) []finding.Related {
	return []finding.Related{{Pos: k.Pos, Message: k.Name + " is declared here"}}
}

func (c *context) unusedVars() {
	for _, v := range c.Vars {
		if !v.Used {
			c.report(v.Pos, "", "", "nothing refers to the var %s", v.Name)
		}
	}
}

func (c *context) nearVars() {
	for _, k := range c.Keys {
		if k.Derived || strings.HasPrefix(k.Role, "index.") {
			continue
		}
		for _, p := range k.Pattern.Placeholders() {
			if p.Type.Var != "" {
				continue
			}
			for _, v := range c.Vars {
				if v.Name != p.Name && fold(v.Name) == fold(p.Name) {
					c.report(k.Pos, k.Name, "write {"+v.Name+"}", "{%s} is not declared and means text, but there is a var %s",
						p.Name, v.Name)
				}
			}
		}
	}
}

// fold returns a name without what people vary: case and underscores.
func fold(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

func (c *context) shape() {
	for _, shape := range c.Shapes {
		for _, k := range c.Keys {
			if k.Derived || k.Entry.Pos.File != shape.Pos.File || slices.Contains(k.Entry.Skip, "shape") {
				continue
			}
			if reason := misshapen(shape, k.Pattern); reason != "" {
				c.report(k.Pos, k.Name, "", "%s does not have the shape %s: %s", k.Pattern, shape.Text,
					reason).Related = []finding.Related{{Pos: shape.Pos, Message: "the shape"}}
			}
		}
	}
}

// misshapen says how a pattern departs from the shape, "" if it does not.
func misshapen(shape *keyspace.Shape, p *pattern.Pattern) string {
	segments := strings.Split(p.String(), ":")
	required := 0
	for _, part := range shape.Parts {
		if !part.Optional {
			required++
		}
	}
	switch {
	case len(segments) < required:
		return "it has fewer parts"
	case len(segments) > len(shape.Parts):
		return "it has more parts"
	}
	for i, segment := range segments {
		part := shape.Parts[i]
		literal := !strings.Contains(segment, "{")
		switch {
		case part.Literal != "" && segment != part.Literal:
			return "part " + segment + " must be " + part.Literal
		case part.Type != nil && part.Type.Kind == scalar.Enum && literal && !slices.Contains(part.Type.Values, segment):
			return segment + " is no " + part.Name + " (" + strings.Join(part.Type.Values, ", ") + ")"
		case part.Type != nil && part.Type.Kind == scalar.Enum && !literal && !placeholderOf(p, segment, part):
			return "the " + part.Name + " must be one of " + strings.Join(part.Type.Values, ", ")
		case segment == "":
			return "a part is empty"
		}
	}
	return ""
}

// placeholderOf: a placeholder may stand for a part whose values it stays in.
func placeholderOf(p *pattern.Pattern, segment string, part keyspace.ShapePart) bool {
	for _, place := range p.Placeholders() {
		if strings.Contains(segment, "{"+place.Name+"}") && place.Type.Kind == scalar.Enum {
			return !slices.ContainsFunc(place.Type.Values, func(v string) bool { return !slices.Contains(part.Type.Values, v) })
		}
	}
	return false
}

// literals returns a pattern with its placeholders blanked out.
func literals(p *pattern.Pattern) string {
	var b strings.Builder
	for _, e := range p.Elements() {
		if e.Literal != "" {
			b.WriteString(e.Literal)
		} else {
			b.WriteByte(0)
		}
	}
	return b.String()
}

// notation says how other tools write placeholders; a zero byte takes the place of a placeholder of this language.
var notation = regexp.MustCompile(`<[^<>:]+>|\*|%[sdv]|\$\x00`)

func (c *context) foreignPlaceholders() {
	for _, k := range c.Keys {
		if found := notation.FindString(literals(k.Pattern)); found != "" && !k.Derived {
			c.report(k.Pos, k.Name, "", "%s in %s is literal text", strings.ReplaceAll(found, "\x00", "{…}"), k.Pattern)
		}
	}
}

func (c *context) foreignOverlap() {
	if len(c.Foreign) == 0 {
		return
	}
	for _, g := range c.Foreign {
		for _, k := range c.Keys {
			if key, ok := pattern.Overlap(g.Pattern, k.Pattern); ok {
				c.report(g.Pos, k.Name, "", "foreign %s covers keys of %s, such as %s", g.Text, k.Name,
					finding.Key(key)).Related = here(k)
			}
		}
		for _, o := range c.Owns {
			if _, ok := pattern.Contains(g.Pattern, o.Pattern); ok {
				c.report(g.Pos, "", "", "foreign %s covers all of owns %s", g.Text, o.Text)
			}
		}
	}
}

// reservedNames are keywords of the languages that code is generated in, as far
// as they can be names of entries, and what means something else to JavaScript.
var reservedNames = strings.Fields(
	`break case chan const continue default defer else fallthrough for func go goto if import interface map package range return
	select struct switch type var and as assert async await class def del elif except finally from global in is lambda nonlocal not or pass raise try while with yield
	delete do enum export extends false function instanceof new null super this throw true typeof void let static constructor __proto__ prototype hasownproperty`)

func (c *context) reserved() {
	for _, e := range c.Entries {
		if slices.Contains(reservedNames, e.Name) {
			c.report(e.Pos, e.Name, "", "%q is a keyword in a language that code is generated in", e.Name)
		}
		for _, k := range e.Keys {
			for _, f := range slices.Concat(k.Fields, k.JSON) {
				if f.Name == "__proto__" || f.Name == "constructor" || f.Name == "prototype" {
					c.report(f.Pos, e.Name, "", "a field named %s changes objects in JavaScript", f.Name)
				}
			}
		}
	}
}

// of returns the entries of a construct.
func (c *context) of(construct keyspace.Construct) []*keyspace.Entry {
	return slices.DeleteFunc(slices.Clone(c.Entries), func(e *keyspace.Entry) bool { return e.Construct != construct })
}

func (c *context) cacheTTL() {
	for _, e := range c.of(keyspace.Cache) {
		if e.TTL.Policy == keyspace.TTLNone {
			c.report(e.At["ttl"], e.Name, "", "the cache %s never expires", e.Name)
		}
	}
}

func (c *context) lockTTL() {
	for _, e := range c.of(keyspace.Lock) {
		if e.TTL.Policy != keyspace.TTLExpires {
			c.report(e.At["ttl"], e.Name, "", "the lock %s does not expire: if its holder dies it is held for ever", e.Name)
		}
	}
}

func (c *context) lockLong() {
	for _, e := range c.of(keyspace.Lock) {
		if e.TTL.Policy == keyspace.TTLExpires && e.TTL.Max.Hours() > 24 {
			c.report(e.At["ttl"], e.Name, "", "the lock %s is kept for a dead holder for %s", e.Name,
				keyspace.FormatDuration(e.TTL.Max))
		}
	}
}

func (c *context) unusedTTLs() {
	for _, t := range c.TTLs {
		if !t.Used {
			c.report(t.Pos, "", "", "no entry uses the ttl %s", t.Name)
		}
	}
}

func (c *context) lockJitter() {
	for _, e := range c.of(keyspace.Lock) {
		if e.TTL.Jitter > 0 {
			c.report(e.At["ttl"], e.Name, "", "the lock %s expires at random", e.Name)
		}
	}
}

func (c *context) rateTTL() {
	for _, e := range c.of(keyspace.RateLimit) {
		if e.TTL.Policy == keyspace.TTLExpires && e.Rate.Per > 0 && e.TTL.Max < e.Rate.Per {
			c.report(e.At["ttl"], e.Name, "", "%s counts over %s, but its key expires after %s", e.Name,
				keyspace.FormatDuration(e.Rate.Per), keyspace.FormatDuration(e.TTL.Max))
		}
	}
}

func (c *context) streams() {
	for _, e := range c.Entries {
		if e.TTL.Policy != keyspace.TTLNone || e.MaxLen > 0 {
			continue
		}
		if e.Construct == keyspace.Topic {
			c.report(e.Pos, e.Name, "write durable: {maxlen: 100000} or {age: 7d}", "the durable channel %s is never trimmed",
				e.Name)
		} else if e.Type == "stream" {
			c.report(e.Pos, e.Name, "", "the stream %s never expires and has no maxlen", e.Name)
		}
	}
}

// slots holds the keys that change together against each other, in a cluster.
func (c *context) slots() {
	if !c.Cluster {
		return
	}
	for _, e := range c.Entries {
		if e.Construct == keyspace.Plain || e.Construct == keyspace.Entity || len(e.Keys) < 2 {
			continue
		}
		apart := slices.Collect(func(yield func(*keyspace.Key) bool) {
			for _, k := range e.Keys[1:] {
				if k.Role != "window" && !e.Keys[0].Pattern.SameSlot(k.Pattern) && !yield(k) {
					return
				}
			}
		})
		if len(apart) > 0 {
			c.report(apart[0].Pos, e.Name, "", "the keys of %s change together, but %s is not always in the slot of %s%s",
				e.Name, e.Keys[0].Pattern, apart[0].Pattern, andMore(len(apart)-1))
		}
	}
	for _, e := range c.of(keyspace.Script) {
		c.scriptSlots(e)
	}
}

// crossSlotEntities says which entities keep their indexes in other slots than their items.
func (c *context) crossSlotEntities() {
	if !c.Cluster {
		return
	}
	for _, e := range c.of(keyspace.Entity) {
		if i := elsewhere(e); i >= 0 {
			c.report(e.Pos, e.Name, "", "a write of %s takes several steps: %s and %s are not always in one slot", e.Name,
				e.Keys[0].Pattern, e.Keys[i].Pattern)
		}
	}
}

// elsewhere returns the first key of an entity that is not always in the slot of its items,
// -1 if it is in one slot.
func elsewhere(e *keyspace.Entry) int {
	return slices.IndexFunc(e.Keys, func(k *keyspace.Key) bool { return !e.Keys[0].Pattern.SameSlot(k.Pattern) })
}

func (c *context) scriptSlots(e *keyspace.Entry) {
	var first *keyspace.Key
	var others []string
	for _, name := range e.Script.Keys {
		_, k := c.Lookup(name)
		switch {
		case k == nil:
		case first == nil:
			first = k
		case !first.Pattern.SameSlot(k.Pattern):
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		c.report(e.At["keys."+others[0]], e.Name, "",
			"the script %s gets keys of %s and of %s%s, which are not always in one slot", e.Name, first.Name, others[0],
			andMore(len(others)-1))
	}
}

// andMore says how many others what is said is true of, too.
func andMore(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

func (c *context) eventReach() {
	for _, ev := range c.Events {
		for _, name := range ev.Deletes {
			_, k := c.Lookup(name)
			if k == nil {
				continue
			}
			for _, p := range k.Pattern.Placeholders() {
				if !slices.Contains(ev.With, p.Name) {
					c.report(ev.At["deletes."+name], name, "add "+p.Name+" to with",
						"the event %s deletes %s (%s), but does not carry %s", ev.Name, name, k.Pattern, p.Name)
				}
			}
		}
	}
}

func (c *context) idleEvents() {
	for _, ev := range c.Events {
		if len(ev.Deletes)+len(ev.Emits) == 0 {
			c.report(ev.Pos, "", "", "the event %s deletes nothing and emits nothing", ev.Name)
		}
	}
}

func (c *context) cleanupPermanent() {
	for _, rule := range c.Cleanup {
		for _, k := range c.Keys {
			if k.TTL.Policy != keyspace.TTLNone || rule.Keep > 0 {
				continue
			}
			if key, ok := pattern.Overlap(rule.Match.Pattern, k.Pattern); ok {
				c.report(rule.Match.Pos, k.Name, "", "cleaning up %s takes keys of %s, such as %s, which must never go",
					rule.Match.Text, k.Name, finding.Key(key)).Related = here(k)
			}
		}
	}
}

// cleanupOrder reports keys of which a rule cannot tell the age or the order. Helper keys
// of constructs are none of those that a rule takes.
func (c *context) cleanupOrder() {
	for _, rule := range c.Cleanup {
		for _, k := range c.Keys {
			at, isTime := keyspace.Ordering(k.Pattern)
			if rule.Idle > 0 || isTime || at >= 0 && rule.Keep > 0 || k.Role != "" {
				continue
			}
			if key, ok := pattern.Overlap(rule.Match.Pattern, k.Pattern); ok {
				c.report(rule.Match.Pos, k.Name, "", "cleaning up %s cannot tell which keys of %s are older, such as %s",
					rule.Match.Text, k.Name, finding.Key(key)).Related = here(k)
			}
		}
	}
}

func (c *context) cleanupOwned() {
	for _, rule := range c.Cleanup {
		if key, ok := c.outside(rule.Match.Pattern); ok {
			c.report(rule.Match.Pos, "", "", "cleaning up %s reaches outside of owns, for example %s", rule.Match.Text,
				finding.Key(key))
		}
	}
}
