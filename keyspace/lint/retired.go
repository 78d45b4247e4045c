package lint

import (
	"slices"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/pattern"
)

// retired reports what is declared although it is gone for good.
func (c *context) retired() {
	for _, e := range c.Entries {
		if e.Topic == nil { // that is a channel
			c.retiredName("keys", "entry", e.Name, e.Pos)
			fields := slices.Clone(e.Shape)
			for _, k := range e.Keys {
				fields = slices.Concat(fields, k.Fields, k.JSON)
			}
			c.retiredFields(e.Name, e.Retired, fields)
		}
	}
	for _, ch := range c.Channels {
		c.retiredName("channels", "channel", ch.Name, ch.Pos)
		c.retiredFields(ch.Name, ch.Retired, slices.Concat(ch.Message, ch.Reply))
	}
	for _, e := range c.Events {
		c.retiredName("events", "event", e.Name, e.Pos)
	}
	for _, v := range c.Vars {
		for _, r := range v.Retired {
			if slices.Contains(v.Type.Values, r.Name) {
				c.again(v.Pos, "", &r, "the word %s of %s is retired: what is stored with it would mean something new", r.Name,
					v.Name)
			}
		}
	}
	c.retiredPatterns()
}

// again reports one of them, with the line that retires it.
func (c *context) again(pos keyspace.Pos, entry string, r *keyspace.Retired, format string, args ...any) {
	c.report(pos, entry, "", format, args...).Related = []finding.Related{{Pos: r.Pos, Message: "it is retired here"}}
}

func (c *context) retiredName(section, what, name string, pos keyspace.Pos) {
	if r := keyspace.FindRetired(c.Retired, section, name); r != nil {
		c.again(pos, name, r, "the name %s is retired: what still knows the former %s would take this one for it", name, what)
	}
}

func (c *context) retiredFields(of string, retired []keyspace.Retired, fields []keyspace.Field) {
	for _, r := range retired {
		if i := slices.IndexFunc(fields, func(f keyspace.Field) bool { return f.Name == r.Name }); i >= 0 {
			c.again(fields[i].Pos, of, &r,
				"the field %s of %s is retired: what is still stored under it would be read as this one", r.Name, of)
		}
	}
}

// mostRetired bounds the steps in which patterns are compared with those that are retired.
const mostRetired = 1 << 24

// named is a pattern that is declared: of a key, an old name of it, or a channel.
type named struct {
	*pattern.Pattern
	name string
	pos  keyspace.Pos
}

// declared returns them by section: pub/sub and keys share no names.
func (c *context) declared() map[string]*pattern.Index[named] {
	var keys, channels []named
	for i, t := range c.targets {
		if k := t.Key; k != nil {
			keys = append(keys, named{k.Pattern, k.Name, k.Pos})
		} else if e := t.Legacy; e != nil {
			keys = append(keys, named{c.items[i].Pattern, e.Name, e.At["was"]})
		}
	}
	for _, ch := range c.Channels {
		channels = append(channels, named{ch.Pattern, ch.Name, ch.Pos})
	}
	of := func(n named) *pattern.Pattern { return n.Pattern }
	return map[string]*pattern.Index[named]{"keys": pattern.NewIndex(keys, of), "channels": pattern.NewIndex(channels, of)}
}

// retiredPatterns compares what is declared with the patterns that are retired.
func (c *context) retiredPatterns() {
	if len(c.Retired) == 0 {
		return
	}
	budget, declared := mostRetired, c.declared()
	for i := range c.Retired {
		r := &c.Retired[i]
		for _, p := range r.Patterns {
			for _, n := range declared[r.Section].Meet(p) {
				key, found, decided := pattern.WitnessWithin(&budget, []*pattern.Pattern{p, n.Pattern}, nil)
				if found {
					c.again(n.pos, n.name, r, "the key %s of %s (%s) is retired with %s: what is still there would be taken for the "+
						"new thing", finding.Key(key), n.name, n.Pattern, r.Name)
				} else if !decided {
					c.again(n.pos, n.name, r, "whether keys of %s (%s) are retired with %s (%s) is not known: that takes too long",
						n.name, n.Pattern, r.Name, p)
					return
				}
			}
		}
	}
}
