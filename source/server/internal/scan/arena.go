package scan

import (
	"slices"
	"strconv"

	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server/internal/link"
)

// arena represents the memory of the values of one page. It is used again for the next.
type arena struct {
	chunk    []byte // what is being filled; full ones are kept by the values only
	held     int    // bytes of all values
	elements [][]byte
	scores   []float64
	ends     []int
	values   []*source.Value
	used     int
	id       string // of the last stream entry that was read
}

// chunkSize is the least memory that is taken at a time, and the most that is
// kept for the next page.
const chunkSize = 64 << 10

// reset forgets all values.
func (a *arena) reset() {
	if a.held == 0 && a.used == 0 {
		return
	}
	if cap(a.chunk) > 16*chunkSize {
		a.chunk = nil
	}
	a.chunk, a.elements, a.scores, a.ends = a.chunk[:0], a.elements[:0], a.scores[:0], a.ends[:0]
	a.held, a.used = 0, 0
}

// value returns an empty value.
func (a *arena) value() *source.Value {
	if a.used == len(a.values) {
		a.values = append(a.values, &source.Value{})
	}
	v := a.values[a.used]
	a.used++
	*v = source.Value{}
	return v
}

func (a *arena) keep(b []byte) []byte {
	if cap(a.chunk)-len(a.chunk) < len(b) {
		a.chunk = make([]byte, 0, max(chunkSize, len(b)))
	}
	at := len(a.chunk)
	a.chunk = append(a.chunk, b...)
	a.held += len(b)
	return a.chunk[at:len(a.chunk):len(a.chunk)]
}

// place represents a moment of an arena, to which it can be taken back.
type place struct{ held, elements, scores, ends, used int }

func (a *arena) mark() place {
	return place{a.held, len(a.elements), len(a.scores), len(a.ends), a.used}
}

func (a *arena) since(p place) int { return a.held - p.held }

// back forgets what was read since. The bytes are left to the collector if they
// did not fit into one chunk.
func (a *arena) back(p place) {
	if n := a.held - p.held; n <= len(a.chunk) {
		a.chunk = a.chunk[:len(a.chunk)-n]
	}
	a.held, a.elements, a.scores, a.ends, a.used = p.held, a.elements[:p.elements], a.scores[:p.scores],
		a.ends[:p.ends], p.used
}

// elements reads a reply with elements of the value, but for the first skip of
// lists, the last skip of streams (they come newest first), and tells how many
// there were. A value may be read in two replies.
func (r *reading) elements(c *link.Link, a *arena, skip int) (int, error) {
	if r.k.Kind == source.String {
		b, _, err := c.Bulk()
		if err == nil {
			r.v.Str = a.keep(b)
		}
		return 1, err
	}
	n, err := c.Array()
	if err != nil {
		return 0, err
	}
	from := len(a.elements)
	if len(r.v.Elements) > 0 { // the second reply: other values were read in between
		a.elements = append(a.elements, r.v.Elements...)
	}
	ends := len(a.ends)
	a.ends = append(a.ends, r.v.Ends...)
	if r.access.nested {
		err = r.entries(c, a, from, n, skip)
	} else {
		err = r.members(c, a, n, skip)
	}
	r.v.Elements = slices.Clip(a.elements[from:])
	r.v.Ends = slices.Clip(a.ends[ends:])
	if r.access.pairs {
		n /= 2
	}
	return max(n, 0), err
}

func (r *reading) members(c *link.Link, a *arena, n, skip int) error {
	scores := len(a.scores)
	for i := range max(n, 0) {
		b, ok, err := c.Bulk()
		if err != nil {
			return err
		}
		if !ok {
			return &wire.ProtocolError{Got: "null", Want: "an element"}
		}
		switch {
		case i < skip:
		case r.k.Kind == source.ZSet && i%2 == 1:
			score, err := strconv.ParseFloat(string(b), 64)
			if err != nil {
				return &wire.ProtocolError{Got: strconv.Quote(string(b)), Want: "a score"}
			}
			a.scores = append(a.scores, score)
		default:
			a.elements = append(a.elements, a.keep(b))
		}
	}
	r.v.Scores = slices.Clip(a.scores[scores:])
	return nil
}

// entries reads entries of a stream: each an id and the list of its fields.
func (r *reading) entries(c *link.Link, a *arena, from, n, skip int) error {
	for i := range max(n, 0) {
		if two, err := c.Array(); err != nil || two != 2 {
			return link.WrongForm(err, "an id and its fields")
		}
		id, _, err := c.Bulk()
		if err != nil {
			return err
		}
		a.id = string(id)
		fields, err := c.Array()
		if err != nil {
			return err
		}
		for range max(fields, 0) {
			b, _, err := c.Bulk()
			if err != nil {
				return err
			}
			if i < n-skip {
				a.elements = append(a.elements, a.keep(b))
			}
		}
		if i < n-skip {
			a.ends = append(a.ends, len(a.elements)-from)
		}
	}
	return nil
}
