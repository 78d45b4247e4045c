package pattern

import "sync"

// scratch represents the working memory of one Split; it is reused, so that splitting
// allocates nothing in the long run.
type scratch struct {
	live, next     []int32  // states
	liveAt, nextAt []uint32 // where each element began, per live state
	mark           []uint32 // the step in which a state was last entered
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// Split finds where each placeholder is in key: starts[i] to ends[i]. It
// reports false if the key does not match. It simulates the position automaton
// with a start offset per element: linear in the length of the key. Two runs
// that meet in one state cannot both end well, since a pattern is read in one
// way only; the first is kept.
func (p *Pattern) Split(key []byte, starts, ends []uint32) bool {
	n, width := p.NFA(), len(p.elems)
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.reset(len(n.Sets), width)
	for i, b := range key {
		s.next, s.nextAt = s.next[:0], s.nextAt[:0]
		for t, from := range s.live {
			for _, to := range n.Follow[from] {
				if !n.Sets[to].Has(b) || s.mark[to] == uint32(i)+1 {
					continue
				}
				s.mark[to] = uint32(i) + 1
				s.next = append(s.next, to)
				s.nextAt = append(s.nextAt, s.liveAt[t*width:(t+1)*width]...)
				if tag := n.Tags[to]; tag != n.Tags[from] {
					s.nextAt[len(s.nextAt)-width+int(tag)] = uint32(i)
				}
			}
		}
		s.live, s.next = s.next, s.live
		s.liveAt, s.nextAt = s.nextAt, s.liveAt
	}
	for t, state := range s.live {
		if n.Final[state] {
			p.bounds(s.liveAt[t*width:(t+1)*width], uint32(len(key)), starts, ends)
			return true
		}
	}
	return false
}

func (s *scratch) reset(states, width int) {
	s.live = append(s.live[:0], 0)
	s.liveAt = s.liveAt[:0]
	for range width {
		s.liveAt = append(s.liveAt, 0)
	}
	s.mark = s.mark[:0]
	for range states {
		s.mark = append(s.mark, 0)
	}
}

// bounds turns the starts of all elements into the bounds of the placeholders.
func (p *Pattern) bounds(at []uint32, end uint32, starts, ends []uint32) {
	for i, e := range p.elems {
		if e.Placeholder < 0 {
			continue
		}
		starts[e.Placeholder], ends[e.Placeholder] = at[i], end
		if i+1 < len(at) {
			ends[e.Placeholder] = at[i+1]
		}
	}
}
