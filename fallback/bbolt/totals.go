package bbolt

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"hash/crc64"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// totals describes what a store holds, written with each change: of how much, and the
// sum of the checksums of all its rows, so that a row that is missing, or one too
// many, is found.
type totals struct {
	copies, copyBytes, pending, pendingBytes, conflicts int64

	rows           int64
	sum            uint64
	orders, writes uint64 // the last numbers that were given, in order and in the log
}

const totalsBytes = 9 * 8

func (t *totals) all() []int64 {
	return []int64{t.copies, t.copyBytes, t.pending, t.pendingBytes, t.conflicts,
		t.rows, int64(t.sum), int64(t.orders), int64(t.writes)}
}

// read takes a row of totals apart. There is none in a new store.
func (t *totals) read(data []byte) error {
	if *t = (totals{}); data == nil {
		return nil
	}
	data, whole := unsealed(data)
	if !whole || len(data) != totalsBytes {
		return broken("totals of %d bytes", len(data))
	}
	at := func(i int) int64 { return int64(binary.BigEndian.Uint64(data[8*i:])) }
	*t = totals{at(0), at(1), at(2), at(3), at(4), at(5), uint64(at(6)), uint64(at(7)), uint64(at(8))}
	return nil
}

func (t *totals) bytes() (data []byte) {
	for _, n := range t.all() {
		data = binary.BigEndian.AppendUint64(data, uint64(n))
	}
	return sealed(data)
}

func (t *totals) add(part int, key, value []byte) {
	t.rows, t.sum = t.rows+1, t.sum+sum(part, key, value)
}

func (t *totals) less(part int, key, value []byte) {
	t.rows, t.sum = t.rows-1, t.sum-sum(part, key, value)
}

var (
	table64 = crc64.MakeTable(crc64.ECMA)
	table32 = crc32.MakeTable(crc32.Castagnoli)
)

// sum returns the checksum of one row.
func sum(part int, key, value []byte) uint64 {
	var head [1 + binary.MaxVarintLen64]byte
	head[0] = byte(part)
	n := binary.PutUvarint(head[1:], uint64(len(key)))
	return crc64.Update(crc64.Update(crc64.Update(0, table64, head[:1+n]), table64, key), table64, value)
}

func sealed(data []byte) []byte {
	return binary.BigEndian.AppendUint32(data, crc32.Checksum(data, table32))
}

func unsealed(data []byte) ([]byte, bool) {
	if len(data) < 4 {
		return nil, false
	}
	data, end := data[:len(data)-4], data[len(data)-4:]
	return data, binary.BigEndian.Uint32(end) == crc32.Checksum(data, table32)
}

// part represents a bucket of a store whose rows are counted in its totals.
type part struct {
	*bolt.Bucket
	index  int
	totals *totals
}

// Put writes a row.
func (p part) Put(key, value []byte) error {
	if old := p.Get(key); old != nil {
		p.totals.less(p.index, key, old)
	}
	p.totals.add(p.index, key, value)
	return p.Bucket.Put(key, value)
}

// Delete removes a row, if it is there.
func (p part) Delete(key []byte) error {
	old := p.Get(key)
	if old == nil {
		return nil
	}
	p.totals.less(p.index, key, old)
	return p.Bucket.Delete(key)
}

// index is the bucket with the names of all stores of a file: a store that is not
// in it, or is in it and not in the file, is damage.
var (
	index    = []byte("\x00stores")
	names    = []byte("names")
	totalKey = []byte("counts")
)

func namesBytes(list []string) (data []byte) {
	for _, name := range list {
		data = append(binary.AppendUvarint(data, uint64(len(name))), name...)
	}
	return sealed(data)
}

func readNames(data []byte) (list []string, whole bool) {
	data, whole = unsealed(data)
	for whole && len(data) > 0 {
		size, n := binary.Uvarint(data)
		if n <= 0 || size > uint64(len(data)-n) {
			return nil, false
		}
		list = append(list, string(data[n:n+int(size)]))
		data = data[n+int(size):]
	}
	return list, whole
}

// rows describes what a walk over a whole file has found.
type rows struct {
	names   []byte
	indexed bool
	stores  map[string]*found
}

// found represents one store: what its rows give, and what it says itself.
type found struct {
	parts       int
	sums, saved totals
}

// bucket takes each bucket with its sequence.
func (r *rows) bucket(path [][]byte, sequence uint64) error {
	if len(path) == 1 {
		if bytes.Equal(path[0], index) {
			r.indexed = true
			return nil
		}
		if r.stores == nil {
			r.stores = map[string]*found{}
		}
		r.stores[string(path[0])] = &found{}
		return nil
	}
	s := r.stores[string(path[0])]
	i := -1
	if len(path) == 2 && s != nil {
		i = slices.IndexFunc(parts, func(name []byte) bool { return bytes.Equal(name, path[1]) })
	}
	if i < 0 {
		return broken("a bucket in a place where none is")
	}
	s.parts++
	switch {
	case bytes.Equal(path[1], order):
		s.sums.orders = sequence
	case bytes.Equal(path[1], log):
		s.sums.writes = sequence
	case sequence != 0:
		return broken("a bucket that counts and should not")
	}
	return nil
}

// row takes each row.
func (r *rows) row(path [][]byte, key, value []byte) error {
	if len(path) == 1 && bytes.Equal(path[0], index) && bytes.Equal(key, names) {
		r.names = value
		return nil
	}
	if len(path) != 2 {
		return broken("a row in a place where none is")
	}
	s := r.stores[string(path[0])]
	i := slices.IndexFunc(parts, func(name []byte) bool { return bytes.Equal(name, path[1]) })
	if !bytes.Equal(path[1], meta) {
		s.sums.add(i, key, value)
		return nil
	}
	if !bytes.Equal(key, totalKey) {
		return broken("a row of totals with another name")
	}
	return s.saved.read(value)
}

// verify holds what was found against what the file says.
func (r *rows) verify() error {
	list, whole := readNames(r.names)
	if !r.indexed || !whole || len(list) != len(r.stores) {
		return broken("the names of %d stores, and %d stores", len(list), len(r.stores))
	}
	for _, name := range list {
		s := r.stores[name]
		if s == nil || s.parts != len(parts) {
			return broken("a store is missing, or a part of it")
		}
		s.sums.copies, s.sums.copyBytes, s.sums.pending = s.saved.copies, s.saved.copyBytes, s.saved.pending
		s.sums.pendingBytes, s.sums.conflicts = s.saved.pendingBytes, s.saved.conflicts
		if s.sums != s.saved {
			return broken("%d rows of a store where %d were written, or others", s.sums.rows, s.saved.rows)
		}
	}
	return nil
}
