package breaking

import (
	"slices"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
)

// namespaceRefused reports names that could be chosen and cannot be now.
func (c *context) namespaceRefused() {
	for _, old := range c.old.Spaces {
		i := slices.IndexFunc(c.new.Spaces, func(n *keyspace.Namespace) bool { return n.Default == old.Default })
		if i < 0 {
			c.report(keyspace.Pos{}, old.Pos, "", "", "the namespace %s is gone: its keys have fixed names now", old.Default)
			continue
		}
		now := c.new.Spaces[i]
		for _, name := range names(old) {
			if reason := now.Refuse(name); reason != "" {
				c.report(now.Pos, old.Pos, "", "", "the namespace %s could be chosen; now it %s", name, reason)
				break
			}
		}
	}
}

// names are examples of what could be chosen: all words of an enum, one of any other
// type, one that few types allow where any name could be.
func names(n *keyspace.Namespace) []string {
	switch {
	case n.Names == nil:
		return []string{n.Default + "-test", n.Default + "_2", "Tenant"}
	case n.Names.Kind == scalar.Enum:
		return n.Names.Values
	}
	return []string{n.Names.Example()}
}

// namespaceChanged reports a namespace that is new, or has another name, where stored keys
// have other names by it.
func (c *context) namespaceChanged() {
	for _, now := range c.new.Spaces {
		if slices.ContainsFunc(c.old.Spaces, func(n *keyspace.Namespace) bool { return n.Default == now.Default }) {
			continue
		}
		moved, example := 0, ""
		c.keys(func(old, new *keyspace.Key) {
			if new.Entry.Namespace == now && old.Entry.Namespace != now && old.Pattern.String() != new.Pattern.String() {
				if moved++; example == "" {
					example = old.Pattern.String() + " is " + new.Pattern.String() + " now"
				}
			}
		})
		if moved == 0 {
			continue
		}
		var was keyspace.Pos
		fix, what := "", "is new"
		if len(c.old.Spaces) == 1 {
			old := c.old.Spaces[0]
			was, what = old.Pos, "was "+old.Default
			fix = "stop the programs, allow " + old.Default + " under names, run keywright rename --from-namespace " + old.Default +
				" --apply, start the new programs"
		}
		c.report(now.Pos, was, "", fix, "the namespace %s %s: %d patterns of stored keys have other names by it, as %s", now.Default, what, moved, example)
	}
}
