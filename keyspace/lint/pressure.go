package lint

import (
	"slices"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
)

func (c *context) pressureOrder() {
	for i := range c.Pressure {
		r := &c.Pressure[i]
		for j := range c.Pressure[:i] {
			if before := &c.Pressure[j]; before.At > r.At {
				c.report(r.Places["at"], r.Entry.Name, "", "this rule acts at %d%% and comes after one that acts at %d%%", r.At,
					before.At)
				break
			}
		}
		for j := range c.Pressure {
			if s := &c.Pressure[j]; r.Shorten == 0 && s.Shorten > 0 && s.At >= r.At && sameItems(r, s) {
				c.report(r.Places["release"], r.Entry.Name, "", "items of %s are released at %d%% and shortened at %d%% only",
					r.Entry.Name, r.At, s.At)
				break
			}
		}
	}
}

// sameItems reports whether two rules have items in common.
func sameItems(a, b *keyspace.Pressure) bool {
	return a.Entry == b.Entry && a.Index.Field == b.Index.Field &&
		slices.ContainsFunc(a.Values, func(v string) bool { return slices.Contains(b.Values, v) })
}

func (c *context) pressureMinimum() {
	for _, r := range c.Pressure {
		if t := r.Entry.TTL; t.Policy == keyspace.TTLExpires && r.Shorten > 0 && r.Shorten < t.Min {
			c.report(r.Places["shorten"], r.Entry.Name, "", "%s is shortened to %s, but its ttl is %s", r.Entry.Name,
				keyspace.FormatDuration(r.Shorten), t.Text)
		}
	}
}

func (c *context) pressureIdle() {
	for _, r := range c.Pressure {
		if t := r.Entry.TTL; t.Policy == keyspace.TTLExpires && r.Shorten >= t.Max {
			c.report(r.Places["shorten"], r.Entry.Name, "", "%s is shortened to %s, but no item lives for longer than %s",
				r.Entry.Name, keyspace.FormatDuration(r.Shorten), keyspace.FormatDuration(t.Max))
		}
	}
}

func (c *context) pressurePermanent() {
	for _, r := range c.Pressure {
		if r.Entry.TTL.Policy == keyspace.TTLNone {
			c.report(r.Places["entry"], r.Entry.Name, "", "%s has ttl: none and goes under pressure", r.Entry.Name)
		}
	}
}

// sealedPlaces finds what is encrypted where it is compared or travels. Patterns,
// scores and indexes are refused when a declaration is loaded.
func (c *context) sealedPlaces() {
	for _, k := range c.Keys {
		if k.Derived || k.Role != "" {
			continue
		}
		if k.Kind == keyspace.Set || k.Kind == keyspace.ZSet {
			c.sealedType(k, "member", k.Member,
				"the members of %s are encrypted: no two sealed texts are the same, so no member is ever found again")
		}
		if k.Kind == keyspace.Hash {
			c.sealedType(k, "field", k.Field,
				"the names of the fields of %s are encrypted: no two sealed texts are the same, so no field is ever found again")
		}
	}
	for _, ch := range c.Channels {
		for _, f := range ch.Message {
			if f.Type.Encrypted {
				c.report(f.Pos, "", "publish the id, and read the value from its key",
					"%s of the channel %s is encrypted: a message has no key that it could be sealed for", f.Name, ch.Name)
			}
		}
	}
}

func (c *context) sealedType(k *keyspace.Key, property string, t *scalar.Type, format string) {
	if t != nil && t.Encrypted {
		pos, ok := k.Entry.At[property]
		if !ok {
			pos = k.Pos
		}
		c.report(pos, k.Name, "", format, k.Name)
	}
}
