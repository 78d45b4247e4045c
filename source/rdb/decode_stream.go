package rdb

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"github.com/keywright/keywright/source"
)

// streamVersions are the types of streams that DecodeStream reads.
var streamVersions = map[byte]int{15: 1, 19: 2, 21: 3}

// DecodeStream reads a stream as DUMP returned it without its last ten bytes. It calls
// entry with the ID, the fields and the values of each entry, and returns what a stream
// has beside them; the idle times of pending entries are 0. Other values are an error
// that wraps ErrUnknown. What entry gets is valid until it returns.
func DecodeStream(value []byte, entry func(id string, fields [][]byte)) (source.StreamState, error) {
	if len(value) == 0 {
		return source.StreamState{}, &Error{Err: ErrTruncated}
	}
	version := streamVersions[value[0]]
	if version == 0 {
		return source.StreamState{}, &Error{Err: fmt.Errorf("type %d is %w", value[0], ErrUnknown)}
	}
	d := streamDecoder{decoder: decoder{window: newWindow(value)}, version: version, each: entry}
	d.skip(1)
	d.stream()
	if d.err == nil && d.pos != d.end {
		d.failf("%d bytes after a stream", d.end-d.pos)
	}
	return d.state, d.err
}

// streamDecoder reads one stream.
type streamDecoder struct {
	decoder
	version int
	each    func(id string, fields [][]byte)
	state   source.StreamState
	items   [][]byte // of the node that is read
	fields  [][]byte // of the entry that is read
}

func (d *streamDecoder) stream() {
	for nodes := d.count(); nodes > 0 && d.err == nil; nodes-- {
		id := d.string()
		blob := d.string()
		if d.err == nil && len(id) != 16 {
			d.failf("a stream's node under a name of %d bytes: it should be an id of 16", len(id))
		}
		if d.err == nil && !d.node(binary.BigEndian.Uint64(id), binary.BigEndian.Uint64(id[8:]), blob) {
			d.fail(errPacked)
		}
	}
	length := d.count()
	d.state.LastID = d.id()
	d.state.Added, d.state.MaxDeleted = int64(length), "0-0"
	if d.version >= 2 {
		d.id() // the first entry's
		d.state.MaxDeleted = d.id()
		d.state.Added = int64(d.count())
	}
	for groups := d.count(); groups > 0 && d.err == nil; groups-- {
		d.state.Groups = append(d.state.Groups, d.group())
	}
}

// id reads an ID as two numbers.
func (d *streamDecoder) id() string { return idText(d.count(), d.count()) }

func idText(ms, seq uint64) string {
	return string(strconv.AppendUint(append(strconv.AppendUint(nil, ms, 10), '-'), seq, 10))
}

// node reads the entries of one node; false: they make no sense.
func (d *streamDecoder) node(ms, seq uint64, blob []byte) bool {
	d.items = d.items[:0]
	if !walkListpack(blob, func(e []byte) bool { d.items = append(d.items, slices.Clone(e)); return true }) {
		return false
	}
	n := nodeItems{items: d.items, ok: true}
	n.number() // entries
	n.number() // deleted entries
	master := n.next(n.number())
	n.number() // the end of the master entry
	for n.ok && len(n.items) > 0 {
		flags := n.number()
		id := idText(ms+uint64(n.number()), seq+uint64(n.number()))
		d.fields = d.fields[:0]
		if flags&2 != 0 { // the fields are those of the master entry
			for i, value := range n.next(int64(len(master))) {
				d.fields = append(d.fields, master[i], value)
			}
		} else {
			d.fields = append(d.fields, n.next(2*n.number())...)
		}
		n.number() // parts of the entry
		if n.ok && flags&1 == 0 {
			d.each(id, d.fields)
		}
	}
	return n.ok
}

// nodeItems are the items of a node that are left.
type nodeItems struct {
	items [][]byte
	ok    bool
}

// next takes n items.
func (n *nodeItems) next(count int64) [][]byte {
	if count < 0 || count > int64(len(n.items)) {
		n.ok = false
		return nil
	}
	out := n.items[:count]
	n.items = n.items[count:]
	return out
}

func (n *nodeItems) number() int64 {
	item := n.next(1)
	if !n.ok {
		return 0
	}
	v, err := strconv.ParseInt(string(item[0]), 10, 64)
	n.ok = err == nil
	return v
}

func (d *streamDecoder) group() source.StreamGroup {
	g := source.StreamGroup{Name: d.string(), LastID: d.id(), Read: -1}
	if d.version >= 2 {
		g.Read = int64(d.count())
	}
	at := map[string]int{} // of pending entries, by ID
	for n := d.count(); n > 0 && d.err == nil; n-- {
		id := d.pendingID()
		d.skip(8) // when it was delivered
		at[id] = len(g.Pending)
		g.Pending = append(g.Pending, source.StreamPending{ID: id, Deliveries: int64(d.count())})
	}
	for n := d.count(); n > 0 && d.err == nil; n-- {
		name := d.string()
		g.Consumers = append(g.Consumers, name)
		d.skip(8) // when it was seen
		if d.version >= 3 {
			d.skip(8) // when it was active
		}
		for own := d.count(); own > 0 && d.err == nil; own-- {
			if i, ok := at[d.pendingID()]; ok {
				g.Pending[i].Consumer = name
			}
		}
	}
	return g
}

func (d *streamDecoder) pendingID() string {
	raw := d.take(16)
	if len(raw) < 16 {
		return ""
	}
	return idText(binary.BigEndian.Uint64(raw), binary.BigEndian.Uint64(raw[8:]))
}
