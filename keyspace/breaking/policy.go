package breaking

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/breaking/internal/stored"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// ttls calls a check for each key whose TTL is declared by hand, not by its
// construct.
func (c *context) ttls(check func(old, new *keyspace.Key)) {
	c.keys(func(old, new *keyspace.Key) {
		if old.Role == "" && old.TTL.Text != new.TTL.Text {
			check(old, new)
		}
	})
}

func (c *context) ttlReport(old, new *keyspace.Key, format string, args ...any) {
	fix, order := "", c.current.order
	if new.Entry.Construct == keyspace.Lock {
		fix = "see that holders renew the lock, or are done within the new lease"
		order = "any: each holder takes the lock with the lease of its own version"
	}
	c.ordered(order, at(new.Entry, "ttl"), at(old.Entry, "ttl"), new.Name, fix, "%s had the TTL %s and has %s: %s",
		new.Name, old.TTL.Text, new.TTL.Text, fmt.Sprintf(format, args...))
}

func (c *context) beginsToExpire() {
	c.ttls(func(old, new *keyspace.Key) {
		if old.TTL.Policy == keyspace.TTLNone && new.TTL.Policy != keyspace.TTLNone {
			c.ttlReport(old, new, "what was kept for good may go")
		}
	})
}

func (c *context) ttlShortened() {
	c.ruleShortened()
	c.ttls(func(old, new *keyspace.Key) {
		if old.TTL.Policy != keyspace.TTLExpires || new.TTL.Policy != keyspace.TTLExpires {
			return
		}
		switch {
		case new.TTL.LiveMax() < old.TTL.LiveMax():
			c.ttlReport(old, new, "at most %s instead of %s", keyspace.FormatDuration(new.TTL.LiveMax()),
				keyspace.FormatDuration(old.TTL.LiveMax()))
		case new.TTL.Default < old.TTL.Default:
			c.ttlReport(old, new, "written with %s instead of %s", keyspace.FormatDuration(new.TTL.Default),
				keyspace.FormatDuration(old.TTL.Default))
		}
	})
}

func (c *context) stopsExpiring() {
	c.ttls(func(old, new *keyspace.Key) {
		switch {
		case old.TTL.Policy != keyspace.TTLExpires:
		case new.TTL.Policy == keyspace.TTLNone:
			c.ttlReport(old, new, "keys that are there still go")
		case new.TTL.Policy == keyspace.TTLAny:
			c.ttlReport(old, new, "what writers leave without one stays for good")
		}
	})
}

// boundsNarrowed: a TTL that a writer could ask for is refused. A single value
// without `in` is no choice.
func (c *context) boundsNarrowed() {
	c.ttls(func(old, new *keyspace.Key) {
		free := old.TTL.Policy == keyspace.TTLAny && new.TTL.Policy != keyspace.TTLAny
		if old.TTL.Policy == keyspace.TTLExpires && old.TTL.Min < old.TTL.Max {
			free = new.TTL.Policy == keyspace.TTLNone ||
				new.TTL.Policy == keyspace.TTLExpires && (new.TTL.Min > old.TTL.Min || new.TTL.Max < old.TTL.Max)
		}
		if free {
			c.ttlReport(old, new, "writers that ask for one outside of that are refused")
		}
	})
}

func (c *context) slidingChanged() {
	c.ttls(func(old, new *keyspace.Key) {
		if old.TTL.Policy == keyspace.TTLExpires && new.TTL.Policy == keyspace.TTLExpires &&
			old.TTL.Sliding != new.TTL.Sliding {
			c.ttlReport(old, new, "%s",
				map[bool]string{true: "use renews it now", false: "use renews it no more"}[new.TTL.Sliding])
		}
	})
}

func (c *context) ownerChanged() {
	for _, p := range c.pairs {
		if p.New != nil && p.Old.Owner != "" && p.Old.Owner != p.New.Owner {
			c.report(at(p.New, "owner"), at(p.Old, "owner"), p.New.Name, "", "%s was owned by %s and is by %s", p.New.Name,
				p.Old.Owner, orNobody(p.New.Owner))
		}
	}
	for _, old := range c.old.Channels {
		if new := c.channel(old.Name); new != nil && !old.Derived && old.Durable == nil && old.Owner != "" &&
			old.Owner != new.Owner {
			c.report(new.Pos, old.Pos, new.Name, "", "the channel %s was published by %s and is by %s", new.Name, old.Owner,
				orNobody(new.Owner))
		}
	}
}

