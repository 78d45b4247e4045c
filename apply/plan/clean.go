package plan

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/keywright/keywright/source"
)

// Clean represents the rule that removes what the clean-up of a declaration may take.
type Clean struct {
	*keyMatcher
	rules  []cleanRule
	now    time.Time
	groups map[string]*group
	kept   int // bytes of names in groups
	full   bool
}

// cleanRule represents one rule of the declaration, ready to be asked.
type cleanRule struct {
	keyspace.Cleanup
	globs *match.Matcher
}

// group is keys of one pattern of which the newest are kept.
type group struct{ newest []aged }

type aged struct {
	moment
	name string
}

// MaxKept bounds the bytes of the names of keys that `keep` has seen as the newest.
const MaxKept = 32 << 20

// NewClean makes the rule. now is the server's time, by which `older` counts.
func NewClean(ks *keyspace.Keyspace, r selection.Request, now time.Time) (*Clean, error) {
	b, err := newKeyMatcher(ks, r)
	if err != nil {
		return nil, err
	}
	c := &Clean{keyMatcher: b, now: now, groups: map[string]*group{}}
	for _, rule := range ks.Cleanup {
		m, _, err := match.Compile([]match.Item{{Pattern: rule.Match.Pattern}})
		if err != nil {
			return nil, err
		}
		c.rules = append(c.rules, cleanRule{rule, m})
	}
	return c, nil
}

// Keeps reports whether a rule has `keep`, so that all keys must be learned first.
func (c *Clean) Keeps() bool {
	return slices.ContainsFunc(c.rules, func(r cleanRule) bool { return r.Keep > 0 })
}

// Idles reports whether a rule has `idle`, so that the server must keep idle times.
func (c *Clean) Idles() bool {
	return slices.ContainsFunc(c.rules, func(r cleanRule) bool { return r.Idle > 0 })
}

// Glob implements Rule.
func (c *Clean) Glob() string {
	if g := c.keyMatcher.Glob(); g != "" || len(c.rules) != 1 {
		return g
	}
	return c.rules[0].Match.Text
}

// Learn implements Learner: it notes the newest keys of each group.
func (c *Clean) Learn(k *source.Key) {
	d, declared := c.look(k)
	if !d.Meant || d.Leave != "" || c.full {
		return
	}
	for i := range c.rules {
		if r := &c.rules[i]; r.Keep > 0 && r.globs.Match(k.Name, nil) != match.None {
			if m, id, ok := c.grouped(k, declared, i); ok {
				c.keep(id, aged{m, string(k.Name)}, r.Keep)
			}
		}
	}
}

// keep puts a key among the newest of its group.
func (c *Clean) keep(id string, a aged, n int) {
	g := c.groups[id]
	if g == nil {
		g = &group{}
		c.groups[id] = g
		c.kept += len(id)
	}
	at, there := slices.BinarySearchFunc(g.newest, a, func(x, y aged) int { // the newest first
		if o := y.compare(x.moment); o != 0 {
			return o
		}
		return strings.Compare(x.name, y.name)
	})
	if there || at == n {
		return
	}
	g.newest = slices.Insert(g.newest, at, a)
	c.kept += len(a.name)
	if len(g.newest) > n {
		c.kept -= len(g.newest[n].name)
		g.newest = g.newest[:n]
	}
	c.full = c.kept > MaxKept
}

// grouped returns when a key is of, and the group in which it is older or newer: the keys of
// its pattern that have the other placeholders alike, in one database.
func (c *Clean) grouped(k *source.Key, declared *keyspace.Key, rule int) (m moment, id string, ok bool) {
	if declared == nil {
		return m, "", false
	}
	at, _ := keyspace.Ordering(declared.Pattern)
	if at < 0 {
		return m, "", false
	}
	id = strconv.Itoa(rule) + " " + strconv.Itoa(k.DB) + " " + declared.Name
	for i := range declared.Pattern.Placeholders() {
		if i != at {
			id += " " + strconv.Quote(c.capture(k, i))
		}
	}
	m, ok = momentOf(declared.Pattern.Placeholders()[at].Type, c.capture(k, at))
	return m, id, ok
}

// Decide implements Rule: the first rule that takes a key decides.
func (c *Clean) Decide(k *source.Key) Decision {
	d, declared := c.look(k)
	if !d.Meant {
		return d
	}
	left := d.Leave
	matched := false
	for i := range c.rules {
		r := &c.rules[i]
		if r.globs.Match(k.Name, nil) == match.None {
			continue
		}
		if matched = true; left != "" && left != NotDue && left == d.Leave {
			return d // it may not be touched at all
		}
		step, why := c.by(i, k, declared)
		if why == "" {
			d.Step, d.Leave = step, ""
			return d
		}
		if left == "" || left == NotDue {
			left = why
		}
	}
	d.Meant, d.Leave = matched, left
	return d
}

// by asks one rule.
func (c *Clean) by(i int, k *source.Key, declared *keyspace.Key) (s Step, why Code) {
	r := &c.rules[i]
	if declared != nil && declared.TTL.Policy == keyspace.TTLNone && r.Keep == 0 {
		return s, Permanent
	}
	if s, why = c.removal(k, declared); why != "" {
		return s, why
	}
	switch {
	case r.Idle > 0:
		s.Idle = r.Idle
	case r.Older > 0:
		why = c.older(r, k, declared)
	default:
		s.After, why = c.surplus(i, k, declared)
	}
	return s, why
}

// older decides by the time in the name.
func (c *Clean) older(r *cleanRule, k *source.Key, declared *keyspace.Key) Code {
	m, ok := moment{}, false
	if declared == nil {
		m, ok = momentIn(string(k.Name))
	} else if at, isTime := keyspace.Ordering(declared.Pattern); isTime {
		m, ok = momentOf(declared.Pattern.Placeholders()[at].Type, c.capture(k, at))
	}
	switch {
	case !ok:
		return NoTime
	case c.now.Sub(m.ends) < r.Older:
		return NotDue
	}
	return ""
}

// surplus decides whether there are enough newer keys, and which they are.
func (c *Clean) surplus(i int, k *source.Key, declared *keyspace.Key) ([]string, Code) {
	_, id, ok := c.grouped(k, declared, i)
	g := c.groups[id]
	switch {
	case !ok:
		return nil, NoTime
	case c.full:
		return nil, TooMany
	case g == nil || len(g.newest) < c.rules[i].Keep || slices.ContainsFunc(g.newest,
		func(a aged) bool { return a.name == string(k.Name) }):
		return nil, NotDue
	}
	m, _, _ := c.grouped(k, declared, i)
	if m.compare(g.newest[len(g.newest)-1].moment) > 0 { // it came after the newest were learned
		return nil, NotDue
	}
	names := make([]string, len(g.newest))
	for j, a := range g.newest {
		names[j] = a.name
	}
	return names, ""
}
