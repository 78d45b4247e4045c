package lint

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
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
			if i := slices.IndexFunc(e.Keys, func(k *keyspace.Key) bool { return k.Role == "ledger" }); apart &&
				action == "expire" && i >= 0 {
				key = e.Keys[i] // an item that has expired is announced where the index record is
			}
			said := name + " " + key.Name
			if told[said] {
				continue // one cause, whatever the action
			}
			if ch != nil && (ch.Durable != nil || ch.Sharded) &&
				(!key.Pattern.SameSlot(ch.Pattern) || apart && len(ch.Pattern.Placeholders()) > 0) {
				told[said] = true
				c.report(e.At["emits."+action], e.Name, "",
					"%s announces on %s in the same step, but %s and %s are not always in one slot", e.Name, name, key.Pattern,
					ch.Pattern)
			}
		}
	}
}

// messages: the sender must have what the message and the channel's name
// are made of.
func (c *context) messages() {
	for _, e := range c.of(keyspace.Entity) {
		for action, name := range e.Emits {
			if ch := c.Channel(name); ch != nil {
				c.lacking(e.Lacks(action, ch), e.At["emits."+action], e.Name)
			}
		}
	}
	for _, ev := range c.Events {
		for _, name := range ev.Emits {
			if ch := c.Channel(name); ch != nil {
				c.lacking(ev.Lacks(ch), ev.At["emits."+name], "")
			}
		}
	}
}

// lacking reports what is needed for a message and not known.
func (c *context) lacking(lacks []keyspace.Lack, at keyspace.Pos, entry string) {
	for _, l := range lacks {
		c.report(at, entry, l.Fix, "%s", l.Text)
	}
}

func (c *context) shardedPatterns() {
	for _, ch := range c.PubSub() {
		if ch.Sharded && ch.Answers == nil && len(ch.Pattern.Placeholders()) > 0 {
			c.report(ch.At["sharded"], "", "", "the channel %s is sharded, and {%s} is in its name", ch.Name,
				ch.Pattern.Placeholders()[0].Name)
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
			c.report(cmp.Or(ch.At["envelope"], ch.Pos), "", "",
				"the channel %s is plain, and all databases of a server share it", ch.Name)
		}
	}
}
