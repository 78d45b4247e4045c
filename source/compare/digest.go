package compare

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
	"github.com/keywright/keywright/source/rdb/dump"
)

// Digest is 128 bits of a value, and how many elements it has. Digests are of one
// process: their seeds are random.
type Digest struct {
	Count int64
	Sum   [2]uint64
}

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// factors are odd random numbers: they put elements into an order.
var factors = [2]uint64{maphash.Bytes(seeds[0], nil) | 1, maphash.Bytes(seeds[1], nil) | 1}

// Fact describes what is known of a key at one side.
type Fact struct {
	There   bool
	Kind    source.Kind
	Digest  Digest
	Expires int64 // in Unix milliseconds; 0: never

	// Opaque is set where the digest is of the stored bytes, since their type is not
	// known here: such values are equal if their bytes are, and else cannot be decided.
	Opaque bool

	Torn bool // it was written to each time it was read in parts
}

// Sum returns the type and the value in 16 bytes, of one process as the digest is.
func (f *Fact) Sum() (out [16]byte) {
	count := uint64(f.Digest.Count)<<8 | uint64(f.Kind)
	binary.LittleEndian.PutUint64(out[:], f.Digest.Sum[0]^count*factors[0])
	binary.LittleEndian.PutUint64(out[8:], f.Digest.Sum[1]^count*factors[1])
	return out
}

// hasher makes the digest of one value, in one step or part by part.
type hasher struct {
	kind  source.Kind
	d     Digest
	text  [2]maphash.Hash // of a string
	space []byte
	next  int   // the number of the part that comes next
	err   error // why there will be no digest
}

func newHasher(kind source.Kind) *hasher {
	h := &hasher{kind: kind}
	for i := range h.text {
		h.text[i].SetSeed(seeds[i])
	}
	return h
}

// add adds one element: to a list and a stream at the end, to others anywhere.
func (h *hasher) add(element []byte) {
	h.d.Count++
	ordered := h.kind == source.List || h.kind == source.Stream
	for i := range h.d.Sum {
		if ordered {
			h.d.Sum[i] *= factors[i]
		}
		h.d.Sum[i] += maphash.Bytes(seeds[i], element)
	}
}

// pair adds two texts as one element.
func (h *hasher) pair(a, b []byte) {
	h.space = binary.AppendUvarint(h.space[:0], uint64(len(a)))
	h.space = append(append(h.space, a...), b...)
	h.add(h.space)
}

var errHalf = errors.New("a part of the value has half an element")

// elements adds those of a part, or of a whole value.
func (h *hasher) elements(all [][]byte) error {
	switch h.kind {
	case source.String:
		for _, e := range all {
			h.d.Count += int64(len(e))
			h.text[0].Write(e)
			h.text[1].Write(e)
		}
	case source.List, source.Set:
		for _, e := range all {
			h.add(e)
		}
	case source.Hash, source.ZSet:
		if len(all)%2 != 0 {
			return errHalf
		}
		for i := 0; i < len(all); i += 2 {
			value := all[i+1]
			if h.kind == source.ZSet {
				score, err := strconv.ParseFloat(string(value), 64)
				if err != nil {
					return fmt.Errorf("a score that is no number: %w", err)
				}
				if score == 0 {
					score = 0 // -0, which servers keep as 0 in one encoding and not in another
				}
				value = strconv.AppendFloat(nil, score, 'g', -1, 64)
			}
			h.pair(all[i], value)
		}
	default:
		return fmt.Errorf("its type cannot be compared in parts: %s", h.kind)
	}
	return nil
}

// entry adds an entry of a stream.
func (h *hasher) entry(id string, fields [][]byte) {
	h.space = append(append(h.space[:0], id...), ' ')
	for _, f := range fields {
		h.space = append(binary.AppendUvarint(h.space, uint64(len(f))), f...)
	}
	h.add(h.space)
}

