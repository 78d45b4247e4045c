package breaking

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/breaking/internal/stored"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// retired returns the line that says that a name is gone for good, nil if none does.
func (c *context) retired(section, name string) *keyspace.Retired {
	return keyspace.FindRetired(c.new.Retired, section, name)
}

// sectionOf returns the section that an entry is written in.
func sectionOf(e *keyspace.Entry) string {
	if e.Topic != nil {
		return "channels"
	}
	return "keys"
}

// retiring is a pattern that is retired, with its line.
type retiring struct {
	*keyspace.Retired
	pattern *pattern.Pattern
}

// retiredPatterns holds them.
type retiredPatterns struct {
	*pattern.Index[retiring]
	budget int // of steps
}

func retiredOf(ks *keyspace.Keyspace) *retiredPatterns {
	var list []retiring
	for i := range ks.Retired {
		for _, p := range ks.Retired[i].Patterns {
			list = append(list, retiring{&ks.Retired[i], p})
		}
	}
	of := func(r retiring) *pattern.Pattern { return r.pattern }
	return &retiredPatterns{pattern.NewIndex(list, of), mostCompared / 8}
}

// cover returns the first line of those whose patterns have all keys of p together, nil if some key is in none.
func (x *retiredPatterns) cover(p *pattern.Pattern) *keyspace.Retired {
	met := x.Meet(p)
	var patterns []*pattern.Pattern
	for _, r := range met {
		if r.pattern.Language() == p.Language() {
			return r.Retired
		}
		patterns = append(patterns, r.pattern)
	}
	if len(met) == 0 {
		return nil
	}
	if _, outside, decided := pattern.WitnessWithin(&x.budget, []*pattern.Pattern{p}, patterns); outside || !decided {
		return nil
	}
	return met[0].Retired
}

// retiredPattern returns the line that says that all keys of a pattern are gone for good, nil if none does.
func (c *context) retiredPattern(p *pattern.Pattern) *keyspace.Retired {
	if c.retiring == nil {
		c.retiring = retiredOf(c.new)
	}
	return c.retiring.cover(p)
}

// retiredKey is retiredPattern for a key of the old declaration: what a construct derived goes along with the main key.
func (c *context) retiredKey(k *keyspace.Key) *keyspace.Retired {
	if r := c.retiredPattern(k.Pattern); r != nil || !k.Derived {
		return r
	}
	return c.retiredPattern(k.Entry.Keys[0].Pattern)
}

// noteRetired adds a note in place of a finding: it was decided.
func (c *context) noteRetired(r *keyspace.Retired, was keyspace.Pos, entry, format string, args ...any) {
	c.report(r.Pos, was, entry, "", "%s, and retired", fmt.Sprintf(format, args...))
	c.decided()
}

// decided makes a note of the last finding.
func (c *context) decided() {
	f := &c.out[len(c.out)-1]
	f.Severity, f.Fix = finding.Note, "none: keep what is written under retired"
}

// toldGone says that keys of one entry are gone.
func (c *context) toldGone(r *keyspace.Retired, gone []*keyspace.Key) {
	more := ""
	if n := len(gone) - 1; n > 0 {
		more = fmt.Sprintf(" with %d more of its keys", n)
	}
	c.noteRetired(r, gone[0].Pos, gone[0].Name, "%s (%s) is gone%s", gone[0].Name, gone[0].Pattern, more)
}

// retirement proposes the line for an entry: its name, and the patterns that its author wrote.
func retirement(e *keyspace.Entry) string {
	var patterns []string
	for _, k := range e.Keys {
		if !k.Derived {
			patterns = append(patterns, k.Pattern.String())
		}
	}
	return retirementOf(sectionOf(e), e.Name, patterns...)
}

func retirementOf(section, name string, patterns ...string) string {
	for i, p := range patterns {
		patterns[i] = strconv.Quote(p)
	}
	what := "{" + name + ": [" + strings.Join(patterns, ", ") + "]}"
	if len(patterns) == 1 {
		what = "{" + name + ": " + patterns[0] + "}"
	}
	if section == "events" {
		what = "[" + name + "]"
	}
	return "retired: {" + section + ": " + what + "}"
}

