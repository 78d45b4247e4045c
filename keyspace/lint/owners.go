package lint

import (
	"cmp"
	"slices"

	"github.com/keywright/keywright/keyspace"
)

func (c *context) owners() {
	without := slices.DeleteFunc(slices.Clone(c.Entries), func(e *keyspace.Entry) bool { return e.Owner != "" })
	if len(without) == len(c.Entries) && len(without) > 1 {
		c.report(without[0].Pos, without[0].Name, "add owner to the file", "no entry has an owner")
		return
	}
	for _, e := range without {
		c.report(e.Pos, e.Name, "", "%s has no owner", e.Name)
	}
}

func (c *context) ownerReads() {
	for _, e := range c.Entries {
		if e.Owner != "" && slices.Contains(e.Readers, e.Owner) {
			c.report(e.At["readers"], e.Name, "", "%s owns %s and is listed as its reader", e.Owner, e.Name)
		}
	}
}

// reservedUsers reports each name once, where it is first: most files write one owner for all.
func (c *context) reservedUsers() {
	seen := map[string]bool{}
	check := func(name string, at, pos keyspace.Pos, entry string) {
		if keyspace.ReservedUser(name) && !seen[name] {
			seen[name] = true
			c.report(cmp.Or(at, pos), entry, "", "the component %q would be an ACL user that is there already", name)
		}
	}
	holder := func(owner string, readers []string, at map[string]keyspace.Pos, pos keyspace.Pos, entry string) {
		check(owner, at["owner"], pos, entry)
		for _, r := range readers {
			check(r, at["readers"], pos, entry)
		}
	}
	for _, e := range c.Entries {
		holder(e.Owner, e.Readers, e.At, e.Pos, e.Name)
	}
	for _, ch := range c.Channels {
		holder(ch.Owner, ch.Readers, ch.At, ch.Pos, "")
	}
}
