package element

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb/internal/packed"
	"github.com/keywright/keywright/source/rdb/internal/window"
)

// stream gives the entries of a stream, and then what it has beside them.
func (p *Parting) stream() {
	for nodes := p.Count(); nodes > 0 && p.Err == nil; nodes-- {
		t := p.Window.Text()
		if t.Size != 16 || t.Encoding != window.Plain {
			p.Failf("a stream's node under a name of %d bytes: it should be an id of 16", t.Size)
			return
		}
		id := p.RawID()
		if blob := p.Blob(p.Window.Text()); blob != nil && !p.node(id, blob) && p.Why == nil {
			p.Fail(packed.ErrPacked)
		}
	}
	p.full = len(p.part) > 0
	state := p.streamState()
	if p.Err != nil || p.Why != nil {
		return
	}
	text, err := json.Marshal(state)
	if err != nil {
		p.Fail(err)
		return
	}
	p.take(text)
	p.endElement()
}

// node gives the entries of a node: a listpack that begins with a master entry, whose
// fields the others may share. See the head of Redis' src/t_stream.c.
func (p *Parting) node(master source.StreamID, blob []byte) bool {
	l := packed.NewListpack(blob)
	l.Number() // entries
	l.Number() // deleted
	fields := l.Number()
	if l.Bad || fields < 0 || fields > maxNamed {
		return false
	}
	names := make([][]byte, 0, min(fields, 64))
	for range fields {
		names = append(names, append([]byte(nil), l.Next()...))
	}
	l.Number() // end of the master entry
	for !l.Bad && !l.Ends() && p.Why == nil && p.Err == nil {
		if !p.entry(l, master, names) {
			return false
		}
	}
	return l.Ends()
}

// entry gives an entry, unless it was deleted.
func (p *Parting) entry(l *packed.Listpack, master source.StreamID, names [][]byte) bool {
	const deletedFlag, sameFlag = 1, 2
	flags := l.Number()
	id := source.StreamID{MS: master.MS + uint64(l.Number()), Seq: master.Seq + uint64(l.Number())}
	same := flags&sameFlag != 0
	n := int64(len(names))
	if !same {
		n = l.Number()
	}
	if l.Bad || n < 0 || n > int64(len(l.Rest)) {
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
		} else if v := l.Next(); !deleted {
			name = append([]byte(nil), v...) // an integer is only there until the next
		}
		value := l.Next()
		if l.Bad || len(p.bytes) > MaxElement+contentBytes {
			break
		}
		if !deleted {
			p.take(name)
			p.take(value)
		}
	}
	l.Number() // parts of the entry
	if l.Bad && len(p.bytes) <= MaxElement+contentBytes {
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
func (p *Parting) streamState() (s source.StreamState) {
	length := p.Count()
	s.LastID = p.CountedID().String()
	s.Added = window.Clamp(length)
	if p.Layout.Version >= 2 {
		p.CountedID() // the first
		s.MaxDeleted = p.CountedID().String()
		s.Added = window.Clamp(p.Count())
	}
	pending := 0
	for groups := p.Count(); groups > 0 && p.Err == nil; groups-- {
		g := p.group(&pending)
		if p.Why == nil && p.Err == nil {
			s.Groups = append(s.Groups, g)
		}
	}
	if p.Layout.Version < 2 && p.Err == nil && p.Why == nil {
		if err := s.Estimate(p.firstID); err != nil {
			p.Fail(err)
		}
	}
	return s
}

// small reads a string that is kept in memory beside others.
func (p *Parting) small() []byte {
	t := p.Window.Text()
	if t.Size > source.SampleString {
		p.cannot(fmt.Errorf("a name in it has %d bytes", t.Size))
	}
	if p.Err != nil || p.Why != nil {
		p.Skip(t.Stored)
		return nil
	}
	out := []byte{}
	p.Pieces(t, func(piece []byte) { out = append(out, piece...) })
	return out
}

func (p *Parting) group(pending *int) (g source.StreamGroup) {
	g = source.StreamGroup{Name: p.small(), LastID: p.CountedID().String(), Read: -1}
	if p.Layout.Version >= 2 {
		g.Read = int64(p.Count())
	}
	var all []pendingEntry
	for n := p.Count(); n > 0 && p.Err == nil; n-- {
		e := pendingEntry{id: p.RawID(), at: int64(p.Uint64()), deliveries: p.Count(), consumer: -1}
		if *pending++; *pending > maxPending {
			p.cannot(ErrPending)
		}
		if p.Why == nil {
			all = append(all, e)
		}
	}
	for n := p.Count(); n > 0 && p.Err == nil; n-- {
		name := p.small()
		p.Skip(8) // seen
		if p.Layout.Version >= 3 {
			p.Skip(8) // active
		}
		if len(g.Consumers) >= maxNamed {
			p.cannot(fmt.Errorf("a group of it has more than %d consumers", maxNamed))
		}
		if p.Why == nil {
			g.Consumers = append(g.Consumers, name)
		}
		for own := p.Count(); own > 0 && p.Err == nil; own-- {
			if i, ok := search(all, p.RawID()); ok {
				all[i].consumer = int32(len(g.Consumers) - 1)
			}
		}
	}
	for _, e := range all {
		if e.consumer >= 0 && int(e.consumer) < len(g.Consumers) {
			g.Pending = append(g.Pending, source.StreamPending{ID: e.id.String(), Consumer: g.Consumers[e.consumer],
				Idle: max(p.Taken-e.at, 0), Deliveries: window.Clamp(e.deliveries)})
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
