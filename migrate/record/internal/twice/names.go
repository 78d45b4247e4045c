// Package twice finds members of an object that are there twice, in bounded memory: names are held by their hashes, and
// what is too much is sorted outside of memory. It does not read documents.
package twice

import (
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"slices"
)

// seen represents one member's name in the table of its object: two hashes of it, and
// where it is. Names that differ have the same hashes with a probability of one in
// 10^24 for a hundred million members.
type seen struct {
	h1, h2       uint64
	line, column uint32
}

func (a seen) compare(b seen) int {
	if a.h1 != b.h1 {
		return cmp.Compare(a.h1, b.h1)
	}
	return cmp.Compare(a.h2, b.h2)
}

// ErrNames reports an object with too many members to be held.
var ErrNames = errors.New("an object has too many members to tell whether one is there twice")

// small is up to how many names are searched one by one.
const small = 12

// nameTable represents the names of one open object: those in memory, and the runs that
// were spilled.
type nameTable struct {
	list  []seen
	index []uint32 // place in list + 1, by hash; empty while the list is small
	runs  []run
}

// run represents one sorted part of a spilled table.
type run struct{ from, entries int64 }

// Names finds members that are twice in an object, in bounded memory.
type Names struct {
	most    int                   // names that are held in memory
	room    func() (Spill, error) // for the others; nil: there is none
	seed1   maphash.Seed
	seed2   maphash.Seed
	tables  []*nameTable // by depth; tables are used again
	open    int          // how many of them are in use
	held    int          // names in memory
	spill   Spill
	written int64
}

// New returns a checker that holds so many names in memory. room is for the others; nil: there is none.
func New(most int, room func() (Spill, error)) *Names {
	return &Names{most: most, room: room, seed1: maphash.MakeSeed(), seed2: maphash.MakeSeed()}
}

// Push begins an object.
func (c *Names) Push() {
	if c.open == len(c.tables) {
		c.tables = append(c.tables, &nameTable{})
	}
	c.open++
}

// Error represents a member that is there twice, and where the second one is.
type Error struct{ Line, Column uint32 }

func (e *Error) Error() string { return "a member is there twice" }

// Add notes a name of the innermost object; false if it is there already.
func (c *Names) Add(name []byte, line, column int) (fresh bool, err error) {
	t := c.tables[c.open-1]
	e := seen{maphash.Bytes(c.seed1, name), maphash.Bytes(c.seed2, name), clamp(line), clamp(column)}
	if !t.insert(e) {
		return false, nil
	}
	if c.held++; c.held > c.most {
		return true, c.relieve()
	}
	return true, nil
}

func clamp(n int) uint32 { return uint32(min(n, math.MaxUint32)) }

func (t *nameTable) insert(e seen) bool {
	if len(t.list) < small {
		for i := range t.list {
			if t.list[i].h1 == e.h1 && t.list[i].h2 == e.h2 {
				return false
			}
		}
		t.list = append(t.list, e)
		return true
	}
	if len(t.list) == small || len(t.list)*2 >= len(t.index) {
		t.grow()
	}
	slot := t.slot(e)
	if t.index[slot] != 0 {
		return false
	}
	t.list = append(t.list, e)
	t.index[slot] = uint32(len(t.list))
	return true
}

// slot returns where an entry is, or belongs.
func (t *nameTable) slot(e seen) uint64 {
	mask := uint64(len(t.index) - 1)
	slot := e.h1 & mask
	for t.index[slot] != 0 {
		if other := t.list[t.index[slot]-1]; other.h1 == e.h1 && other.h2 == e.h2 {
			return slot
		}
		slot = (slot + 1) & mask
	}
	return slot
}

func (t *nameTable) grow() {
	if size := max(64, len(t.index)); len(t.list)*2 >= size {
		t.index = make([]uint32, 2*size)
	} else if len(t.index) == 0 {
		t.index = make([]uint32, size)
	} else {
		clear(t.index)
	}
	for i, e := range t.list {
		t.index[t.slot(e)] = uint32(i + 1)
	}
}

// reset empties the table, and gives up what a large object has made of it.
func (t *nameTable) reset() {
	if t.list = t.list[:0]; cap(t.list) > 1024 {
		t.list = nil
	}
	if t.runs = nil; len(t.index) > 2048 {
		t.index = nil
	}
}

