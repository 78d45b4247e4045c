package archivefile

import (
	"encoding/binary"
	"errors"
	"hash/maphash"
	"math/bits"
	"os"
)

// Table holds what is known of very many keys in little memory: in a file without a name,
// which has no names and values of keys, only hashes with a seed that is never stored. It
// is for one goroutine.
type Table struct {
	file  *os.File
	seed  [2]maphash.Seed
	slots uint64
	used  uint64
	buf   [slotLen]byte
}

// Slot describes what is held of a key.
type Slot struct {
	Digest  [16]byte
	Expires int64
	Mark    int64
}

const slotLen = 16 + 16 + 8 + 8

// ErrCrowded reports more keys than a table was made for.
var ErrCrowded = errors.New("more keys than were expected")

// NewTable makes a table for so many keys, in a folder.
func NewTable(folder string, keys int64) (*Table, error) {
	f, err := os.CreateTemp(folder, ".keywright-*")
	if err != nil {
		return nil, err
	}
	t := &Table{file: f, seed: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		slots: 1 << bits.Len64(uint64(max(2*keys, 1024)))}
	_ = os.Remove(f.Name()) // some systems only do that in Close
	if err := f.Truncate(int64(t.slots) * slotLen); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

func (t *Table) Close() error {
	err := t.file.Close()
	_ = os.Remove(t.file.Name())
	return err
}

// find returns where a key is, or would be.
func (t *Table) find(db int, key []byte) (at int64, id [16]byte, there bool, err error) {
	var h [2]uint64
	for i := range h {
		var m maphash.Hash
		m.SetSeed(t.seed[i])
		_, _ = m.Write(binary.LittleEndian.AppendUint32(nil, uint32(db)))
		_, _ = m.Write(key)
		h[i] = m.Sum64()
	}
	binary.LittleEndian.PutUint64(id[:], h[0]|1) // never zero: that is an empty slot
	binary.LittleEndian.PutUint64(id[8:], h[1])
	for n := h[0] % t.slots; ; n = (n + 1) % t.slots {
		at = int64(n) * slotLen
		if _, err := t.file.ReadAt(t.buf[:], at); err != nil {
			return 0, id, false, err
		}
		switch [16]byte(t.buf[:16]) {
		case id:
			return at, id, true, nil
		case [16]byte{}:
			return at, id, false, nil
		}
	}
}

// Get returns what is held of a key.
func (t *Table) Get(db int, key []byte) (s Slot, there bool, err error) {
	_, _, there, err = t.find(db, key)
	if there {
		copy(s.Digest[:], t.buf[16:])
		s.Expires, s.Mark = int64(binary.LittleEndian.Uint64(t.buf[32:])), int64(binary.LittleEndian.Uint64(t.buf[40:]))
	}
	return s, there, err
}

// Put holds something of a key.
func (t *Table) Put(db int, key []byte, s Slot) error {
	at, id, there, err := t.find(db, key)
	if err != nil {
		return err
	}
	if !there {
		if t.used++; t.used > t.slots/4*3 {
			return ErrCrowded
		}
	}
	b := append(append(t.buf[:0], id[:]...), s.Digest[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(s.Expires))
	b = binary.LittleEndian.AppendUint64(b, uint64(s.Mark))
	_, err = t.file.WriteAt(b, at)
	return err
}