// state adds what a stream has beside its entries: groups, consumers and pending entries
// by name. When something was delivered or a consumer was seen is not compared: it is
// reported in different ways by servers and moves by itself.
func (h *hasher) state(s *source.StreamState) {
	if s.MaxDeleted == "" {
		s.MaxDeleted = "0-0"
	}
	line := func(format string, args ...any) { h.add(fmt.Appendf(nil, format, args...)) }
	line("state %s %s %d", s.LastID, s.MaxDeleted, s.Added)
	slices.SortFunc(s.Groups, func(a, b source.StreamGroup) int { return slices.Compare(a.Name, b.Name) })
	for _, g := range s.Groups {
		line("group %q %s %d", g.Name, g.LastID, g.Read)
		slices.SortFunc(g.Consumers, slices.Compare[[]byte])
		for _, c := range g.Consumers {
			line("consumer %q", c)
		}
		pending := newHasher(source.Set)
		for _, p := range g.Pending {
			pending.add(fmt.Appendf(nil, "%s %q %d", p.ID, p.Consumer, p.Deliveries))
		}
		line("pending %v", pending.d)
	}
}

func (h *hasher) digest() Digest {
	if h.kind == source.String {
		return Digest{h.d.Count, [2]uint64{h.text[0].Sum64(), h.text[1].Sum64()}}
	}
	return h.d
}

// part adds a part as source.Content has it.
func (h *hasher) part(c *source.Content) {
	switch {
	case h.err != nil:
	case c.Part != h.next || c.Kind != h.kind:
		h.err = errors.New("its parts do not follow one another")
	case h.kind != source.Stream:
		h.err = h.elements(c.Elements)
	case c.More:
		h.err = h.entries(c.Elements)
	case len(c.Elements) != 1:
		h.err = errors.New("the last part of a stream has no state")
	default:
		var s source.StreamState
		if h.err = json.Unmarshal(c.Elements[0], &s); h.err == nil {
			h.state(&s)
		}
	}
	h.next++
}

// entries adds a part of a stream: IDs, counts, fields and values.
func (h *hasher) entries(all [][]byte) error {
	for len(all) > 0 {
		if len(all) < 2 {
			return errHalf
		}
		n, err := strconv.Atoi(string(all[1]))
		if err != nil || n < 0 || n > len(all)-2 {
			return errHalf
		}
		h.entry(string(all[0]), all[2:2+n])
		all = all[2+n:]
	}
	return nil
}

// whole returns the fact of a value that came in one piece. It holds a part of its elements at
// a time.
func (s *Facts) whole(c *source.Content) (Fact, error) {
	f := Fact{There: true, Kind: c.Kind, Expires: c.Expires, Torn: c.Torn}
	if len(c.Payload) > 0 { // what a server calls a type and what a file does may differ
		f.Kind = dump.KindOf(c.Payload[0], dump.OfValkey(c.RDB))
	}
	h := s.hasher(f.Kind)
	part := source.Content{Kind: f.Kind}
	err := dump.Elements(c.Payload, c.RDB, 0, func(elements [][]byte, more bool) error {
		part.Elements, part.More = elements, more
		h.part(&part)
		part.Part++
		return h.err
	})
	if err == nil || h.err != nil {
		f.Digest = h.digest()
		return f, err
	}
	if damaged := (*rdb.Error)(nil); errors.As(err, &damaged) && !errors.Is(err, rdb.ErrUnknown) {
		return f, err
	}
	f.Opaque = true
	f.Digest = Digest{int64(len(c.Payload)),
		[2]uint64{maphash.Bytes(seeds[0], c.Payload), maphash.Bytes(seeds[1], c.Payload)}}
	return f, nil
}

// Equal reports whether two whole values are equal: whatever their encodings, and the
// order of what has none.
func Equal(a, b *source.Content) bool {
	if bytes.Equal(a.Payload, b.Payload) {
		return true
	}
	var f Facts
	x, errA := f.whole(a)
	y, errB := f.whole(b)
	return errA == nil && errB == nil && x.SameValue(&y)
}
