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
	maxString   = 1 << 20 // bytes of a string
	maxElement  = 1 << 20 // bytes of one element
	maxElements = 100     // of a table or a list
	maxPacked   = 1024    // of a packed value, which a server returns whole
	maxWalked   = 8 << 20 // bytes of a packed value that is looked into
	maxEntries  = 20      // of a stream
	maxArena    = 8 << 20 // bytes of all values of a batch, after which it is handed over
)

// sink holds the values of one batch, and their bytes.
type sink struct {
	list  []*source.Value
	used  int
	arena []byte
}

// next is an empty value.
func (s *sink) next() *source.Value {
	if s.used == len(s.list) {
		s.list = append(s.list, &source.Value{})
	}
	v := s.list[s.used]
	s.used++
	*v = source.Value{Elements: v.Elements[:0], Scores: v.Scores[:0]}
	return v
}

// reset forgets everything, the batch is over, but for the value that is being
// read.
func (s *sink) reset(reading *source.Value) {
	if s.used = 0; reading == nil {
		s.arena = s.arena[:0]
		return
	}
	i := slices.Index(s.list, reading)
	s.list[0], s.list[i] = s.list[i], s.list[0]
	s.used = 1
}

// text reads the body of a string, up to limit bytes of it, and passes it.
func (s *sink) text(w *window, t text, limit int) []byte {
	from := len(s.arena)
	s.arena = w.body(t, s.arena, limit)
	return s.since(from)
}

func (s *sink) copy(p []byte) []byte {
	from := len(s.arena)
	s.arena = append(grow(s.arena, len(p))[:from], p...)
	return s.since(from)
}

func (s *sink) since(from int) []byte {
	from = min(from, len(s.arena))
	return s.arena[from:len(s.arena):len(s.arena)]
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
