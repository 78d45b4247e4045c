// Package sample makes data from a declaration: keys, values and TTLs that obey
// it, in realistic sizes and always the same for one seed. `keywright demo`
// fills a server with it and tests feed it to whatever reads a keyspace.
//
// It is not a load generator and knows no server: it yields keys and the
// commands that write them. The values look plausible and mean nothing; the
// trade-off is that only the parts of an entity (hash and indexes) agree with
// each other.
package sample

import (
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/keywright/keywright/keyspace"
)

// Options say how much to make. Now is the moment the data is dated by.
type Options struct {
	Keys int
	Seed uint64
	Now  time.Time
}

// Key represents one made key. Rows are the arguments that follow its name in the
// commands that write it; only a stream has more than one.
type Key struct {
	Decl *keyspace.Key
	Name []byte
	Kind keyspace.Kind
	TTL  time.Duration // 0: never expires
	Rows [][][]byte
}

// Generate makes about opt.Keys keys: every declared pattern at least once,
// patterns that can only have a few keys in full, caches and entities most.
// Keys that expire soonest come last, so that they are still there when the
// server has been filled.
func Generate(ks *keyspace.Keyspace, opt Options) []Key {
	var out []Key
	pools := newPools(ks, opt)
	for _, s := range shares(ks, opt, pools) {
		g := newMaker(s.decl.Name, opt)
		g.pools = pools
		if s.decl.Entry.Construct == keyspace.Entity && s.decl.Role == "" {
			out = append(out, g.entity(s.decl.Entry, s.keys)...)
			continue
		}
		out = append(out, g.plain(s.decl, s.keys)...)
	}
	return soonestLast(out)
}

// maker makes the keys of one declaration. Its random numbers depend on the
// seed and the declaration's name alone, so that another entry in the file does
// not change what this one gets.
type maker struct {
	*rand.Rand
	now   time.Time
	pools pools
}

func newMaker(name string, opt Options) *maker {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return &maker{Rand: rand.New(rand.NewPCG(opt.Seed, h.Sum64())), now: opt.Now}
}

// plain makes n distinct keys of one pattern.
func (g *maker) plain(decl *keyspace.Key, n int) []Key {
	out := make([]Key, 0, n)
	for _, values := range g.names(decl, n) {
		out = append(out, Key{
			Decl: decl,
			Name: values.key,
			Kind: decl.Kind,
			TTL:  g.ttl(decl.TTL),
			Rows: g.rows(decl, len(decl.Pattern.Placeholders()) == 0),
		})
	}
	return out
}

// name represents a built key and the values it was built from.
type name struct {
	key    []byte
	values []string
}

// names builds up to n distinct keys; fewer when the pattern has no more.
func (g *maker) names(decl *keyspace.Key, n int) []name {
	seen := make(map[string]bool, n)
	out := make([]name, 0, n)
	for tries := 0; len(out) < n && tries < 4*n+16; tries++ {
		values := g.placeholders(decl)
		key, err := decl.Pattern.Build(values...)
		if err != nil || seen[string(key)] {
			continue
		}
		seen[string(key)] = true
		out = append(out, name{key, values})
	}
	return out
}

func (g *maker) placeholders(decl *keyspace.Key) []string {
	places := decl.Pattern.Placeholders()
	values := make([]string, len(places))
	for i, p := range places {
		if pool := g.pools[p.Name]; len(pool) > 0 {
			values[i] = pool[g.IntN(len(pool))]
			continue
		}
		values[i] = g.inKey(p.Type, decl.TTL)
	}
	return values
}

// ttl returns what is left of a TTL that was written some time ago.
func (g *maker) ttl(t keyspace.TTL) time.Duration {
	if t.Policy != keyspace.TTLExpires {
		return 0
	}
	left := 0.05 + 0.95*g.Float64()
	return max(time.Second, time.Duration(left*float64(t.Default)).Truncate(time.Millisecond))
}