func orNobody(name string) string {
	if name == "" {
		return "nobody"
	}
	return name
}

func (c *context) readerDropped() {
	for _, p := range c.pairs {
		if p.New == nil {
			continue
		}
		for _, r := range p.Old.Readers {
			if !slices.Contains(p.New.Readers, r) && p.New.Owner != r {
				c.report(at(p.New, "readers"), at(p.Old, "readers"), p.New.Name, "", "%s may read %s no more", r, p.New.Name)
			}
		}
	}
	ofEntries := map[*keyspace.Channel]bool{} // they have the readers of their entry
	for _, e := range c.old.Entries {
		ofEntries[e.Notify], ofEntries[e.Topic] = true, true
	}
	for _, old := range c.old.Channels {
		new := c.channel(old.Name)
		if ofEntries[old] {
			continue
		}
		for _, r := range old.Readers {
			if new != nil && !slices.Contains(new.Readers, r) && new.Owner != r {
				c.report(new.Pos, old.Pos, new.Name, "", "%s may subscribe to %s no more", r, new.Name)
			}
		}
	}
}

func (c *context) limitLowered() {
	for _, p := range c.pairs {
		if p.New == nil {
			continue
		}
		o, n := p.Old, p.New
		for _, limit := range []struct {
			name     string
			old, new int64
			text     func(int64) string
		}{
			{"lease", int64(o.Lease), int64(n.Lease), duration}, {"retry", int64(o.Retry), int64(n.Retry), decimal},
			{"maxlen", o.MaxLen, n.MaxLen, decimal}, {"timeout", int64(o.Timeout), int64(n.Timeout), duration},
		} {
			unbounded := (limit.name == "maxlen" || limit.name == "timeout") && limit.old == 0 && limit.new > 0
			if limit.new > 0 && limit.new < limit.old || unbounded {
				c.report(at(n, limit.name), at(o, limit.name), n.Name, "", "the %s of %s is %s and was %s", limit.name, n.Name,
					limit.text(limit.new), map[bool]string{true: "without bound", false: limit.text(limit.old)}[unbounded])
			}
		}
		c.rateLowered(o, n)
	}
}

// rateLowered: callers are refused earlier, over time or at once.
func (c *context) rateLowered(o, n *keyspace.Entry) {
	if o.Rate.Per <= 0 || n.Rate.Per <= 0 {
		return
	}
	lower := slower(n.Rate, o.Rate)
	if lower {
		c.report(at(n, "rate"), at(o, "rate"), n.Name, "", "the rate of %s is %s and was %s", n.Name, rate(n.Rate),
			rate(o.Rate))
	}
	was, is := cmp.Or(o.Rate.Burst, o.Rate.Count), cmp.Or(n.Rate.Burst, n.Rate.Count)
	if is < was && (!lower || n.Rate.Burst > 0 || o.Rate.Burst > 0) {
		c.report(at(n, "rate"), at(o, "rate"), n.Name, "", "the burst of %s is %d and was %d", n.Name, is, was)
	}
}

// slower compares two rates over any windows, exactly.
func slower(a, b keyspace.Rate) bool {
	product := func(count int64, per time.Duration) *big.Int {
		return new(big.Int).Mul(big.NewInt(count), big.NewInt(int64(per)))
	}
	return product(a.Count, b.Per).Cmp(product(b.Count, a.Per)) < 0
}

func rate(r keyspace.Rate) string { return fmt.Sprintf("%d per %s", r.Count, duration(int64(r.Per))) }

func duration(n int64) string { return keyspace.FormatDuration(time.Duration(n)) }

func decimal(n int64) string { return fmt.Sprint(n) }