// fieldGone: a field that is gone. One that is retired was optional: no program refuses what lacks it.
func (c *context) fieldGone(pos keyspace.Pos, f keyspace.Field, retired []keyspace.Retired, entry, format string,
	args ...any) {
	r := keyspace.FindRetired(retired, "", f.Name)
	switch {
	case r != nil && f.Type.Optional:
		c.noteRetired(r, f.Pos, entry, format, args...)
	case r != nil:
		c.report(pos, f.Pos, entry, "make it optional first, and retire it when all readers know that",
			format+" and was required: deployed readers refuse what lacks it", args...)
	case f.Type.Optional:
		c.report(pos, f.Pos, entry, "when no program reads it, write retired: ["+f.Name+"] in its place", format, args...)
	default:
		c.report(pos, f.Pos, entry, "", format, args...)
	}
}

// retiredWords returns the words that a type of a var had and that are gone for good.
func (c *context) retiredWords(t *scalar.Type, name string) (words []string) {
	for _, v := range c.new.Vars {
		for _, r := range v.Retired {
			if v.Name == name && t.Kind == scalar.Enum && slices.Contains(t.Values, r.Name) {
				words = append(words, r.Name)
			}
		}
	}
	return words
}

// without returns an enum without some words, and reports whether any are left.
func without(t scalar.Type, words []string) (scalar.Type, bool) {
	t.Values = slices.DeleteFunc(slices.Clone(t.Values), func(v string) bool { return slices.Contains(words, v) })
	return t, len(t.Values) > 0
}

// wordsGone names the words because of which a type was narrowed, if they are retired and the only cause; else "".
func (c *context) wordsGone(old, new *scalar.Type) string {
	if old == nil || new == nil {
		return ""
	}
	words := c.retiredWords(old, new.Var)
	if t, some := without(*old, words); len(words) == 0 || !some || stored.Narrowed(&t, new) != "" {
		return ""
	}
	return areRetired(words)
}

// keysGone is wordsGone for the placeholders of a pattern that a list does not have any more.
func (c *context) keysGone(old *pattern.Pattern, list []*pattern.Pattern) string {
	var all []string
	types := old.Types()
	p, err := pattern.Parse(old.String(), func(name string) (scalar.Type, bool) {
		t, ok := types(name)
		words := c.retiredWords(&t, name)
		if less, some := without(t, words); ok && len(words) > 0 && some {
			t, all = less, append(all, words...)
		}
		return t, ok
	})
	if err != nil || len(all) == 0 {
		return ""
	}
	if _, ok, err := within(p, list); !ok || err != nil {
		return ""
	}
	return areRetired(all)
}

func areRetired(words []string) string {
	if len(words) == 1 {
		return words[0] + " is retired"
	}
	return strings.Join(words, ", ") + " are retired"
}

// forgottenRetired: a promise that a name never comes back is not given any more.
func (c *context) forgottenRetired() {
	patterns := retiredOf(c.new)
	what := map[string]string{"keys": "entry", "channels": "channel", "events": "event"}
	for _, old := range c.old.Retired {
		r := c.retired(old.Section, old.Name)
		if r == nil {
			c.report(keyspace.Pos{}, old.Pos, old.Name, "", "the %s %s is not retired any more", what[old.Section], old.Name)
		}
		for _, p := range old.Patterns {
			same := func(q *pattern.Pattern) bool { return q.String() == p.String() } // a var that was narrowed is reported as such
			if r != nil && slices.ContainsFunc(r.Patterns, same) || patterns.cover(p) != nil {
				continue
			}
			pos := keyspace.Pos{}
			if r != nil {
				pos = r.Pos
			}
			c.report(pos, old.Pos, old.Name, "", "the pattern %s of %s is not retired any more", p, old.Name)
		}
	}
	for _, p := range c.pairs {
		if p.New != nil && p.New.Topic == nil {
			c.namesForgotten("field", p.New.Name, at(p.New, "retired"), p.Old.Retired, p.New.Retired)
		}
	}
	for _, old := range c.old.Channels {
		if new := c.channel(old.Name); new != nil {
			c.namesForgotten("field", new.Name, new.Pos, old.Retired, new.Retired)
		}
	}
	for _, old := range c.old.Vars {
		for _, new := range c.new.Vars {
			if new.Name == old.Name {
				c.namesForgotten("word", new.Name, new.Pos, old.Retired, new.Retired)
			}
		}
	}
}

func (c *context) namesForgotten(what, of string, pos keyspace.Pos, old, new []keyspace.Retired) {
	for _, r := range old {
		if keyspace.FindRetired(new, "", r.Name) == nil {
			c.report(pos, r.Pos, of, "", "the %s %s of %s is not retired any more", what, r.Name, of)
		}
	}
}
