package rdb

import (
	"math"
	"slices"
	"strconv"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb/internal/layout"
	"github.com/keywright/keywright/source/rdb/internal/packed"
	"github.com/keywright/keywright/source/rdb/internal/window"
)

// Bounds of what is read of one value. What a sample has is for package source to
// say: the reports of a server and of its snapshot agree.
const (
	maxValue  = 16 << 20 // bytes of one value, after which no more of it is taken
	maxArena  = 8 << 20  // bytes of all values of a batch, after which it is handed over
	maxFields = 1024     // names of a hash template that are kept for its values
)

// Bounds of one part of a value that is read whole.
const (
	partElements = 2000
	partBytes    = 1 << 20
)

// sink holds the values of one batch, and their bytes.
type sink struct {
	list  []*source.Value
	used  int
	chunk []byte // the newest piece of memory for bytes, of length 0
	free  []byte // the rest of chunk that nothing is in, of length 0
	bytes int    // of all values
	began int    // bytes when the value that is being read began
	start []byte // free, then
	space int    // capacity of chunk, then
}

// next returns an empty value.
func (s *sink) next() *source.Value {
	if s.used == len(s.list) {
		s.list = append(s.list, &source.Value{})
	}
	v := s.list[s.used]
	s.used++
	s.begin()
	*v = source.Value{Elements: v.Elements[:0], Scores: v.Scores[:0], Ends: v.Ends[:0]}
	return v
}

func (s *sink) begin() { s.began, s.start, s.space = s.bytes, s.free, cap(s.chunk) }

// rewind forgets the bytes of the value that is being read: a part was handed over.
func (s *sink) rewind() {
	if s.bytes, s.free = s.began, s.start; cap(s.chunk) != s.space {
		s.free = s.chunk
	}
	s.begin()
}

// reset forgets everything, the batch is over, but for the value that is being
// read.
func (s *sink) reset(reading *source.Value) {
	if s.used = 0; reading == nil {
		if cap(s.chunk) > maxArena {
			s.chunk = nil
		}
		s.free, s.bytes = s.chunk, 0
		return
	}
	i := slices.Index(s.list, reading)
	s.list[0], s.list[i] = s.list[i], s.list[0]
	s.used = 1
}

// full reports whether the value that is being read has taken all it may.
func (s *sink) full() bool { return s.bytes-s.began >= maxValue }

// text reads the body of a string, up to limit bytes of it, and passes it.
func (s *sink) text(w *window.Window, t window.Text, limit int) []byte {
	return s.keep(w.Body(t, s.free, limit))
}

func (s *sink) copy(p []byte) []byte { return s.keep(append(window.Grow(s.free, len(p))[:0], p...)) }

// keep takes bytes that were put into free, or into more memory where that was
// too small.
func (s *sink) keep(p []byte) []byte {
	if cap(p) != cap(s.free) {
		s.chunk = p[:0]
	}
	s.free = p[len(p):]
	s.bytes += len(p)
	return p[:len(p):len(p)]
}

// glimpse reads the body of a string as text does, lets use look at it, and keeps
// none of it.
func (s *sink) glimpse(w *window.Window, t window.Text, limit int, use func([]byte)) {
	bytes, free, chunk := s.bytes, s.free, cap(s.chunk)
	use(s.text(w, t, limit))
	if s.bytes = bytes; cap(s.chunk) == chunk {
		s.free = free
	} else {
		s.free = s.chunk
	}
}

// score reads the score of a member.
func (r *reader) score(form layout.ScoreForm) float64 {
	if form == layout.BinaryScore {
		return math.Float64frombits(r.Uint64())
	}
	return r.TextScore()
}

// limit returns how many bytes of a string or of an element are read.
func (r *reader) limit() uint64 {
	if r.req.Part != nil {
		return source.WholeString
	}
	return source.SampleString
}

// spread says whether element i of n is in a sample of members: they come in the
// order of a hash, or of scores, so that evenly spaced ones are from everywhere.
func (r *reader) spread(i, n uint64) bool {
	return r.req.Part != nil || n <= source.SampleMembers || (i+1)*source.SampleMembers/n != i*source.SampleMembers/n
}

