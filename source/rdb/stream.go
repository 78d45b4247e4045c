package rdb

import (
	"encoding/binary"
	"math/bits"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb/internal/layout"
	"github.com/keywright/keywright/source/rdb/internal/packed"
	"github.com/keywright/keywright/source/rdb/internal/window"
)

// stream returns a stream: nodes of entries, and groups with what they were given
// and have not acknowledged. Version 2 knows what was deleted, 3 when a
// consumer was active, 4 ids that make adding idempotent, 5 entries that were
// handed back.
func (r *reader) stream(l *layout.Layout, f *source.Facts) int64 {
	nodes := r.Count()
	var tree radix
	bytes := r.model.stream
	for i := uint64(0); i < nodes && r.Err == nil; i++ {
		id := r.streamID()
		tree.add(id)
		t := r.Text()
		if r.Err != nil {
			break
		}
		bytes += class(int64(t.Size))
		if _, ok := r.entries(packed.Packings["listpack"], t); r.Err != nil || !ok && r.want == nil {
			r.Skip(t.Stored)
			continue
		}
		const half = source.SampleEntries / 2 // every node has an entry at least
		if r.want == nil || !r.keeps(r.req.Part != nil || len(r.want.Ends) < half || i+half >= nodes) {
			r.Skip(t.Stored)
			continue
		}
		r.streamEntries(r.values.text(&r.Window, t, packed.MaxWalked))
	}
	r.ends()
	bytes += tree.bytes()
	n := r.Count()
	f.Elements = window.Clamp(n)
	r.counts(2) // last id
	if l.Version >= 2 {
		r.counts(5) // first id, last deleted id, entries ever added
	}
	for groups := r.Count(); groups > 0 && r.Err == nil; groups-- {
		bytes += r.group(l.Version)
	}
	if l.Version >= 4 {
		r.idempotence()
	}
	return bytes
}

// streamID reads the id a node is stored under.
func (r *reader) streamID() [16]byte {
	var id [16]byte
	t := r.Text()
	if t.Size != 16 || t.Encoding != window.Plain {
		r.Failf("a stream's node under a name of %d bytes: it should be an id of 16", t.Size)
		return id
	}
	copy(id[:], r.Take(16))
	return id
}

func (r *reader) counts(n int) {
	for range n {
		r.Count()
	}
}

func (r *reader) group(version int) int64 {
	r.SkipText() // name
	r.counts(2)  // last id
	if version >= 2 {
		r.Count() // entries read
	}
	bytes := r.model.streamGroup
	var pending radix
	for n := r.Count(); n > 0 && r.Err == nil; n-- {
		pending.add(r.rawID())
		r.Skip(8) // delivery time
		r.Count() // deliveries
		bytes += r.model.streamPending
	}
	bytes += pending.bytes()
	for n := r.Count(); n > 0 && r.Err == nil; n-- {
		bytes += r.model.streamConsumer + int64(r.SkipText())
		r.Skip(8) // seen
		if version >= 3 {
			r.Skip(8) // active
		}
		var own radix
		for m := r.Count(); m > 0 && r.Err == nil; m-- {
			own.add(r.rawID())
		}
		bytes += own.bytes()
	}
	if version >= 5 {
		for n := r.Count(); n > 0 && r.Err == nil; n-- {
			r.Skip(16)
		}
	}
	return bytes
}

func (r *reader) rawID() [16]byte {
	var id [16]byte
	copy(id[:], r.Take(16))
	return id
}

// idempotence: how long and how many ids are kept, and those of each producer.
func (r *reader) idempotence() {
	r.counts(2)
	for producers := r.Count(); producers > 0 && r.Err == nil; producers-- {
		r.SkipText()
		for n := r.Count(); n > 0 && r.Err == nil; n-- {
			r.SkipText()
			r.counts(2)
		}
	}
	r.counts(2)
}

// radix counts the nodes of the server's radix tree over ids of 16 bytes that
// come in order. The tree has a node per branching, per run of bytes that does
// not branch, and per end. Keys in order need only the depths at which the last
// one branched off.
type radix struct {
	keys  int64
	nodes int64
	last  [16]byte
	lcp   int   // of the last key with the one before; -1 for the first
	open  []int // depths of the branchings above the last key
}

func (t *radix) add(id [16]byte) {
	if t.keys++; t.keys == 1 {
		t.last, t.lcp = id, -1
		return
	}
	l := commonPrefix(&t.last, &id)
	if l == len(id) { // not a set: a damaged file
		return
	}
	t.leaf(max(t.lcp, l))
	t.close(l)
	if len(t.open) == 0 || t.open[len(t.open)-1] < l {
		t.open = append(t.open, l)
	}
	t.last, t.lcp = id, l
}

// leaf counts the end of a key below a branching at the depth.
func (t *radix) leaf(depth int) {
	t.nodes++
	if depth < 15 {
		t.nodes++ // the bytes between
	}
}

// close counts the branchings deeper than l: no key will join them.
func (t *radix) close(l int) {
	for len(t.open) > 0 && t.open[len(t.open)-1] > l {
		depth := t.open[len(t.open)-1]
		t.open = t.open[:len(t.open)-1]
		above := l
		if len(t.open) > 0 {
			above = max(l, t.open[len(t.open)-1])
		}
		t.nodes++
		if depth-above > 1 {
			t.nodes++
		}
	}
}

// bytes returns what the server takes the tree to cost (streamRadixTreeMemoryUsage).
func (t *radix) bytes() int64 {
	nodes := int64(1)
	if t.keys > 0 {
		t.leaf(t.lcp)
		t.close(-1)
		nodes = t.nodes
	}
	return t.keys*16 + nodes*(4+30*8)
}

func commonPrefix(a, b *[16]byte) int {
	for i := 0; i < 16; i += 8 {
		x := binary.BigEndian.Uint64(a[i:]) ^ binary.BigEndian.Uint64(b[i:])
		if x != 0 {
			return i + bits.LeadingZeros64(x)/8
		}
	}
	return 16
}
