package rdb

import "github.com/keywright/keywright/source"

// layout describes how values of one type byte are stored. Its kind is Unknown if no value has the type.
type layout struct {
	kind     source.Kind
	encoding string
	per      uint64 // strings per element of a table, entries per element of a packed value
	score    scoreForm
	version  int // of streams, of packed hashes with TTLs
	since    int // the first version of RDB that has it
}

// scoreForm describes how the score of a sorted set's member is written.
type scoreForm int

const (
	noScore scoreForm = iota
	textScore
	binaryScore
)

// layouts lists the types of Redis. A type is read in the versions of RDB that have it, and in no other: programs that
// write an older version have types of their own under the same numbers.
var layouts = [256]layout{
	0: {kind: source.String},
	1: {kind: source.List, encoding: "quicklist", per: 1},
	2: {kind: source.Set, encoding: "hashtable", per: 1},
	3: {kind: source.ZSet, encoding: "skiplist", per: 1, score: textScore},
	4: {kind: source.Hash, encoding: "hashtable", per: 2},
	5: {kind: source.ZSet, encoding: "skiplist", per: 1, score: binaryScore, since: 8},
	6: {kind: source.Module, since: 7},
	7: {kind: source.Module, since: 8},

	9:  {kind: source.Hash, encoding: "zipmap", per: 2, since: 2},
	10: {kind: source.List, encoding: "ziplist", per: 1, since: 2},
	11: {kind: source.Set, encoding: "intset", per: 1, since: 2},
	12: {kind: source.ZSet, encoding: "ziplist", per: 2, score: binaryScore, since: 2},
	13: {kind: source.Hash, encoding: "ziplist", per: 2, since: 4},
	14: {kind: source.List, encoding: "quicklist", version: 1, since: 7},
	15: {kind: source.Stream, encoding: "stream", version: 1, since: 9},
	16: {kind: source.Hash, encoding: "listpack", per: 2, since: 10},
	17: {kind: source.ZSet, encoding: "listpack", per: 2, score: binaryScore, since: 10},
	18: {kind: source.List, encoding: "quicklist", version: 2, since: 10},
	19: {kind: source.Stream, encoding: "stream", version: 2, since: 10},
	20: {kind: source.Set, encoding: "listpack", per: 1, since: 11},
	21: {kind: source.Stream, encoding: "stream", version: 3, since: 11},
	22: {kind: source.Hash, encoding: "hashtable", since: 12},
	23: {kind: source.Hash, encoding: "listpackex", per: 3, since: 12},
	24: {kind: source.Hash, encoding: "hashtable", version: 2, since: 12},
	25: {kind: source.Hash, encoding: "listpackex", per: 3, version: 2, since: 12},
	26: {kind: source.Stream, encoding: "stream", version: 4, since: 13},
	27: {kind: source.Stream, encoding: "stream", version: 5, since: 13},
	28: {kind: source.Array, encoding: "sliced-array", since: 13},
	29: {kind: source.Hash, encoding: "template-listpack", since: 13},
	30: {kind: source.Hash, encoding: "template-listpack", version: 2, since: 13},
	31: {kind: source.Hash, encoding: "template-array", since: 13},
	32: {kind: source.Hash, encoding: "template-array", version: 2, since: 13},
}

// valkeyLayouts say what Valkey's own versions mean differently: they share
// numbers up to 21 with Redis, and no more.
var valkeyLayouts = func() [256]layout {
	own := layouts
	clear(own[22:])
	own[22] = layout{kind: source.Hash, encoding: "hashtable", version: 3}
	return own
}()

func layoutsOf(valkey bool) *[256]layout {
	if valkey {
		return &valkeyLayouts
	}
	return &layouts
}

// newest are the last versions of each family this package was made for. A
// higher one is read as far as its types and opcodes are known.
const (
	newestRedis  = 15
	newestValkey = 80
)
