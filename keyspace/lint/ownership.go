package lint

import (
	"cmp"
	"slices"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/pattern"
)

// idleJobs reports jobs that have nothing to do.
func (c *context) idleJobs() {
	for _, j := range c.Janitor {
		some, what := true, ""
		switch j.Do {
		case keyspace.WorkClean:
			some, what = len(c.Cleanup) > 0, "there is no cleanup rule"
		case keyspace.WorkSweep:
			some, what = slices.ContainsFunc(c.Entries, func(e *keyspace.Entry) bool { return e.Construct == keyspace.Entity }),
				"there is no entity"
		case keyspace.WorkTTL:
			some, what = slices.ContainsFunc(c.Entries, func(e *keyspace.Entry) bool {
				return e.TTL.Policy != keyspace.TTLAny && (j.Entry == nil || j.Entry == e)
			}), "no entry says how long its keys live"
		}
		if !some {
			c.report(j.Places["do"], "", "", "the job %s (%s) does nothing: %s", j.Name, j.Do, what)
		}
	}
}

// cleanupNeverRun reports clean-up rules that no job executes.
func (c *context) cleanupNeverRun() {
	cleans := slices.ContainsFunc(c.Janitor, func(j *keyspace.Job) bool { return j.Do == keyspace.WorkClean })
	if len(c.Janitor) > 0 && len(c.Cleanup) > 0 && !cleans {
		c.report(c.Cleanup[0].Pos, "", "", "no job of the janitor executes the clean-up rules")
	}
}

func (c *context) owned() {
	for _, k := range c.Keys {
		if k.Derived || slices.Contains(k.Entry.Skip, "owns") {
			continue
		}
		if key, ok := c.outside(k.Pattern); ok {
			c.report(k.Pos, k.Name, "", "%s is outside of owns: %s is under none of its globs", k.Pattern, finding.Key(key))
		}
	}
}

// outside finds a key of p that is under none of the globs of owns.
func (c *context) outside(p *pattern.Pattern) ([]byte, bool) {
	if len(c.Owns) == 0 {
		return nil, false
	}
	if c.ours == nil {
		c.ours = c.ownGlobs()
	}
	if c.ours.prefixes.Cover(p) {
		return nil, false
	}
	union := c.joinOwns()
	if union == nil {
		return nil, false
	}
	key, inside := union.Contains(p)
	return key, !inside
}

// owning represents all of owns together: the prefixes, which most keys are under, and the
// automaton of all globs, which is made when a key is under none of them.
type owning struct {
	prefixes pattern.Prefixes
	globs    []*pattern.Pattern
	joined   bool
	union    *pattern.Union // nil: there are too many globs, which was reported
}

func (c *context) ownGlobs() *owning {
	globs := make([]*pattern.Pattern, len(c.Owns))
	for i, g := range c.Owns {
		globs[i] = g.Pattern
	}
	return &owning{prefixes: pattern.PrefixesOf(globs), globs: globs}
}

// joinOwns makes the automaton, once.
func (c *context) joinOwns() *pattern.Union {
	if c.ours.joined {
		return c.ours.union
	}
	c.ours.joined = true
	union, err := pattern.Join(c.ours.globs...)
	if err != nil {
		c.report(c.Owns[0].Pos, "", "write fewer globs, of the form text*", "not all keys can be compared with owns: %v", err)
		return nil
	}
	c.ours.union = union
	return union
}

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
