// Package layout says what the type bytes of a snapshot mean: which kind of value it is, and how it is stored. The two
// families differ. It reads nothing.
package layout

import "github.com/keywright/keywright/source"

// Layout describes how values of one type byte are stored. Its kind is Unknown if no value has the type.
type Layout struct {
	Kind     source.Kind
	Encoding string
	Per      uint64 // strings per element of a table, entries per element of a packed value
	Score    ScoreForm
	Version  int // of streams, of packed hashes with TTLs
	Since    int // the first version of RDB that has it
}

// ScoreForm describes how the score of a sorted set's member is written.
type ScoreForm int

const (
	NoScore ScoreForm = iota
	TextScore
	BinaryScore
)

// layouts lists the types of Redis. A type is read in the versions of RDB that have it, and in no other: programs that
// write an older version have types of their own under the same numbers.
var layouts = [256]Layout{
	0: {Kind: source.String},
	1: {Kind: source.List, Encoding: "quicklist", Per: 1},
	2: {Kind: source.Set, Encoding: "hashtable", Per: 1},
	3: {Kind: source.ZSet, Encoding: "skiplist", Per: 1, Score: TextScore},
	4: {Kind: source.Hash, Encoding: "hashtable", Per: 2},
	5: {Kind: source.ZSet, Encoding: "skiplist", Per: 1, Score: BinaryScore, Since: 8},
	6: {Kind: source.Module, Since: 7},
	7: {Kind: source.Module, Since: 8},

	9:  {Kind: source.Hash, Encoding: "zipmap", Per: 2, Since: 2},
	10: {Kind: source.List, Encoding: "ziplist", Per: 1, Since: 2},
	11: {Kind: source.Set, Encoding: "intset", Per: 1, Since: 2},
	12: {Kind: source.ZSet, Encoding: "ziplist", Per: 2, Score: BinaryScore, Since: 2},
	13: {Kind: source.Hash, Encoding: "ziplist", Per: 2, Since: 4},
	14: {Kind: source.List, Encoding: "quicklist", Version: 1, Since: 7},
	15: {Kind: source.Stream, Encoding: "stream", Version: 1, Since: 9},
	16: {Kind: source.Hash, Encoding: "listpack", Per: 2, Since: 10},
	17: {Kind: source.ZSet, Encoding: "listpack", Per: 2, Score: BinaryScore, Since: 10},
	18: {Kind: source.List, Encoding: "quicklist", Version: 2, Since: 10},
	19: {Kind: source.Stream, Encoding: "stream", Version: 2, Since: 10},
	20: {Kind: source.Set, Encoding: "listpack", Per: 1, Since: 11},
	21: {Kind: source.Stream, Encoding: "stream", Version: 3, Since: 11},
	22: {Kind: source.Hash, Encoding: "hashtable", Since: 12},
	23: {Kind: source.Hash, Encoding: "listpackex", Per: 3, Since: 12},
	24: {Kind: source.Hash, Encoding: "hashtable", Version: 2, Since: 12},
	25: {Kind: source.Hash, Encoding: "listpackex", Per: 3, Version: 2, Since: 12},
	26: {Kind: source.Stream, Encoding: "stream", Version: 4, Since: 13},
	27: {Kind: source.Stream, Encoding: "stream", Version: 5, Since: 13},
	28: {Kind: source.Array, Encoding: "sliced-array", Since: 13},
	29: {Kind: source.Hash, Encoding: "template-listpack", Since: 13},
	30: {Kind: source.Hash, Encoding: "template-listpack", Version: 2, Since: 13},
	31: {Kind: source.Hash, Encoding: "template-array", Since: 13},
	32: {Kind: source.Hash, Encoding: "template-array", Version: 2, Since: 13},
}

// valkeyLayouts say what Valkey's own versions mean differently: they share
// numbers up to 21 with Redis, and no more.
var valkeyLayouts = func() [256]Layout {
	own := layouts
	clear(own[22:])
	own[22] = Layout{Kind: source.Hash, Encoding: "hashtable", Version: 3}
	return own
}()

// Of returns the layouts of a family by their type bytes.
func Of(valkey bool) *[256]Layout {
	if valkey {
		return &valkeyLayouts
	}
	return &layouts
}

// newest are the last versions of each family this package was made for. A
// higher one is read as far as its types and opcodes are known.
const (
	NewestRedis  = 15
	NewestValkey = 80
)
