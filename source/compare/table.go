package compare

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"

	"github.com/keywright/keywright/source"
)

// Spill describes where facts are kept that have no room in memory: a file without a name.
type Spill interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// Bounds of a table, in bytes of facts: those in memory while it is filled, and those of
// the partition that is joined.
var (
	tableHeld   = 4 << 20
	tableJoined = 1 << 20
)

const partitions = 256

// maxDepth bounds how often a partition is divided again: eight bytes of the hash.
const maxDepth = 7

// table has facts of two sides, and joins them by key. It holds a bounded part of them
// in memory, and the others in a spill.
type table struct {
	spill func() (Spill, error)
	depth int
	parts [partitions]partition
	held  int
	out   Spill
	at    int64 // the end of the spill
}

// partition has the facts of the keys of one hash.
type partition struct {
	buf    []byte
	chunks []chunk
	size   int64
}

type chunk struct {
	at int64
	n  int
}

// side tells whose fact it is.
type side byte

const (
	sideA side = iota
	sideB
)

// Bits of the first byte of a fact.
const (
	bitB byte = 1 << iota
	bitOpaque
	bitTorn
)

func (t *table) close() error {
	if t.out == nil {
		return nil
	}
	return t.out.Close()
}

// add adds a fact.
func (t *table) add(of side, key Key, f *Fact) error {
	bits := byte(of)
	if f.Opaque {
		bits |= bitOpaque
	}
	if f.Torn {
		bits |= bitTorn
	}
	rec := append(make([]byte, 0, 64+len(key.Name)), bits, byte(f.Kind))
	rec = binary.AppendVarint(rec, f.Digest.Count)
	for _, sum := range f.Digest.Sum {
		rec = binary.LittleEndian.AppendUint64(rec, sum)
	}
	rec = binary.AppendVarint(rec, f.Expires)
	rec = binary.AppendUvarint(rec, uint64(key.DB))
	return t.put(key, append(rec, key.Name...))
}

// put puts an encoded fact into its partition.
func (t *table) put(key Key, rec []byte) error {
	h := maphash.Bytes(seeds[0], key.Name) + uint64(key.DB)
	p := &t.parts[byte(h>>(8*t.depth))]
	before := len(p.buf)
	p.buf = append(binary.AppendUvarint(p.buf, uint64(len(rec))), rec...)
	grown := len(p.buf) - before
	p.size += int64(grown)
	if t.held += grown; t.held > tableHeld {
		return t.flush()
	}
	return nil
}

// flush writes the buffers to the spill.
func (t *table) flush() error {
	if t.out == nil {
		if t.spill == nil {
			return errors.New("there is no place for what has no room in memory")
		}
		var err error
		if t.out, err = t.spill(); err != nil {
			return fmt.Errorf("a file for what has no room in memory: %w", err)
		}
	}
	for i := range t.parts {
		p := &t.parts[i]
		if len(p.buf) == 0 {
			continue
		}
		if _, err := t.out.Write(p.buf); err != nil {
			return fmt.Errorf("a file for what has no room in memory: %w", err)
		}
		p.chunks = append(p.chunks, chunk{t.at, len(p.buf)})
		t.at += int64(len(p.buf))
		p.buf = p.buf[:0]
	}
	t.held = 0
	return nil
}

// joined describes what both sides have of a key.
type joined struct{ a, b Fact }

// join calls each for every key that a side has. The table is empty after it.
func (t *table) join(each func(Key, *joined) error) error {
	if t.out != nil {
		if err := t.flush(); err != nil {
			return err
		}
	}
	for i := range t.parts {
		p := &t.parts[i]
		if p.size == 0 {
			continue
		}
		if err := t.joinPart(p, each); err != nil {
			return err
		}
		*p = partition{}
	}
	return nil
}

func (t *table) joinPart(p *partition, each func(Key, *joined) error) (err error) {
	if p.size > int64(tableJoined) && t.depth < maxDepth {
		finer := &table{spill: t.spill, depth: t.depth + 1}
		defer func() { err = errors.Join(err, finer.close()) }()
		if err := t.walk(p, func(rec []byte) error {
			_, key, _, err := decodeFact(rec)
			if err == nil {
				err = finer.put(key, rec)
			}
			return err
		}); err != nil {
			return err
		}
		return finer.join(each)
	}
	all := map[string]*joined{}
	if err := t.walk(p, func(rec []byte) error {
		of, key, f, err := decodeFact(rec)
		if err != nil {
			return err
		}
		id := binary.AppendUvarint(make([]byte, 0, 4+len(key.Name)), uint64(key.DB))
		id = append(id, key.Name...)
		j := all[string(id)]
		if j == nil {
			j = &joined{}
			all[string(id)] = j
		}
		if of == sideA {
			j.a = f
		} else {
			j.b = f
		}
		return nil
	}); err != nil {
		return err
	}
	for id, j := range all {
		db, n := binary.Uvarint([]byte(id))
		if err := each(Key{int(db), []byte(id[n:])}, j); err != nil {
			return err
		}
	}
	return nil
}

// walk reads the facts of a partition.
func (t *table) walk(p *partition, each func(rec []byte) error) error {
	var buf []byte
	for _, c := range p.chunks {
		buf = append(buf[:0], make([]byte, c.n)...)
		if _, err := t.out.ReadAt(buf, c.at); err != nil {
			return fmt.Errorf("a file for what has no room in memory: %w", err)
		}
		if err := walkFacts(buf, each); err != nil {
			return err
		}
	}
	return walkFacts(p.buf, each)
}

var errSpill = errors.New("what was kept outside of memory makes no sense when it is read again")

func walkFacts(buf []byte, each func(rec []byte) error) error {
	for len(buf) > 0 {
		n, used := binary.Uvarint(buf)
		if used <= 0 || n > uint64(len(buf)-used) {
			return errSpill
		}
		end := used + int(n)
		if err := each(buf[used:end]); err != nil {
			return err
		}
		buf = buf[end:]
	}
	return nil
}

func decodeFact(rec []byte) (of side, key Key, f Fact, err error) {
	if len(rec) < 2 {
		return 0, key, f, errSpill
	}
	bits, kind := rec[0], rec[1]
	rec = rec[2:]
	f = Fact{There: true, Kind: source.Kind(kind), Opaque: bits&bitOpaque > 0, Torn: bits&bitTorn > 0}
	count, n := binary.Varint(rec)
	if n <= 0 || len(rec) < n+16 {
		return 0, key, f, errSpill
	}
	f.Digest.Count, rec = count, rec[n:]
	for i := range f.Digest.Sum {
		f.Digest.Sum[i], rec = binary.LittleEndian.Uint64(rec), rec[8:]
	}
	expires, n := binary.Varint(rec)
	if n <= 0 {
		return 0, key, f, errSpill
	}
	db, m := binary.Uvarint(rec[n:])
	if m <= 0 {
		return 0, key, f, errSpill
	}
	f.Expires = expires
	return side(bits & bitB), Key{int(db), rec[n+m:]}, f, nil
}
