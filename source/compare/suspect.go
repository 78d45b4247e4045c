package compare

import (
	"cmp"
	"context"
	"slices"

	"github.com/keywright/keywright/source"
)

// suspect represents a key that may differ: what was read of it, in the words of the first side.
type suspect struct {
	key       Key
	entry     int
	momentary bool
	a, b      Fact
	whyA      string // it could not be compared as A, or B, has it
	whyB      string
}

func (s *suspect) why(of side) *string {
	if of == sideA {
		return &s.whyA
	}
	return &s.whyB
}

func (s *suspect) fact(of side) *Fact {
	if of == sideA {
		return &s.a
	}
	return &s.b
}

// Bounds of the suspects that are read again together, and how often one is read.
const (
	maxSuspects     = 256
	maxSuspectBytes = 1 << 20
	looks           = 3
)

// suspected keeps a key that is read again before it counts.
func (c *comparison) suspected(s suspect) error {
	if c.a.live == nil && c.b.live == nil {
		return c.judge(&s)
	}
	s.key.Name = slices.Clone(s.key.Name)
	c.suspects = append(c.suspects, s)
	c.bytes += len(s.key.Name)
	return nil
}

// crowded says that the suspects are to be read again now.
func (c *comparison) crowded() bool {
	return len(c.suspects) >= maxSuspects || c.bytes >= maxSuspectBytes
}

// recheckSuspects reads the suspects again. One that is the same now was only written to in
// between; one that differs as before differs; one that differs otherwise is read again.
func (c *comparison) recheckSuspects(ctx context.Context) error {
	list := c.suspects
	c.suspects, c.bytes = nil, 0
	for look := 1; len(list) > 0; look++ {
		before := slices.Clone(list)
		for _, s := range []side{sideA, sideB} {
			if err := c.look(ctx, s, list); err != nil {
				return err
			}
		}
		var still []suspect
		for i := range list {
			s := &list[i]
			switch verdict := c.verdict(s); {
			case verdict == "" || stable(&before[i], s):
				if err := c.judge(s); err != nil {
					return err
				}
			case look == looks:
				if err := c.differs(s, Changing); err != nil {
					return err
				}
			default:
				still = append(still, *s)
			}
		}
		list = still
	}
	return nil
}

// stable tells that two looks at a key have seen the same.
func stable(before, now *suspect) bool {
	return before.a == now.a && before.b == now.b && !now.a.Torn && !now.b.Torn
}

// look reads what a side has of keys now.
func (c *comparison) look(ctx context.Context, s side, list []suspect) error {
	live := c.of(s).live
	if live == nil {
		return nil
	}
	byDB := map[int][]int{}
	for i := range list {
		db := c.place(s, list[i].key).DB
		byDB[db] = append(byDB[db], i)
		*list[i].fact(s), *list[i].why(s) = Fact{}, ""
	}
	for db, members := range byDB {
		names, at := make([][]byte, len(members)), map[string]int{}
		for n, i := range members {
			names[n] = c.place(s, list[i].key).Name
			at[string(names[n])] = i
		}
		err := live.Ask(ctx, db, names, func(batch []source.Content) error {
			for i := range batch {
				n, ok := at[string(batch[i].Name)]
				if !ok {
					continue
				}
				f, done, err := c.facts.Take(&batch[i], id(s, list[n].key))
				if done {
					if *list[n].fact(s) = f; err != nil {
						*list[n].why(s) = err.Error()
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// verdict says how the facts of a key differ; "": they do not.
func (c *comparison) verdict(s *suspect) What {
	switch a, b := &s.a, &s.b; {
	case s.whyA+s.whyB != "":
		return Unclear
	case !a.There && !b.There:
		return ""
	case !b.There && past(a, c.b.Now()), !a.There && past(b, c.a.Now()):
		return ""
	case !b.There:
		return Missing
	case !a.There:
		return Extra
	case a.Kind != b.Kind:
		return Type
	case a.Digest != b.Digest && (a.Opaque || b.Opaque):
		return Unclear
	case a.Digest != b.Digest:
		return Value
	case !c.Expiries(s.key, a.Expires, b.Expires):
		return TTL
	}
	return ""
}

func past(f *Fact, now int64) bool { return f.Expires > 0 && f.Expires <= now }

// judge counts a key.
func (c *comparison) judge(s *suspect) error {
	what := c.verdict(s)
	switch {
	case what != "":
		return c.differs(s, what)
	case s.a.There && s.b.There:
		c.report.count(s.entry, func(n *Figures) *int64 { return &n.Same })
	default:
		c.report.count(s.entry, func(n *Figures) *int64 { return &n.Expired })
	}
	return nil
}

// differs counts and names a difference.
func (c *comparison) differs(s *suspect, what What) error {
	if s.momentary && !c.Momentary {
		c.report.count(s.entry, func(n *Figures) *int64 { return &n.Momentary })
		return nil
	}
	c.report.count(s.entry, func(n *Figures) *int64 { return n.of(what) })
	k := Key{s.key.DB, slices.Clone(s.key.Name)} // the name is in a buffer that is used again
	d := Difference{What: what, Key: k, AtB: c.To(k), Entry: s.entry, A: s.a, B: s.b, Why: cmp.Or(s.whyA, s.whyB)}
	if what == Unclear && d.Why == "" {
		d.Why = "the type of its encoding is not known to this program, and its bytes differ"
	}
	c.report.name(d)
	if c.Each != nil {
		return c.Each(d)
	}
	return nil
}
