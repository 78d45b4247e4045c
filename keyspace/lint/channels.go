package lint

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/match"
)

// channels compares the names of what is announced by pub/sub; streams are keys
// and compared with those.
func (c *context) channels() {
	all := c.PubSub()
	items := make([]match.Item, len(all))
	for i, ch := range all {
		items[i].Pattern = ch.Pattern
	}
	_, conflicts, err := match.Compile(items)
	if err != nil {
		return
	}
	for _, x := range conflicts {
		a, b := all[x.A], all[x.B]
		if !a.Derived && !b.Derived && a.Sharded == b.Sharded {
			c.report(b.Pos, "", "", "the channels %s and %s have %s in common", a.Name, b.Name, finding.Key(x.Witness))
		}
	}
}

// emitSlots: what an entity writes and announces is one script.
func (c *context) emitSlots() {
	if !c.Cluster {
		return
	}
	for _, e := range c.of(keyspace.Entity) {
		apart, told := elsewhere(e) >= 0, map[string]bool{}
		for _, action := range slices.SortedFunc(maps.Keys(e.Emits), func(a, b string) int {
			x, y := e.At["emits."+a], e.At["emits."+b]
			return cmp.Or(strings.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line), cmp.Compare(x.Column, y.Column))
		}) {
			name := e.Emits[action]
			ch, key := c.Channel(name), e.Keys[0]
			if i := slices.IndexFunc(e.Keys, func(k *keyspace.Key) bool { return k.Role == "ledger" }); apart && action == "expire" && i >= 0 {
				key = e.Keys[i] // an item that has expired is announced where the ledger is
			}
			said := name + " " + key.Name
			if told[said] {
				continue // one cause, whatever the action
			}
			if ch != nil && (ch.Durable != nil || ch.Sharded) && (!key.Pattern.SameSlot(ch.Pattern) || apart && len(ch.Pattern.Placeholders()) > 0) {
				told[said] = true
				c.report(e.At["emits."+action], e.Name, "", "%s announces on %s in the same step, but %s and %s are not always in one slot", e.Name, name, key.Pattern, ch.Pattern)
			}
		}
	}
}

// messages: whoever announces must have what the message and the channel's name
// are made of.
func (c *context) messages() {
	for _, e := range c.of(keyspace.Entity) {
		for action, name := range e.Emits {
			if ch := c.Channel(name); ch != nil {
				c.emitted(e, action, ch)
			}
		}
	}
	for _, ev := range c.Events {
		for _, name := range ev.Emits {
			if ch := c.Channel(name); ch != nil {
				c.filled(ch, ev.At["emits."+name], "", "the event "+ev.Name+" announces on "+name, "add it to with", func(field string) bool { return slices.Contains(ev.With, field) })
			}
		}
	}
}

// emitted judges one announcement of an entity.
func (c *context) emitted(e *keyspace.Entry, action string, ch *keyspace.Channel) {
	what, fix := e.Name+" announces on "+ch.Name, "name a field of "+e.Name
	always := func(name string) bool { f := fieldOf(e, name); return f != nil && !f.Type.Optional }
	known := func(name string) bool { return placeholder(e, name) || always(name) }
	if action == "expire" {
		what, fix = what+" when it has expired and is gone", "name the id or a field with an index key per value"
		known = func(name string) bool { return placeholder(e, name) || indexed(e, name) && always(name) }
	}
	at := e.At["emits."+action]
	c.filled(ch, at, e.Name, what, fix, known)
	for _, p := range ch.Pattern.Placeholders() {
		if ch.Durable != nil && action != "expire" && !placeholder(e, p.Name) && always(p.Name) {
			c.report(at, e.Name, "use placeholders of the key of "+e.Name+" only", "%s, a stream whose key depends on %s: an item can change that, and the step that changes it must know the key before", what, p.Name)
		}
	}
	for _, m := range ch.Message {
		if f := fieldOf(e, m.Name); f != nil && (f.Type.Encrypted || m.Type.Encrypted) {
			c.report(at, e.Name, "leave it out of the message", "%s with %s, which is encrypted: it is sealed for the key of the item, and opens nowhere else", what, m.Name)
		}
	}
}

// filled reports what is needed for a message and not known.
func (c *context) filled(ch *keyspace.Channel, at keyspace.Pos, entry, what, fix string, known func(string) bool) {
	for _, m := range ch.Message {
		if !m.Type.Optional && !known(m.Name) {
			c.report(at, entry, fix+", or make it optional", "%s, but does not always have %s for the message", what, m.Name)
		}
	}
	for _, p := range ch.Pattern.Placeholders() {
		if !known(p.Name) {
			c.report(at, entry, fix, "%s, but does not always have %s for the name of the channel, %s", what, p.Name, ch.Pattern)
		}
	}
}

func placeholder(e *keyspace.Entry, name string) bool {
	for _, p := range e.Keys[0].Pattern.Placeholders() {
		if p.Name == name {
			return true
		}
	}
	return false
}

func fieldOf(e *keyspace.Entry, name string) *keyspace.Field {
	for i, f := range e.Keys[0].Fields {
		if f.Name == name {
			return &e.Keys[0].Fields[i]
		}
	}
	return nil
}

// indexed reports whether some index has a key per value of a field: it is known as long as the
// item is in the index.
func indexed(e *keyspace.Entry, name string) bool {
	return slices.ContainsFunc(e.Index, func(ix keyspace.Index) bool { return ix.Field == name })
}

func (c *context) shardedPatterns() {
	for _, ch := range c.PubSub() {
		if ch.Sharded && ch.Answers == nil && len(ch.Pattern.Placeholders()) > 0 {
			c.report(ch.At["sharded"], "", "", "the channel %s is sharded, and {%s} is in its name", ch.Name, ch.Pattern.Placeholders()[0].Name)
		}
	}
}

// shared reports channels whose messages do not say in which database they are.
func (c *context) shared() {
	if c.Cluster {
		return
	}
	for _, ch := range c.PubSub() {
		if ch.Plain && ch.Answers == nil && !ch.Derived {
			c.report(cmp.Or(ch.At["envelope"], ch.Pos), "", "", "the channel %s is plain, and all databases of a server share it", ch.Name)
		}
	}
}
