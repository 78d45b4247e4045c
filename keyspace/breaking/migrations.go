package breaking

import (
	"cmp"
	"slices"

	"github.com/keywright/keywright/keyspace"
)

// parts calls a check for each part that both declarations have.
func (c *context) parts(check func(old, new *keyspace.Part)) {
	for _, m := range c.old.Migrations {
		n := c.new.Migration(m.Name)
		if n == nil {
			continue
		}
		for _, p := range m.Parts {
			if q := n.Part(p.Name); q != nil {
				check(p, q)
			}
		}
	}
}

// movedOtherwise: a move of the same name makes other records now.
func (c *context) movedOtherwise() {
	c.parts(func(old, new *keyspace.Part) {
		for _, mv := range old.Moves {
			i := slices.IndexFunc(new.Moves, func(n *keyspace.Move) bool { return n.Name == mv.Name })
			if i < 0 {
				c.report(new.Pos, mv.Pos, mv.To.Name, "", "the part %s does not move %s any more", old.Name, mv.To.Name)
				continue
			}
			c.comparedMove(mv, new.Moves[i])
		}
	})
}

func (c *context) comparedMove(old, new *keyspace.Move) {
	was, is := old.Facts(), new.Facts()
	find := func(facts []keyspace.MoveFact, name string) keyspace.MoveFact {
		i := slices.IndexFunc(facts, func(f keyspace.MoveFact) bool { return f.Name == name })
		if i < 0 {
			return keyspace.MoveFact{}
		}
		return facts[i]
	}
	for _, f := range was {
		if now := find(is, f.Name); now.Value != f.Value {
			pos := now.Pos
			if pos.File == "" {
				pos = new.Pos
			}
			c.report(pos, f.Pos, new.To.Name, "", "%s: %s was %s and is %s", new.Name, f.Name, f.Value,
				cmp.Or(now.Value, "nothing"))
		}
	}
	for _, f := range is {
		if find(was, f.Name).Value == "" {
			c.report(f.Pos, old.Pos, new.To.Name, "", "%s: %s was nothing and is %s", new.Name, f.Name, f.Value)
		}
	}
}

// partGone: a migration or part is gone, or the parts move in another order.
func (c *context) partGone() {
	for _, m := range c.old.Migrations {
		n := c.new.Migration(m.Name)
		if n == nil {
			c.report(keyspace.Pos{}, m.Pos, "", "", "the migration %s is gone", m.Name)
			continue
		}
		last := -1
		for _, p := range m.Parts {
			i := slices.IndexFunc(n.Parts, func(q *keyspace.Part) bool { return q.Name == p.Name })
			switch {
			case i < 0:
				c.report(n.Pos, p.Pos, "", "", "the part %s of %s is gone", p.Name, m.Name)
			case i < last:
				c.report(n.Parts[i].Pos, p.Pos, "", "", "the part %s of %s moves earlier than before", p.Name, m.Name)
			}
			last = max(last, i)
		}
	}
}

// gateLowered: a part goes on with less proof.
func (c *context) gateLowered() {
	c.parts(func(old, new *keyspace.Part) {
		a, b := old.Gates, new.Gates
		for _, g := range []struct {
			name  string
			lower bool
		}{
			{"compared", b.Compared < a.Compared}, {"unequal", b.Unequal > a.Unequal}, {"for", b.For < a.For},
			{"marks", b.Marks > a.Marks},
			{"backup", a.Backup > 0 && (b.Backup == 0 || b.Backup > a.Backup)},
		} {
			if g.lower {
				c.report(cmp.Or(b.Pos, new.Pos), cmp.Or(a.Pos, old.Pos), "", "",
					"the part %s goes on with less proof: its gate %s is lower", new.Name, g.name)
			}
		}
	})
	for _, m := range c.old.Migrations {
		n := c.new.Migration(m.Name)
		if n == nil {
			continue
		}
		for _, r := range n.Compare {
			if !slices.ContainsFunc(m.Compare, func(o keyspace.CompareRule) bool { return compares(&o, &r) }) {
				c.report(r.Pos, keyspace.Pos{}, r.Entry.Name, "", "less of %s is compared", r.Entry.Name)
			}
		}
		for _, i := range n.Ignore {
			if !slices.ContainsFunc(m.Ignore, func(o keyspace.Ignored) bool { return o.String() == i.String() }) {
				c.report(i.Pos, keyspace.Pos{}, "", "", "less of the files must be moved: %s is ignored", i)
			}
		}
	}
}

// compares reports whether the old rule let at least as much go as the new one.
func compares(old, new *keyspace.CompareRule) bool {
	return old.Entry.Name == new.Entry.Name && slices.Equal(old.Field, new.Field) && old.As == new.As &&
		!new.Until.After(old.Until)
}
