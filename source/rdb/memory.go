package rdb

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/keywright/keywright/source"
)

// model describes what one generation of servers spends on values, so that MEMORY
// USAGE can be estimated from a snapshot. Sizes are bytes. They were found by
// holding the estimates against MEMORY USAGE … SAMPLES 0 of real servers that
// had loaded the snapshot (TestMemory), on 64 bits with jemalloc's usual
// classes; a server that was built with finer ones needs a few percent less.
type model struct {
	robj           int64
	keyEntry       int64 // of the main table, beside the name
	embedsKeys     bool  // the name lies in the entry
	dict           int64 // head of a table
	entry          int64 // of a table
	bareSets       bool  // a set's element needs an entry only where it collides
	zset           int64 // heads of a sorted set's skiplist
	listHead       int64
	listNode       int64
	smallLists     bool // a short list is one listpack
	stream         int64
	streamGroup    int64
	streamPending  int64
	streamConsumer int64
}

// models lists the generations: Redis to 7.0, and what came from 7.2 on.
var models = []model{
	{robj: 16, keyEntry: 24, dict: 56, entry: 24, zset: 16 + 32 + 640, listHead: 16 + 48, listNode: 32, stream: 16 + 80,
		streamGroup: 40, streamPending: 24, streamConsumer: 24},
	{robj: 16, keyEntry: 24, dict: 56, entry: 24, bareSets: true, zset: 16 + 32 + 640, listHead: 16 + 48, listNode: 32,
		smallLists: true, stream: 16 + 80, streamGroup: 40, streamPending: 24, streamConsumer: 32},
	{robj: 16, keyEntry: 17, embedsKeys: true, dict: 56, entry: 24, bareSets: true, zset: 16 + 32 + 640, listHead: 16 + 48,
		listNode: 32, smallLists: true, stream: 16 + 80, streamGroup: 40, streamPending: 24, streamConsumer: 32},
}

// modelOf picks the generation by the version the snapshot says it is from.
func modelOf(brand, version string) *model {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, _ := strconv.Atoi(major)
	b, _ := strconv.Atoi(minor)
	switch {
	case brand == "valkey-ver" && a >= 8:
		return &models[2]
	case a > 7 || a == 7 && b >= 2:
		return &models[1]
	}
	return &models[0]
}

// key returns what a name of n bytes costs in the main table.
func (m *model) key(n int) int64 {
	if m.embedsKeys {
		return class(m.keyEntry + sdsHead(uint64(n)) + int64(n) + 1)
	}
	return m.keyEntry + sds(uint64(n))
}

// skiplistNode is the mean of a skiplist's node: 24 bytes and 16 per level,
// where one in four has another level.
const skiplistNode = 48 + 16.0/3

// table returns what a table of n elements costs without their strings.
func (m *model) table(kind source.Kind, n uint64) int64 {
	n = min(n, 1<<48) // a count that lies is found out by the strings that do not come
	slots := uint64(4)
	if n > slots {
		slots = 1 << bits.Len64(n-1)
	}
	bytes := m.robj + m.dict + 8*int64(slots)
	switch {
	case kind == source.ZSet:
		return bytes + m.zset + int64(n)*m.entry + int64(float64(n)*skiplistNode)
	case kind == source.Set && m.bareSets:
		empty := float64(slots) * math.Exp(-float64(n)/float64(slots))
		return bytes + 16*int64(float64(n)-float64(slots)+empty)
	}
	return bytes + int64(n)*m.entry
}

// list returns what a list of these nodes costs.
func (m *model) list(nodes []uint64) int64 {
	bytes := m.listHead
	for _, n := range nodes {
		bytes += m.listNode + class(int64(n))
	}
	return bytes
}

// sdsHead returns the head of a string of n bytes.
func sdsHead(n uint64) int64 {
	switch {
	case n < 1<<5:
		return 1
	case n < 1<<8:
		return 3
	case n < 1<<16:
		return 5
	case n < 1<<32:
		return 9
	}
	return 17
}

// sds returns what a string of n bytes costs.
func sds(n uint64) int64 { return class(sdsHead(n) + int64(min(n, 1<<48)) + 1) }

// class returns jemalloc's size class for n bytes: 8, then steps of 16 to 128, then
// four per doubling. See https://jemalloc.net/jemalloc.3.html#size_classes.
func class(n int64) int64 {
	if n <= 8 {
		return 8
	}
	if n <= 128 {
		return (n + 15) &^ 15
	}
	step := int64(1) << (bits.Len64(uint64(n-1)) - 3)
	return (n + step - 1) &^ (step - 1)
}
