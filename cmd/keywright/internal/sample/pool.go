package sample

import (
	"math"
	"slices"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
)

// pools holds the values of placeholders that several patterns have in common:
// the product of cache:product:detail:{productId} has options under the same
// id. A placeholder that most of a system's patterns share, like a tenant, has
// few values.
type pools map[string][]string

const (
	tenants   = 60 // values of a placeholder in more than scopeUses patterns
	scopeUses = 10
	perShared = 20 // one value of a shared placeholder per so many keys
)

func newPools(ks *keyspace.Keyspace, opt Options) pools {
	uses, places := map[string]int{}, map[string]pattern.Placeholder{}
	for _, k := range ks.Keys {
		for _, p := range k.Pattern.Placeholders() {
			uses[p.Name]++
			places[p.Name] = p
		}
	}
	out := pools{}
	for name, p := range places {
		if uses[name] < 2 || choices(p, keyspace.TTL{}) < math.MaxInt32 {
			continue
		}
		size := max(tenants, opt.Keys/perShared)
		if uses[name] > scopeUses {
			size = tenants
		}
		out[name] = newMaker("pool "+name, opt).pool(p, size)
	}
	return out
}

func (g *maker) pool(p pattern.Placeholder, size int) []string {
	out := make([]string, size)
	for i := range out {
		out[i] = g.inKey(p.Type, keyspace.TTL{})
	}
	slices.Sort(out)
	return slices.Compact(out)
}
