package lint

import (
	"slices"

	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace/pattern"
)

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
