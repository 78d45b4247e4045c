package rdb

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/keywright/keywright/source"
)

// stream gives the entries of a stream, and then what it has beside them.
func (p *parting) stream() {
	for nodes := p.count(); nodes > 0 && p.err == nil; nodes-- {
		t := p.window.text()
		if t.size != 16 || t.encoding != plain {
			p.failf("a stream's node under a name of %d bytes: it should be an id of 16", t.size)
			return
		}
		id := p.rawID()
		if blob := p.blob(p.window.text()); blob != nil && !p.node(id, blob) && p.why == nil {
			p.fail(errPacked)
		}
	}
	p.full = len(p.part) > 0
	state := p.streamState()
	if p.err != nil || p.why != nil {
		return
	}
	text, err := json.Marshal(state)
	if err != nil {
		p.fail(err)
		return
	}
	p.take(text)
	p.endElement()
}

// node gives the entries of a node: a listpack that begins with a master entry, whose
// fields the others may share. See the head of Redis' src/t_stream.c.
func (p *parting) node(master source.StreamID, blob []byte) bool {
	l := newListpack(blob)
	l.number() // entries
	l.number() // deleted
	fields := l.number()
	if l.bad || fields < 0 || fields > maxNamed {
		return false
	}
	names := make([][]byte, 0, min(fields, 64))
	for range fields {
		names = append(names, append([]byte(nil), l.next()...))
	}
	l.number() // end of the master entry
	for !l.bad && !l.ends() && p.why == nil && p.err == nil {
		if !p.entry(l, master, names) {
			return false
		}
	}
	return l.ends()
}

// entry gives an entry, unless it was deleted.
func (p *parting) entry(l *listpack, master source.StreamID, names [][]byte) bool {
	const deletedFlag, sameFlag = 1, 2
	flags := l.number()
	id := source.StreamID{MS: master.MS + uint64(l.number()), Seq: master.Seq + uint64(l.number())}
	same := flags&sameFlag != 0
	n := int64(len(names))
	if !same {
		n = l.number()
	}
	if l.bad || n < 0 || n > int64(len(l.rest)) {
		return false
	}
	deleted := flags&deletedFlag != 0
	if !deleted {
		if p.firstID == (source.StreamID{}) {
			p.firstID = id
		}
		p.take([]byte(id.String()))
		p.take(strconv.AppendInt(nil, 2*n, 10))
	}
	for i := range n {
		var name []byte
		if same {
			name = names[i]
		} else if v := l.next(); !deleted {
			name = append([]byte(nil), v...) // an integer is only there until the next
		}
		value := l.next()
		if l.bad || len(p.bytes) > maxElement+contentBytes {
			break
		}
		if !deleted {
			p.take(name)
			p.take(value)
		}
	}
	l.number() // parts of the entry
	if l.bad && len(p.bytes) <= maxElement+contentBytes {
		return false
	}
	p.endElement()
	return true
}

// pendingEntry represents one that was given to a consumer.
type pendingEntry struct {
	id         source.StreamID
	at         int64
	deliveries uint64
	consumer   int32 // by its place in the group
}

// streamState reads what a stream has after its entries.
func (p *parting) streamState() (s source.StreamState) {
	length := p.count()
	s.LastID = p.countedID().String()
	s.Added = clamp(length)
	if p.layout.version >= 2 {
		p.countedID() // the first
		s.MaxDeleted = p.countedID().String()
		s.Added = clamp(p.count())
	}
	pending := 0
	for groups := p.count(); groups > 0 && p.err == nil; groups-- {
		g := p.group(&pending)
		if p.why == nil && p.err == nil {
			s.Groups = append(s.Groups, g)
		}
	}
	if p.layout.version < 2 && p.err == nil && p.why == nil {
		if err := s.Estimate(p.firstID); err != nil {
			p.fail(err)
		}
	}
	return s
}

// small reads a string that is kept in memory beside others.
func (p *parting) small() []byte {
	t := p.window.text()
	if t.size > source.SampleString {
		p.cannot(fmt.Errorf("a name in it has %d bytes", t.size))
	}
	if p.err != nil || p.why != nil {
		p.skip(t.stored)
		return nil
	}
	out := []byte{}
	p.pieces(t, func(piece []byte) { out = append(out, piece...) })
	return out
}

func (p *parting) group(pending *int) (g source.StreamGroup) {
	g = source.StreamGroup{Name: p.small(), LastID: p.countedID().String(), Read: -1}
	if p.layout.version >= 2 {
		g.Read = int64(p.count())
	}
	var all []pendingEntry
	for n := p.count(); n > 0 && p.err == nil; n-- {
		e := pendingEntry{id: p.rawID(), at: int64(p.uint64()), deliveries: p.count(), consumer: -1}
		if *pending++; *pending > maxPending {
			p.cannot(ErrPending)
		}
		if p.why == nil {
			all = append(all, e)
		}
	}
	for n := p.count(); n > 0 && p.err == nil; n-- {
		name := p.small()
		p.skip(8) // seen
		if p.layout.version >= 3 {
			p.skip(8) // active
		}
		if len(g.Consumers) >= maxNamed {
			p.cannot(fmt.Errorf("a group of it has more than %d consumers", maxNamed))
		}
		if p.why == nil {
			g.Consumers = append(g.Consumers, name)
		}
		for own := p.count(); own > 0 && p.err == nil; own-- {
			if i, ok := search(all, p.rawID()); ok {
				all[i].consumer = int32(len(g.Consumers) - 1)
			}
		}
	}
	for _, e := range all {
		if e.consumer >= 0 && int(e.consumer) < len(g.Consumers) {
			g.Pending = append(g.Pending, source.StreamPending{ID: e.id.String(), Consumer: g.Consumers[e.consumer],
				Idle: max(p.taken-e.at, 0), Deliveries: clamp(e.deliveries)})
		}
	}
	return g
}

// search finds an ID among those that a snapshot has in their order.
func search(all []pendingEntry, id source.StreamID) (int, bool) {
	low, high := 0, len(all)
	for low < high {
		mid := (low + high) / 2
		if all[mid].id.Compare(id) < 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low, low < len(all) && all[low].id == id
}