func (c *context) nameGone() {
	for _, p := range c.pairs {
		switch {
		case p.New == nil:
			c.nameOf(sectionOf(p.Old), p.Old.Name, p.Old.Pos, retirement(p.Old), article(p.Old))
		case p.New.Name != p.Old.Name && c.retired(sectionOf(p.Old), p.Old.Name) != nil:
			c.noteRetired(c.retired(sectionOf(p.Old), p.Old.Name), p.Old.Pos, p.New.Name, "%s %s is called %s now", article(p.Old),
				p.Old.Name, p.New.Name)
		case p.New.Name != p.Old.Name:
			c.report(p.New.Pos, p.Old.Pos, p.New.Name, "", "%s %s is called %s now", article(p.Old), p.Old.Name, p.New.Name)
		}
	}
	for _, old := range c.old.Channels {
		if !old.Derived && c.channel(old.Name) == nil {
			c.nameOf("channels", old.Name, old.Pos, retirementOf("channels", old.Name, old.Pattern.String()), "the channel")
		}
	}
	for _, old := range c.old.Events {
		if !slices.ContainsFunc(c.new.Events, func(e *keyspace.Event) bool { return e.Name == old.Name }) {
			c.nameOf("events", old.Name, old.Pos, retirementOf("events", old.Name), "the event")
		}
	}
}

// nameOf reports a name that is gone: a note if it is retired.
func (c *context) nameOf(section, name string, was keyspace.Pos, line, what string) {
	if r := c.retired(section, name); r != nil {
		c.noteRetired(r, was, name, "%s %s is gone", what, name)
		return
	}
	c.report(keyspace.Pos{}, was, name, "tell its callers, or keep the old name; if it is gone for good write "+line,
		"%s %s is gone", what, name)
}

func article(e *keyspace.Entry) string {
	if e.Script != nil {
		return "the script"
	}
	return "the entry"
}

// parametersChanged: names, order or types of placeholders, of keys, channels
// and events.
func (c *context) parametersChanged() {
	c.keys(func(old, new *keyspace.Key) {
		if a, b := parameters(old.Pattern, old.Pattern), parameters(new.Pattern, old.Pattern); a != b {
			c.report(new.Pos, old.Pos, new.Name, "", "the parameters of %s were (%s) and are (%s)", new.Name, a, b)
		}
	})
	for _, old := range c.old.Channels {
		if new := c.channel(old.Name); new != nil && !old.Derived {
			if a, b := parameters(old.Pattern, old.Pattern), parameters(new.Pattern, old.Pattern); a != b {
				c.report(new.Pos, old.Pos, new.Name, "", "the parameters of the channel %s were (%s) and are (%s)", new.Name, a, b)
			}
		}
	}
	for _, old := range c.old.Events {
		for _, new := range c.new.Events {
			if a, b := strings.Join(old.With, ", "), strings.Join(new.With, ", "); old.Name == new.Name && a != b {
				c.report(new.Pos, old.Pos, new.Name, "", "the event %s carried (%s) and carries (%s)", new.Name, a, b)
			}
		}
	}
}

// parameters returns those of the functions of a pattern, with the defaults where there were
// some: callers that leave a parameter out rely on them.
func parameters(p, old *pattern.Pattern) string {
	var out []string
	for i, place := range p.Placeholders() {
		t := place.Type
		one := place.Name + " " + stored.GoType(&t)
		if before := old.Placeholders(); t.Default != "" && i < len(before) && before[i].Type.Default != "" {
			one += " = " + t.Default
		}
		out = append(out, one)
	}
	return strings.Join(out, ", ")
}

func (c *context) scriptChanged() {
	for _, p := range c.pairs {
		if p.New == nil || p.Old.Script == nil || p.New.Script == nil {
			continue
		}
		if a, b := signature(p.Old), signature(p.New); a != b {
			c.report(p.New.Pos, p.Old.Pos, p.New.Name, "", "the script %s was %s and is %s", p.New.Name, a, b)
		}
	}
}

// signature returns what a caller of a script sees.
func signature(e *keyspace.Entry) string {
	var args []string
	for _, a := range e.Script.Args {
		args = append(args, a.Name+" "+stored.GoType(&a.Type))
	}
	out := "(" + strings.Join(e.Script.Keys, ", ") + "; " + strings.Join(args, ", ") + ")"
	if e.Script.Returns != nil {
		out += " " + stored.GoType(&scalar.Type{Kind: e.Script.Returns.Kind, Var: e.Script.Returns.Var})
	}
	return out
}

func (c *context) packageRenamed() {
	if c.old.Package != "" && c.old.Package != c.new.Package {
		c.report(keyspace.Pos{}, keyspace.Pos{}, "", "", "the package %s is called %s now", c.old.Package,
			orNobody(c.new.Package))
	}
}
