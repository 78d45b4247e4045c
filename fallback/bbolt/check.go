package bbolt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"
)

// A file of bbolt has no checksums but those of its two heads, and is mapped into
// memory: a damaged page is a wrong answer, a panic or a fault. So all of a file is
// read before bbolt sees it: each page that is reached from the newest head, and
// each row of it, which are held against the totals of their store.
//
// The form is that of https://pkg.go.dev/go.etcd.io/bbolt, version 2: pages of one
// size, numbered; 0 and 1 are heads; branches and leaves begin with 16 bytes and have
// a table of elements of 16 bytes each.

const (
	headBytes    = 64
	pageHead     = 16
	elementBytes = 16
	magic        = 0xED0CDAED
	fileVersion  = 2

	branchPage = 0x01
	leafPage   = 0x02
	listPage   = 0x10

	bucketRow = 0x01
	noList    = ^uint64(0)
	noPage    = ^uint64(0)
	maxDepth  = 64
)

var native = binary.NativeEndian

// head describes what one of the two first pages says.
type head struct{ pageSize, root, list, pages, tx uint64 }

// checker reads a file page by page.
type checker struct {
	in   *os.File
	head head
	seen map[uint64]bool
	rows rows
}

// check reports what is wrong with a file: nil if every page that is in use, and
// every row, is what was written.
func check(in *os.File) error {
	c := &checker{in: in, seen: map[uint64]bool{0: true, 1: true}}
	if err := c.heads(); err != nil {
		return err
	}
	if err := c.walk(nil, c.head.root, nil, nil, 0); err != nil {
		return err
	}
	if err := c.freelist(); err != nil {
		return err
	}
	return c.rows.verify()
}

func broken(format string, args ...any) error { return fmt.Errorf(format, args...) }

// heads reads both heads. A write replaces the older one in a single sector, so
// that one that makes no sense is damage and not a write that was cut off: bbolt
// would fall back to the other, and what was accepted last would be gone.
func (c *checker) heads() error {
	first, err := c.readHead(0)
	if err != nil {
		return err
	}
	second, err := c.readHead(first.pageSize)
	if err != nil {
		return err
	}
	if c.head = first; second.tx > first.tx {
		c.head = second
	}
	info, err := c.in.Stat()
	if err != nil {
		return err
	}
	if size := uint64(info.Size()) / c.head.pageSize; size < c.head.pages || c.head.pages < 2 {
		return broken("%d pages of %d are there", size, c.head.pages)
	}
	return nil
}

func (c *checker) readHead(at uint64) (h head, err error) {
	p := make([]byte, pageHead+headBytes)
	if _, err := c.in.ReadAt(p, int64(at)); err != nil {
		return h, broken("a head cannot be read: %w", err)
	}
	p = p[pageHead:]
	sum := fnv.New64a()
	_, _ = sum.Write(p[:headBytes-8])
	if native.Uint32(p) != magic || native.Uint32(p[4:]) != fileVersion || native.Uint64(p[headBytes-8:]) != sum.Sum64() {
		return h, broken("the head at byte %d makes no sense", at)
	}
	h = head{uint64(native.Uint32(p[8:])), native.Uint64(p[16:]), native.Uint64(p[32:]), native.Uint64(p[40:]),
		native.Uint64(p[48:])}
	if h.pageSize < 512 || h.pageSize > 1<<20 {
		return h, broken("pages of %d bytes", h.pageSize)
	}
	return h, nil
}

// page reads a page with those that go on from it, each page once.
func (c *checker) page(id uint64) ([]byte, error) {
	p := make([]byte, pageHead)
	if id >= c.head.pages {
		return nil, broken("page %d of %d", id, c.head.pages)
	}
	if _, err := c.in.ReadAt(p, int64(id*c.head.pageSize)); err != nil {
		return nil, broken("page %d: %w", id, err)
	}
	more := uint64(native.Uint32(p[12:]))
	if native.Uint64(p) != id || id+more >= c.head.pages {
		return nil, broken("page %d says that it is page %d, with %d more", id, native.Uint64(p), more)
	}
	for i := id; i <= id+more; i++ {
		if c.seen[i] {
			return nil, broken("page %d is used twice", i)
		}
		c.seen[i] = true
	}
	p = make([]byte, (1+more)*c.head.pageSize)
	if _, err := c.in.ReadAt(p, int64(id*c.head.pageSize)); err != nil {
		return nil, broken("page %d: %w", id, err)
	}
	return p, nil
}

