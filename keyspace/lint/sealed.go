package lint

import (
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
)

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
