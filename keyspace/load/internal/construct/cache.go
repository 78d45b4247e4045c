package construct

import (
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load/internal/scope"
	"github.com/keywright/keywright/keyspace/scalar"
)

// fillTTL bounds the lease of a caller that loads a cached value.
const fillTTL = time.Minute

// cache is a string; beside it, while there is no value, who loads it, or that
// there is none.
func (b *builder) cache() {
	b.plainString()
	b.e.Fresh, b.e.Absent = b.d.Duration(b.props, "fresh"), b.d.Duration(b.props, "absent")
	if max := b.e.TTL.Min; b.e.TTL.Policy == keyspace.TTLExpires && b.e.Fresh >= max && b.e.Fresh > 0 {
		b.d.Report("KW307", b.e.At["fresh"], "shorter than the ttl", "%s is fresh for %s, but lives for %s only", b.e.Name,
			keyspace.FormatDuration(b.e.Fresh), keyspace.FormatDuration(max))
	}
	b.addRole(&keyspace.Key{Role: "fill", Kind: keyspace.String, TTL: scope.AtMost(max(b.e.Absent, fillTTL)),
		Value: &scalar.Type{},
		Doc:   "Who is loading " + b.e.Name + ", or that there is none."}, b.main, "fill")
}