// walk visits a page and what is below it. Its keys must be from low on and below
// high, where these are given.
func (c *checker) walk(path [][]byte, id uint64, low, high []byte, depth int) error {
	p, err := c.page(id)
	if err != nil {
		return err
	}
	if depth > maxDepth {
		return broken("page %d is %d levels deep", id, depth)
	}
	switch flags := native.Uint16(p[8:]); flags {
	case leafPage:
		return c.leaf(path, p, low, high, depth)
	case branchPage:
		return c.branch(path, p, low, high, depth)
	default:
		return broken("page %d is of kind %d", id, flags)
	}
}

// element represents a row of a page's table.
type element struct {
	flags, page uint64
	key, value  []byte
}

// elements takes the table of a page apart. Keys grow, and are within bounds.
func elements(p []byte, branch bool, low, high []byte) ([]element, error) {
	n := int(native.Uint16(p[10:]))
	if pageHead+n*elementBytes > len(p) {
		return nil, broken("a page of %d bytes with %d elements", len(p), n)
	}
	out := make([]element, n)
	for i := range out {
		at := pageHead + i*elementBytes
		row := p[at:]
		e, pos, keyed, valued := &out[i], uint64(0), uint64(0), uint64(0)
		if branch {
			pos, keyed, e.page = uint64(native.Uint32(row)), uint64(native.Uint32(row[4:])), native.Uint64(row[8:])
		} else {
			e.flags, pos = uint64(native.Uint32(row)), uint64(native.Uint32(row[4:]))
			keyed, valued = uint64(native.Uint32(row[8:])), uint64(native.Uint32(row[12:]))
		}
		from := uint64(at) + pos
		if from < uint64(pageHead+n*elementBytes) || from+keyed+valued > uint64(len(p)) {
			return nil, broken("an element that is not in its page")
		}
		e.key, e.value = p[from:from+keyed], p[from+keyed:from+keyed+valued]
		if i > 0 && bytes.Compare(out[i-1].key, e.key) >= 0 || low != nil && bytes.Compare(e.key, low) < 0 ||
			high != nil && bytes.Compare(e.key, high) >= 0 {
			return nil, broken("keys that are not in order")
		}
	}
	return out, nil
}

func (c *checker) branch(path [][]byte, p []byte, low, high []byte, depth int) error {
	children, err := elements(p, true, low, high)
	if err != nil || len(children) == 0 {
		return broken("a branch of %d pages: %w", len(children), err)
	}
	for i, e := range children {
		to := high
		if i+1 < len(children) {
			to = children[i+1].key
		}
		if err := c.walk(path, e.page, e.key, to, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) leaf(path [][]byte, p []byte, low, high []byte, depth int) error {
	found, err := elements(p, false, low, high)
	if err != nil {
		return err
	}
	for _, e := range found {
		switch e.flags {
		case 0:
			if err := c.rows.row(path, e.key, e.value); err != nil {
				return err
			}
		case bucketRow:
			if err := c.bucket(append(path[:len(path):len(path)], e.key), e.value, depth); err != nil {
				return err
			}
		default:
			return broken("an element of kind %d", e.flags)
		}
	}
	return nil
}

// bucket returns a tree of its own, or a single leaf within its row.
func (c *checker) bucket(path [][]byte, value []byte, depth int) error {
	if len(value) < pageHead {
		return broken("a bucket of %d bytes", len(value))
	}
	if err := c.rows.bucket(path, native.Uint64(value[8:])); err != nil {
		return err
	}
	if root := native.Uint64(value); root != 0 {
		return c.walk(path, root, nil, nil, depth+1)
	}
	inline := value[pageHead:]
	if len(inline) < pageHead || native.Uint16(inline[8:]) != leafPage || depth > maxDepth {
		return broken("a bucket that is no leaf")
	}
	return c.leaf(path, inline, nil, nil, depth+1)
}

// freelist holds the list of free pages, of a file that has one, against those
// that are in use. It comes last.
func (c *checker) freelist() error {
	if c.head.list == noList {
		return nil
	}
	p, err := c.page(c.head.list)
	if err != nil {
		return err
	}
	n, ids := uint64(native.Uint16(p[10:])), p[pageHead:]
	if n == 0xffff {
		n, ids = native.Uint64(ids), ids[8:]
	}
	if native.Uint16(p[8:]) != listPage || n > uint64(len(ids)/8) {
		return broken("a list of %d free pages", n)
	}
	for i := range n {
		if id := native.Uint64(ids[8*i:]); id >= c.head.pages || c.seen[id] {
			return broken("page %d is in use and free", id)
		}
	}
	return nil
}
