package rdb

import (
	"math"
	"slices"
	"strconv"

	"github.com/keywright/keywright/source"
)

// Bounds of what is read of one value, as those of the scan of a live server:
// the reports of both agree.
const (
	maxString   = 1 << 20  // bytes of a string
	maxElement  = 1 << 20  // bytes of one element
	maxElements = 100      // of a table or a list
	maxPacked   = 1024     // of a packed value, which a server returns whole
	maxWalked   = 8 << 20  // bytes of a packed value that is looked into
	maxEntries  = 20       // of a stream
	maxValue    = 16 << 20 // bytes of one value, after which no more of it is taken
	maxArena    = 8 << 20  // bytes of all values of a batch, after which it is handed over
)

// sink holds the values of one batch, and their bytes.
type sink struct {
	list  []*source.Value
	used  int
	chunk []byte // the newest piece of memory for bytes, of length 0
	free  []byte // the rest of chunk that nothing is in, of length 0
	bytes int    // of all values
	began int    // bytes when the value that is being read began
}

// next is an empty value.
func (s *sink) next() *source.Value {
	if s.used == len(s.list) {
		s.list = append(s.list, &source.Value{})
	}
	v := s.list[s.used]
	s.used++
	s.began = s.bytes
	*v = source.Value{Elements: v.Elements[:0], Scores: v.Scores[:0]}
	return v
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
func (s *sink) text(w *window, t text, limit int) []byte { return s.keep(w.body(t, s.free, limit)) }

func (s *sink) copy(p []byte) []byte { return s.keep(append(grow(s.free, len(p))[:0], p...)) }

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
func (s *sink) glimpse(w *window, t text, limit int, use func([]byte)) {
	bytes, free, chunk := s.bytes, s.free, cap(s.chunk)
	use(s.text(w, t, limit))
	if s.bytes = bytes; cap(s.chunk) == chunk {
		s.free = free
	} else {
		s.free = s.chunk
	}
}

// Lengths that stand for scores that are no decimal text.
const (
	scoreNaN      = 253
	scoreInfinity = 254
	scoreNegative = 255
)

// score reads the score of a member.
func (r *reader) score(form scoreForm) float64 {
	if form == binaryScore {
		return math.Float64frombits(r.uint64())
	}
	switch n := r.byte(); n {
	case scoreNaN:
		return math.NaN()
	case scoreInfinity:
		return math.Inf(1)
	case scoreNegative:
		return math.Inf(-1)
	default:
		v, err := strconv.ParseFloat(string(r.take(int(n))), 64)
		if err != nil && r.err == nil {
			r.failf("a score that is no number")
		}
		return v
	}
}

func parseUint(p []byte) (uint64, error) { return strconv.ParseUint(string(p), 10, 64) }

// streamEntries puts the entries of one node of a stream into the value: a
// listpack that begins with a master entry, whose fields the others may share.
// See the head of Redis' src/t_stream.c.
func (r *reader) streamEntries(blob []byte, taken int) int {
	var all [][]byte
	whole := walkListpack(blob, func(v []byte) bool {
		all = append(all, r.values.copy(v))
		return len(all) < maxStreamParts
	})
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
		return taken
	}
	master := all[at : at+fields]
	at += fields
	next() // end of the master entry
	for taken < maxEntries && at < len(all) {
		flags := next()
		next() // milliseconds and sequence, relative to the node's
		next()
		deleted, same := flags&1 != 0, flags&2 != 0
		n := fields
		if !same {
			n = int(next())
		}
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
		next() // parts of the entry
		if !deleted {
			taken++
		}
	}
	return taken
}

// maxStreamParts bounds the parts of one node that are looked at.
const maxStreamParts = 4096