// relieve writes the largest table to the spill.
func (c *Names) relieve() error {
	if c.room == nil {
		return ErrNames
	}
	largest := slices.MaxFunc(c.tables[:c.open],
		func(a, b *nameTable) int { return cmp.Compare(len(a.list), len(b.list)) })
	return c.flush(largest)
}

// flush writes a table as a sorted run.
func (c *Names) flush(t *nameTable) (err error) {
	if c.spill == nil {
		if c.spill, err = c.room(); err != nil {
			return fmt.Errorf("room for names: %w", err)
		}
	}
	slices.SortFunc(t.list, seen.compare)
	buf := make([]byte, 0, 64<<10)
	for i, e := range t.list {
		buf = binary.LittleEndian.AppendUint64(buf, e.h1)
		buf = binary.LittleEndian.AppendUint64(buf, e.h2)
		buf = binary.LittleEndian.AppendUint32(buf, e.line)
		buf = binary.LittleEndian.AppendUint32(buf, e.column)
		if len(buf)+seenBytes > cap(buf) || i == len(t.list)-1 {
			if _, err := c.spill.Write(buf); err != nil {
				return fmt.Errorf("room for names: %w", err)
			}
			buf = buf[:0]
		}
	}
	t.runs = append(t.runs, run{c.written, int64(len(t.list))})
	c.written += int64(len(t.list)) * seenBytes
	c.held -= len(t.list)
	t.list, t.index = t.list[:0], nil
	return nil
}

const seenBytes = 24

// Pop ends the innermost object. The error is an *errTwice if a member of it was
// there twice.
func (c *Names) Pop() error {
	t := c.tables[c.open-1]
	c.open--
	var err error
	if len(t.runs) > 0 {
		if len(t.list) > 0 {
			err = c.flush(t)
		}
		if err == nil {
			err = c.merge(t.runs)
		}
	}
	c.held -= len(t.list)
	t.reset()
	return err
}

// runReader reads the entries of a run in order.
type runReader struct {
	seen
	from, left int64
	in         io.ReaderAt
	buf        []byte
}

func (r *runReader) next() (bool, error) {
	if r.left == 0 {
		return false, nil
	}
	if len(r.buf) == 0 {
		n := min(r.left, 4096/seenBytes) * seenBytes
		r.buf = slices.Grow(r.buf[:0], int(n))[:n]
		if _, err := r.in.ReadAt(r.buf, r.from); err != nil {
			return false, fmt.Errorf("room for names: %w", err)
		}
		r.from += n
	}
	b := r.buf
	r.seen = seen{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint32(b[16:]),
		binary.LittleEndian.Uint32(b[20:])}
	r.buf, r.left = b[seenBytes:], r.left-1
	return true, nil
}

type runHeap []*runReader

func (h runHeap) Len() int           { return len(h) }
func (h runHeap) Less(i, j int) bool { return h[i].compare(h[j].seen) < 0 }
func (h runHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *runHeap) Push(x any)        { *h = append(*h, x.(*runReader)) }
func (h *runHeap) Pop() any          { last := (*h)[len(*h)-1]; *h = (*h)[:len(*h)-1]; return last }

// merge looks for the first member that is twice in the runs.
func (c *Names) merge(runs []run) error {
	var h runHeap
	for _, r := range runs {
		reader := &runReader{from: r.from, left: r.entries, in: c.spill}
		if ok, err := reader.next(); err != nil {
			return err
		} else if ok {
			h = append(h, reader)
		}
	}
	heap.Init(&h)
	var last seen
	var twice *Error
	for first := true; len(h) > 0; first = false {
		e := h[0].seen
		if !first && last.compare(e) == 0 {
			later := slices.MaxFunc([]seen{last, e}, func(a, b seen) int {
				return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
			})
			if twice == nil || later.line < twice.Line || later.line == twice.Line && later.column < twice.Column {
				twice = &Error{later.line, later.column}
			}
		}
		last = e
		ok, err := h[0].next()
		if err != nil {
			return err
		}
		if !ok {
			heap.Pop(&h)
			continue
		}
		heap.Fix(&h, 0)
	}
	if twice != nil {
		return twice
	}
	return nil
}

// Close gives back the room.
func (c *Names) Close() {
	if c.spill != nil {
		_ = c.spill.Close()
	}
}

// Spill is room for hashed names outside of memory, as an *os.File is.
type Spill = interface {
	io.Writer
	io.ReaderAt
	io.Closer
}
