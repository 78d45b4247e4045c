package sample

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// share describes how many keys one declaration gets.
type share struct {
	decl   *keyspace.Key
	keys   int
	limit  int // how many keys the pattern can have
	weight float64
}

// weights says how common the keys of each construct are beside each other.
var weights = map[keyspace.Construct]float64{
	keyspace.Cache: 12, keyspace.Entity: 8, keyspace.Counter: 6, keyspace.Plain: 4,
	keyspace.RateLimit: 4, keyspace.Queue: 2, keyspace.Ranking: 2, keyspace.Lock: 1,
	keyspace.Topic: 0, keyspace.Script: 0, // the least there is, and none
}

// shares divides opt.Keys over the declarations by weight. What a small pattern
// cannot take goes to the others.
func shares(ks *keyspace.Keyspace, opt Options, pools pools) []share {
	var all []share
	for _, decl := range ks.Keys {
		if ofEntity(decl) {
			continue // made together with the entity
		}
		all = append(all, share{decl: decl, limit: limit(decl, pools), weight: weight(decl)})
	}
	slices.SortStableFunc(all, func(a, b share) int {
		return cmp.Compare(float64(a.limit)/a.weight, float64(b.limit)/b.weight)
	})
	left, weights := float64(opt.Keys), 0.0
	for _, s := range all {
		weights += s.weight
	}
	for i := range all {
		s := &all[i]
		s.keys = max(1, min(s.limit, int(left*s.weight/weights)))
		left, weights = max(0, left-float64(s.keys)), weights-s.weight
	}
	return all
}

func ofEntity(decl *keyspace.Key) bool {
	return decl.Entry.Construct == keyspace.Entity && decl.Role != ""
}

func weight(decl *keyspace.Key) float64 {
	w := weights[decl.Entry.Construct]
	if decl.TTL.Policy == keyspace.TTLExpires && decl.TTL.Default <= time.Minute {
		w /= 4
	}
	if decl.Derived {
		w /= 4
	}
	if decl.Entry.Construct == keyspace.Entity {
		w /= float64(1 + len(decl.Entry.Index)) // its indexes are keys too
	}
	return max(w, 0.05)
}

// limit returns how many keys a pattern can have, or should: no one keeps more days
// than the TTL leaves.
func limit(decl *keyspace.Key, pools pools) int {
	n := 1.0
	for _, p := range decl.Pattern.Placeholders() {
		if pool := pools[p.Name]; len(pool) > 0 {
			n *= float64(len(pool))
			continue
		}
		n *= choices(p, decl.TTL)
	}
	return int(min(n, math.MaxInt32))
}

func choices(p pattern.Placeholder, ttl keyspace.TTL) float64 {
	switch t := p.Type; t.Kind {
	case scalar.Enum:
		return float64(len(t.Values))
	case scalar.Bool:
		return 2
	case scalar.Int:
		if t.HasMin && t.HasMax {
			return max(1, float64(t.High)-float64(t.Low)+1)
		}
	case scalar.Date:
		return float64(days(ttl))
	}
	return math.MaxInt32
}

// days returns how far back a date in a key goes.
func days(ttl keyspace.TTL) int {
	if ttl.Policy != keyspace.TTLExpires {
		return 90
	}
	return max(1, int(ttl.Max/(24*time.Hour)))
}

func soonestLast(keys []Key) []Key {
	slices.SortStableFunc(keys, func(a, b Key) int { return cmp.Compare(due(b), due(a)) })
	return keys
}

func due(k Key) time.Duration {
	if k.TTL == 0 {
		return math.MaxInt64
	}
	return k.TTL
}
