package breaking

import (
	"slices"

	"github.com/keywright/keywright/keyspace"
)

// pressureWidened: items that a rule takes now and none took before.
func (c *context) pressureWidened() {
	for i := range c.new.Pressure {
		r := &c.new.Pressure[i]
		for _, value := range r.Values {
			if !slices.ContainsFunc(c.old.Pressure, func(old keyspace.Pressure) bool { return covers(&old, r, value) }) {
				c.report(r.Pos, keyspace.Pos{}, r.Entry.Name, "",
					"at %d%% items of %s where %s is %s go (%s), which they did not before", r.At, r.Entry.Name, r.Index.Field, value,
					r.Action())
				break
			}
		}
	}
}

// covers reports whether the old rule does at least as much with a value.
func covers(old, new *keyspace.Pressure, value string) bool {
	same := old.Entry.Name == new.Entry.Name && old.Index.Field == new.Index.Field && slices.Contains(old.Values, value) &&
		old.At <= new.At
	if new.Shorten == 0 {
		return same && old.Shorten == 0 && old.Release <= new.Release
	}
	return same && (old.Shorten == 0 || old.Shorten <= new.Shorten)
}
