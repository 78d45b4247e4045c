package archive

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
)

// Chain represents an archive, or an archive together with those that add to it: of each key it
// has what the newest of them says, and no key that was deleted since.
type Chain struct {
	all []*Archive // newest first
}

// BaseError is returned where the archive that another one adds to is not there.
type BaseError struct {
	ID   string // Meta.ID of the archive that adds to another one
	Base string // Sum of the one that is not there
}

// Error implements error.
func (e *BaseError) Error() string {
	return fmt.Sprintf(
		"archive %s only has what has changed since another archive, which is not among those that were named", e.ID)
}

// NewChain makes a chain that ends with an archive. Those that it adds to are found by
// their digests among others, in any order; what it does not add to is left out.
func NewChain(newest *Archive, others ...*Archive) (*Chain, error) {
	c := &Chain{all: []*Archive{newest}}
	others = slices.Clone(others)
	for last := newest; last.Meta.Base != ""; last = c.all[len(c.all)-1] {
		i := slices.IndexFunc(others, func(a *Archive) bool { return a != newest && a.Sum() == last.Meta.Base })
		if i < 0 {
			return nil, &BaseError{ID: last.Meta.ID, Base: last.Meta.Base}
		}
		c.all = append(c.all, others[i])
		others = slices.Delete(others, i, i+1) // a forged chain has an end, too
	}
	return c, nil
}

// Newest returns the archive that the chain ends with.
func (c *Chain) Newest() *Archive { return c.all[0] }

// Archives returns all of them, newest first.
func (c *Chain) Archives() []*Archive { return slices.Clone(c.all) }

// Single reports whether the chain is one archive.
func (c *Chain) Single() bool { return len(c.all) == 1 }

// Databases returns those that have keys, in their order, and how many records at most.
func (c *Chain) Databases() (order []int, records map[int]int64) {
	records = map[int]int64{}
	for _, a := range c.all {
		for i := range a.Index.Entries {
			for db, n := range a.Databases(a.entryAt(i)) {
				records[db] += n
			}
		}
	}
	for db := range records {
		order = append(order, db)
	}
	slices.Sort(order)
	return order, records
}

// entryAt returns the entry of a place in the index.
func (a *Archive) entryAt(i int) int {
	if i == len(a.Index.Entries)-1 {
		return Undeclared
	}
	return i
}

// errUnheld is returned where memory for the keys of a chain would not suffice.
var errUnheld = errors.New("the archives that add to another one have more keys than can be followed")

// maxPasses bounds how often the blocks of a chain are read.
const maxPasses = 1 << 12

// passes returns how often the blocks are read, so that no more than maxSeen keys are held.
func (c *Chain) passes() uint64 {
	held := int64(0)
	for i, a := range c.all {
		if keys, _ := a.Index.Totals(); i < len(c.all)-1 || a.repeats() {
			held += keys
		}
	}
	return uint64(held/maxSeen) + 1
}

// Values yields the values of one database, each key once. Entries whose names skip has
// are left out; it is for chains of one archive. It takes memory for the names of two
// hundred thousand keys at most; of more it reads the blocks several times. The order is
// the same each time.
func (c *Chain) Values(db int, skip map[string]bool) iter.Seq2[*Value, error] {
	return func(yield func(*Value, error) bool) {
		if c.Single() {
			c.singleValues(db, skip, yield)
			return
		}
		passes := c.passes()
		if passes > maxPasses {
			yield(nil, errUnheld)
			return
		}
		w := &chainWalk{Chain: c, db: db, passes: passes, seed: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
		for w.pass = range passes {
			if !w.run(yield) {
				return
			}
		}
	}
}

func (c *Chain) singleValues(db int, skip map[string]bool, yield func(*Value, error) bool) {
	a := c.all[0]
	for i := range a.Index.Entries {
		if skip[a.Index.Entries[i].Name] {
			continue
		}
		for v, err := range a.Values(a.entryAt(i), db) {
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// chainWalk represents one reading of a chain.
type chainWalk struct {
	*Chain
	db           int
	pass, passes uint64
	seed         [2]maphash.Seed
	said         idSet // keys of which a newer archive has said what they are now
	text         []byte
}

// run makes one pass; false: no more is wanted.
func (w *chainWalk) run(yield func(*Value, error) bool) bool {
	w.said.clear()
	for i, a := range w.all {
		for entry := range a.Index.Entries {
			for v, err := range a.Some(a.entryAt(entry), w.db, w.in) {
				if err != nil {
					yield(nil, err)
					return false
				}
				if i < len(w.all)-1 {
					w.said.add(w.id(v.Key))
				}
				if v.Form != Gone && !yield(v, nil) {
					return false
				}
			}
		}
	}
	return true
}

func (w *chainWalk) id(key []byte) [2]uint64 {
	return [2]uint64{maphash.Bytes(w.seed[0], key), maphash.Bytes(w.seed[1], key)}
}

// in reports whether a key is of this pass, and nothing newer says what it is.
func (w *chainWalk) in(key []byte) bool {
	return (w.passes == 1 || w.passOf(key) == w.pass) && !w.said.has(w.id(key))
}

// passOf returns the pass that a key is of: in each run the same, so that a run which was killed
// can be gone on with, and with the digest of the archive, so that none can be made in which
// all keys are of one pass.
func (w *chainWalk) passOf(key []byte) uint64 {
	w.text = append(append(w.text[:0], w.all[0].Footer.Sum[:]...), key...)
	sum := sha256.Sum256(w.text)
	return binary.LittleEndian.Uint64(sum[:]) % w.passes
}
