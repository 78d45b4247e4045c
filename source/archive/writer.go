package archive

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/bits"
)

const (
	// buffered says how many bytes a Writer keeps for blocks that are not yet full, of all entries together.
	buffered = 6 << 20
	// piece says how many bytes an open block grows by. A block that is nearly empty holds one of them.
	piece = 16 << 10
)

// Writer makes an archive. It is for one goroutine. It keeps at most about 6 MiB
// of records, or one record that is larger, and 24 bytes for each block that it has written.
type Writer struct {
	out    io.Writer
	codec  Codec
	meta   Meta
	open   map[place]*block
	held   int      // bytes of the pieces of open blocks
	free   [][]byte // pieces of blocks that were written, at most buffered bytes
	index  Index
	total  Footer
	sum    hash.Hash
	tally  tally
	offset int64
	body   []byte // a block that is written
	packed []byte
	err    error
}

// place describes what the records of a block have in common.
type place struct{ entry, db int }

// block is records in pieces of one length: a block grows without a copy, and what is kept is what is used.
type block struct {
	records int64
	bytes   int
	pieces  [][]byte
}

// NewWriter writes the header and returns a Writer. Nothing is synced or closed:
// that is for the caller.
func NewWriter(out io.Writer, meta Meta, codec Codec) (*Writer, error) {
	if len(meta.Entries) > MaxEntries {
		return nil, fmt.Errorf("%w: %d entries", ErrTooLarge, len(meta.Entries))
	}
	w := &Writer{out: out, codec: codec, meta: meta, open: map[place]*block{}, sum: sha256.New(),
		offset: int64(len(Magic))}
	for i := range meta.Entries {
		w.index.Entries = append(w.index.Entries, EntryIndex{Name: meta.Entries[i]})
	}
	w.index.Entries = append(w.index.Entries, EntryIndex{}) // undeclared
	w.sum.Write([]byte(Magic))
	if _, err := io.WriteString(out, Magic); err != nil {
		return nil, err
	}
	text, err := json.Marshal(meta)
	if err != nil {
		return nil, err
	}
	return w, w.section(kindHeader, text)
}

// Add adds a record. Its bytes are copied.
func (w *Writer) Add(r *Record) error {
	if w.err != nil {
		return w.err
	}
	if err := r.check(len(w.meta.Entries)); err != nil {
		return err
	}
	at := place{r.Entry, r.DB}
	b := w.open[at]
	if b == nil {
		b = &block{}
		w.open[at] = b
		head := binary.AppendUvarint(make([]byte, 0, 2*binary.MaxVarintLen64), uint64(at.entry+1))
		w.grow(b, binary.AppendUvarint(head, uint64(at.db)))
	}
	w.grow(b, w.tally.add(w.entry(r.Entry), r))
	b.records++
	w.total.Records++
	if b.bytes >= BlockSize {
		return w.close(at)
	}
	if w.held > buffered {
		return w.close(w.largest())
	}
	return nil
}

// grow adds bytes to an open block.
func (w *Writer) grow(b *block, text []byte) {
	b.bytes += len(text)
	for len(text) > 0 {
		last := len(b.pieces) - 1
		if last < 0 || len(b.pieces[last]) == piece {
			b.pieces = append(b.pieces, w.piece())
			w.held += piece
			last++
		}
		n := min(piece-len(b.pieces[last]), len(text))
		b.pieces[last] = append(b.pieces[last], text[:n]...)
		text = text[n:]
	}
}

// piece returns an empty piece.
func (w *Writer) piece() []byte {
	if n := len(w.free); n > 0 {
		p := w.free[n-1]
		w.free = w.free[:n-1]
		return p[:0]
	}
	return make([]byte, 0, piece)
}

// maxTorn bounds Index.TornKeys.
const maxTorn = 1000

// Tear notes in the index that what was added of a key never was its value.
func (w *Writer) Tear(key []byte) {
	if w.index.Torn++; w.index.Torn <= maxTorn {
		w.index.TornKeys = append(w.index.TornKeys, append([]byte(nil), key...))
	}
}

// Unsure notes in the index that a value in parts may be torn.
func (w *Writer) Unsure() { w.index.Unsure++ }

func (w *Writer) entry(i int) *EntryIndex {
	if i == Undeclared {
		i = len(w.index.Entries) - 1
	}
	return &w.index.Entries[i]
}

// tally encodes records and adds them to the figures of their entries. Its zero value is ready.
type tally struct {
	sum     hash.Hash
	encoded []byte // the last record
	small   []byte // a number, then a digest
}

