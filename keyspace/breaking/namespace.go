package breaking

import (
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
)

// namespaceRefused reports names that could be chosen and cannot be now.
func (c *context) namespaceRefused() {
	for _, old := range c.old.Spaces {
		now := find(c.new.Spaces, old.Default)
		if now == nil {
			c.report(keyspace.Pos{}, old.Pos, "", "", "the namespace %s is gone: its keys have fixed names now", old.Default)
			continue
		}
		for _, name := range names(old) {
			if reason := now.Refuse(name); reason != "" {
				c.report(now.Pos, old.Pos, "", "", "the namespace %s could be chosen; now it %s", name, reason)
				break
			}
		}
	}
}

// find returns the namespace of a declared name, nil if there is none.
func find(all []*keyspace.Namespace, name string) *keyspace.Namespace {
	for _, n := range all {
		if n.Default == name {
			return n
		}
	}
	return nil
}

// names returns examples of what could be chosen: all words of an enum, one of any other
// type; where any name could be chosen, names that few types allow.
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
		if find(c.old.Spaces, now.Default) != nil {
			continue
		}
		moved, example := 0, ""
		c.keys(func(old, new *keyspace.Key) {
			if new.Entry.Namespace == now && old.Pattern.String() != new.Pattern.String() {
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
		if old := c.old.Namespace(); old != nil && find(c.new.Spaces, old.Default) == nil {
			was, what = old.Pos, "was "+old.Default
			fix = "stop the programs, allow " + old.Default + " under names, run keywright rename --from-namespace " +
				old.Default +
				" --apply, start the new programs"
		}
		c.report(now.Pos, was, "", fix, "the namespace %s %s: %d patterns of stored keys have other names by it, as %s",
			now.Default, what, moved, example)
	}
}