// atEnds says the same of a list, whose ends are looked at.
func (r *reader) atEnds(i, n uint64) bool {
	const half = source.SampleMembers / 2
	return r.req.Part != nil || i < half || i+half >= n
}

// keeps says whether an element that was picked goes into the value.
func (r *reader) keeps(picked bool) bool { return r.want != nil && picked && !r.values.full() }

// endElement ends an element: one with a string that was too long is dropped again, so
// that no field comes without its value. A full part is handed over.
func (r *reader) endElement(elements, scores int) {
	if r.want == nil {
		return
	}
	if r.long {
		r.long, r.cut = false, true
		r.want.Elements, r.want.Scores = r.want.Elements[:elements], r.want.Scores[:scores]
	}
	r.part()
}

// held returns how much the value has: what settle goes back to.
func (r *reader) held() (elements, scores int) {
	if r.want == nil {
		return 0, 0
	}
	return len(r.want.Elements), len(r.want.Scores)
}

// part hands over what has come of a value that is read whole, when it is enough.
func (r *reader) part() {
	v := r.want
	if r.req.Part == nil || len(v.Elements) < partElements && r.values.bytes-r.values.began < partBytes {
		return
	}
	r.req.Part(&source.Key{Name: r.key, DB: r.db, Kind: r.kind, TTL: source.NoTTL, Bytes: -1, Value: v})
	*v = source.Value{From: v.From + v.Looked(r.kind), Elements: v.Elements[:0], Scores: v.Scores[:0], Ends: v.Ends[:0]}
	r.values.rewind()
}

// ends leaves of a list, or a stream, what a sample has: the elements at both ends.
func (r *reader) ends() {
	v := r.want
	if v == nil || r.req.Part != nil {
		return
	}
	if half := source.SampleMembers / 2; r.kind == source.List && len(v.Elements) > 2*half {
		v.Elements = append(v.Elements[:half], v.Elements[len(v.Elements)-half:]...)
	}
	half, n := source.SampleEntries/2, len(v.Ends)
	if n <= 2*half {
		return
	}
	from, to := v.Ends[half-1], v.Ends[n-half-1]
	v.Elements = append(v.Elements[:from], v.Elements[to:]...)
	for i := range half {
		v.Ends[half+i] = v.Ends[n-half+i] - (to - from)
	}
	v.Ends = v.Ends[:2*half]
}

// streamEntries puts the entries of one node of a stream into the value: a
// listpack that begins with a master entry, whose fields the others may share.
// See the head of Redis' src/t_stream.c.
func (r *reader) streamEntries(blob []byte) {
	var all [][]byte
	whole := packed.WalkListpack(blob, func(v []byte) bool {
		all = append(all, r.values.copy(v))
		return len(all) < maxStreamParts
	})
	r.cut = r.cut || len(all) == maxStreamParts
	at := 0
	next := func() int64 {
		if at >= len(all) {
			whole = false
			return 0
		}
		n, _ := strconv.ParseInt(string(all[at]), 10, 64)
		at++
		return n
	}
	next() // entries
	next() // deleted
	fields := int(next())
	if fields < 0 || fields > len(all)-at {
		return
	}
	master := all[at : at+fields]
	at += fields
	next() // end of the master entry
	for whole && at < len(all) {
		flags := next()
		next() // milliseconds and sequence, relative to the node's
		next()
		deleted, same := flags&1 != 0, flags&2 != 0
		n := fields
		if !same {
			n = int(next())
		}
		began := len(r.want.Elements)
		for i := 0; i < n && whole && at < len(all); i++ {
			var name []byte
			if same {
				name = master[i]
			} else {
				name = all[at]
				at++
			}
			if at < len(all) && !deleted {
				r.want.Elements = append(r.want.Elements, name, all[at])
			}
			at++
		}
		if at >= len(all) { // it was cut
			r.want.Elements = r.want.Elements[:began]
			break
		}
		next() // parts of the entry
		if !deleted {
			r.want.Ends = append(r.want.Ends, len(r.want.Elements))
		}
	}
	r.part()
}

// maxStreamParts bounds the parts of one node that are looked at.
const maxStreamParts = 1 << 16
