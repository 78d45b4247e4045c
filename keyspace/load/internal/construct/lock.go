package construct

import (
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load/internal/scope"
	"github.com/keywright/keywright/keyspace/scalar"
)

// lock is a string with the holder's token; beside it the last fencing token,
// the waiters in order, and the channel on which a release is announced.
func (b *builder) lock() {
	b.addMain(&keyspace.Key{Value: &scalar.Type{}})
	b.addRole(&keyspace.Key{Role: "fence", Kind: keyspace.String, TTL: scope.AtMost(helperTTL),
		Value: &scalar.Type{Kind: scalar.Int},
		Doc:   "The last fencing token of " + b.e.Name + "."}, b.main, "fence")
	b.addRole(&keyspace.Key{Role: "waiters", Kind: keyspace.ZSet, TTL: scope.AtMost(helperTTL), Member: &scalar.Type{},
		Score: &scalar.Type{Kind: scalar.Int}, Doc: "Who waits for " + b.e.Name + ", scored by when they came, in µs."},
		b.main, "waiters")
	b.addRole(&keyspace.Key{Role: "shared", Kind: keyspace.ZSet, TTL: scope.AtMost(helperTTL), Member: &scalar.Type{},
		Score: &scalar.Type{Kind: scalar.UnixMS},
		Doc:   "Who holds " + b.e.Name + " together with others, scored by the end of the lease."}, b.main, "shared")
	b.notify(b.main, "released", "Tells the next waiter that "+b.e.Name+" is free.")
}
