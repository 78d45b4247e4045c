package compare

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash"
	"math/bits"
	"slices"
	"strconv"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/rdb"
)

// Digest is one of a value, whatever its encoding.
type Digest [16]byte

// Of reads a value.
func Of(v *archive.Value) (Digest, error) {
	payload := v.Payload
	if v.Form != archive.Dump {
		payload = nil
	}
	return digestOf(v.Kind, payload, v.Elements)
}

// OfContent reads a value that is given whole.
func OfContent(c *source.Content) (Digest, error) {
	return digestOf(c.Kind, c.Payload, func(each func([][]byte, bool) error) error { return rdb.Elements(c.Payload, c.RDB, 0, each) })
}

func digestOf(kind source.Kind, payload []byte, read func(func([][]byte, bool) error) error) (out Digest, err error) {
	d := &digesting{kind: kind, sum: sha256.New()}
	d.sum.Write([]byte{byte(kind)})
	err = read(d.part)
	if err != nil && payload != nil && errors.Is(err, rdb.ErrUnknown) { // it can only be compared as it is
		d.sum.Reset()
		d.sum.Write(payload)
		err = nil
	}
	if err != nil {
		return out, err
	}
	var unordered [16]byte
	binary.LittleEndian.PutUint64(unordered[:], d.low)
	binary.LittleEndian.PutUint64(unordered[8:], d.high)
	d.sum.Write(unordered[:])
	var sum [sha256.Size]byte
	copy(out[:], d.sum.Sum(sum[:0]))
	return out, nil
}

// digesting sums the elements of a value: one after the other, or, where they have no
// order, as the sum of a checksum of each.
type digesting struct {
	kind      source.Kind
	sum       hash.Hash
	low, high uint64
	scratch   []byte
}

func (d *digesting) part(elements [][]byte, more bool) error {
	switch d.kind {
	case source.String:
		for _, e := range elements {
			d.sum.Write(e)
		}
	case source.Set:
		for i := range elements {
			d.unordered(elements[i : i+1])
		}
	case source.Hash, source.ZSet:
		for i := 0; i+1 < len(elements); i += 2 {
			if d.kind == source.ZSet {
				elements[i+1] = score(elements[i+1])
			}
			d.unordered(elements[i : i+2])
		}
	case source.Stream:
		if !more {
			return d.state(elements)
		}
		d.ordered(elements)
	default:
		d.ordered(elements)
	}
	return nil
}

func (d *digesting) ordered(elements [][]byte) {
	for _, e := range elements {
		d.scratch = binary.AppendUvarint(d.scratch[:0], uint64(len(e)))
		d.sum.Write(d.scratch)
		d.sum.Write(e)
	}
}

func (d *digesting) unordered(elements [][]byte) {
	d.scratch = d.scratch[:0]
	for _, e := range elements {
		d.scratch = archive.AppendText(d.scratch, e)
	}
	sum := sha256.Sum256(d.scratch)
	carry := uint64(0)
	d.low, carry = bits.Add64(d.low, binary.LittleEndian.Uint64(sum[:]), 0)
	d.high, _ = bits.Add64(d.high, binary.LittleEndian.Uint64(sum[8:]), carry)
}

// score is a score in one form.
func score(text []byte) []byte {
	n, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return text
	}
	return strconv.AppendFloat(nil, n, 'g', -1, 64)
}

// state sums what a stream has beside its entries, but for idle times.
func (d *digesting) state(elements [][]byte) error {
	var s source.StreamState
	if len(elements) != 1 {
		return errors.New("the last part of a stream has no state")
	}
	if err := json.Unmarshal(elements[0], &s); err != nil {
		return err
	}
	if s.MaxDeleted == "" {
		s.MaxDeleted = "0-0"
	}
	slices.SortFunc(s.Groups, func(a, b source.StreamGroup) int { return slices.Compare(a.Name, b.Name) })
	for i := range s.Groups {
		g := &s.Groups[i]
		slices.SortFunc(g.Consumers, slices.Compare[[]byte])
		for j := range g.Pending {
			g.Pending[j].Idle = 0
		}
	}
	text, err := json.Marshal(s)
	d.sum.Write(text)
	return err
}