// add adds a record to the figures of its entry, and returns it as it is in a block, until the next call.
func (t *tally) add(e *EntryIndex, r *Record) []byte {
	if cap(t.encoded) > 2*BlockSize {
		t.encoded = nil // of a record that was large
	}
	t.encoded = appendRecord(t.encoded[:0], r)
	if !r.More {
		e.Keys++
	}
	e.Bytes += int64(len(r.Key) + len(r.Payload))
	if t.sum == nil {
		t.sum = sha256.New()
	}
	t.sum.Reset()
	t.small = binary.LittleEndian.AppendUint64(t.small[:0], uint64(r.DB))
	t.sum.Write(t.small)
	t.sum.Write(t.encoded)
	t.small = t.sum.Sum(t.small[:0])
	e.Digest.add(t.small)
	return t.encoded
}

// Digest represents a digest of records that does not depend on their order.
type Digest [16]byte

// add adds 128 bits of a record's checksum, modulo 2^128.
func (d *Digest) add(sum []byte) {
	low, carry := bits.Add64(binary.LittleEndian.Uint64(d[:]), binary.LittleEndian.Uint64(sum), 0)
	high, _ := bits.Add64(binary.LittleEndian.Uint64(d[8:]), binary.LittleEndian.Uint64(sum[8:]), carry)
	binary.LittleEndian.PutUint64(d[:], low)
	binary.LittleEndian.PutUint64(d[8:], high)
}

// MarshalText writes a digest in hex.
func (d Digest) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%x", d[:]), nil }

// UnmarshalText reads what MarshalText writes.
func (d *Digest) UnmarshalText(text []byte) error {
	var raw []byte
	if _, err := fmt.Sscanf(string(text), "%x", &raw); err != nil || len(raw) != len(d) {
		return fmt.Errorf("%w: a digest of %d bytes", ErrSense, len(raw))
	}
	copy(d[:], raw)
	return nil
}

// largest returns the open block with most bytes.
func (w *Writer) largest() (at place) {
	most := -1
	for p, b := range w.open {
		if b.bytes > most {
			at, most = p, b.bytes
		}
	}
	return at
}

// close writes an open block.
func (w *Writer) close(at place) error {
	b := w.open[at]
	delete(w.open, at)
	w.held -= len(b.pieces) * piece
	e := w.entry(at.entry)
	e.Blocks = append(e.Blocks, BlockIndex{w.offset, b.records, at.db})
	w.total.Blocks++
	w.body = w.body[:0]
	for _, p := range b.pieces {
		w.body = append(w.body, p...)
		if len(w.free) < buffered/piece {
			w.free = append(w.free, p)
		}
	}
	err := w.section(kindBlock, w.body)
	if cap(w.body) > 2*BlockSize {
		w.body = nil
	}
	return err
}

// section writes one section.
func (w *Writer) section(kind byte, body []byte) error {
	if w.err != nil {
		return w.err
	}
	if w.packed, w.err = w.codec.Pack(w.packed[:0], body); w.err != nil {
		return w.err
	}
	h := head{kind: kind, codec: w.codec.ID, stored: uint32(len(w.packed)), raw: uint32(len(body))}
	stored := w.packed
	if len(stored) >= len(body) {
		h.codec, h.stored, stored = Plain.ID, h.raw, body
	}
	if len(body) > MaxSection {
		w.err = fmt.Errorf("%w: %d bytes", ErrTooLarge, len(body))
		return w.err
	}
	err := w.write(h, stored)
	if cap(w.packed) > 2*BlockSize {
		w.packed = nil
	}
	return err
}

// write writes a section as it is stored.
func (w *Writer) write(h head, stored []byte) error {
	h.crc = h.sum(stored)
	fixed := h.encode()
	for _, p := range [][]byte{fixed[:], stored} {
		if w.err == nil {
			_, w.err = w.out.Write(p)
		}
		w.sum.Write(p)
	}
	w.offset += int64(len(fixed) + len(stored))
	return w.err
}

// Flush writes all open blocks, so that a reader of the file as it is then has
// every record that was added.
func (w *Writer) Flush() error {
	for len(w.open) > 0 && w.err == nil {
		w.err = errors.Join(w.err, w.close(w.largest()))
	}
	return w.err
}

// Close writes what is open, the index and the footer: the archive is complete
// after it. To leave an archive incomplete, do not call it.
func (w *Writer) Close() (Index, error) {
	if err := w.Flush(); err != nil {
		return Index{}, err
	}
	w.total.Index = w.offset
	text, err := json.Marshal(w.index)
	if err != nil {
		return Index{}, err
	}
	if err := w.section(kindIndex, text); err != nil {
		return Index{}, err
	}
	w.sum.Sum(w.total.Sum[:0])
	body := w.total.encode()
	if err := w.write(head{kind: kindFooter, stored: footerLen, raw: footerLen}, body); err != nil {
		return Index{}, err
	}
	w.err = errors.New("the archive is closed")
	return w.index, nil
}

// Offset returns how many bytes were written.
func (w *Writer) Offset() int64 { return w.offset }

// Keys returns how many keys were added.
func (w *Writer) Keys() int64 {
	keys, _ := w.index.Totals()
	return keys
}

// Written returns the index of what was added so far, for reports: it is not in the file.
func (w *Writer) Written() Index { return w.index }
