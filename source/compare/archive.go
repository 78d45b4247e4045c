package compare

import (
	"context"
	"errors"
	"fmt"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
)

// Archive represents a chain of archives as a Side: each key once, whatever SCAN gave twice.
type Archive struct {
	Cut  error  // why it is not whole, and what All ends with; nil: it is
	Name string // of the file, which errors of All have; "": they have none

	chain *archive.Chain
	db    int
	skip  map[string]bool // entries that are left out
}

// NewArchive makes a Side of a chain: of one of its databases, or with -1 of all.
func NewArchive(chain *archive.Chain, db int) *Archive { return &Archive{chain: chain, db: db} }

// Now returns when the newest of the archives was made.
func (a *Archive) Now() int64 { return a.chain.Newest().Meta.Taken.UnixMilli() }

// Alike makes both sides leave out the entries that have the same digest in both, and
// says how many keys those have, by name. It is for comparisons of all keys, by the
// entries that the archives have: their declarations must be the same.
func Alike(a, b *Archive) map[string]int64 {
	same := map[string]int64{}
	if !a.chain.Single() || !b.chain.Single() || a.Cut != nil || b.Cut != nil || a.db >= 0 || b.db >= 0 {
		return same
	}
	other := map[string]*archive.EntryIndex{}
	for i, e := range b.chain.Newest().Index.Entries {
		other[e.Name] = &b.chain.Newest().Index.Entries[i]
	}
	for _, e := range a.chain.Newest().Index.Entries {
		if o := other[e.Name]; o != nil && o.Digest == e.Digest && o.Keys == e.Keys {
			same[e.Name] = e.Keys
		}
	}
	for _, side := range []*Archive{a, b} {
		side.skip = map[string]bool{}
		for name := range same {
			side.skip[name] = true
		}
	}
	return same
}

// Bounds of a batch of contents.
const (
	batchRecords = 256
	batchBytes   = 1 << 20
)

// All yields the values, those in parts without elements that a scan gave twice. A
// damaged block is an error, after what is good before it.
func (a *Archive) All(ctx context.Context, each func([]source.Content) error) (sum source.Summary, err error) {
	b := &batches{each: each}
	order, _ := a.chain.Databases()
	for _, db := range order {
		if a.db >= 0 && db != a.db {
			continue
		}
		for v, err := range a.chain.Values(db, a.skip) {
			if err == nil {
				err = ctx.Err()
			}
			if err == nil {
				err = b.add(v)
			}
			if err != nil {
				return sum, errors.Join(a.named(err), b.hand())
			}
			sum.Keys++
		}
	}
	return sum, errors.Join(a.named(a.Cut), b.hand())
}

func (a *Archive) named(err error) error {
	if err == nil || a.Name == "" {
		return err
	}
	return fmt.Errorf("%s: %w", a.Name, err)
}

// batches collects contents, whose bytes it copies.
type batches struct {
	each func([]source.Content) error
	all  []source.Content
	slab []byte
}

func (b *batches) keep(p []byte) []byte {
	if cap(b.slab)-len(b.slab) < len(p) {
		b.slab = make([]byte, 0, max(len(p), batchBytes/4))
	}
	from := len(b.slab)
	b.slab = append(b.slab, p...)
	return b.slab[from:len(b.slab):len(b.slab)]
}

func (b *batches) hand() error {
	if len(b.all) == 0 {
		return nil
	}
	err := b.each(b.all)
	clear(b.all)
	if b.all, b.slab = b.all[:0], b.slab[:0]; cap(b.slab) > 2*batchBytes {
		b.slab = nil
	}
	return err
}

// add adds a value: whole, or handed over part by part.
func (b *batches) add(v *archive.Value) error {
	c := source.Content{DB: v.DB, Expires: v.Expires, Kind: v.Kind, RDB: v.RDB}
	if v.Form == archive.Dump {
		if len(b.all) == batchRecords || len(b.slab)+len(v.Payload) > batchBytes {
			if err := b.hand(); err != nil {
				return err
			}
		}
		c.Name, c.Payload = b.keep(v.Key), b.keep(v.Payload)
		b.all = append(b.all, c)
		return nil
	}
	if err := b.hand(); err != nil {
		return err
	}
	c.Name, c.RDB = v.Key, 0
	return v.Elements(func(elements [][]byte, more bool) error {
		c.Elements, c.More = elements, more
		err := b.each([]source.Content{c})
		c.Part++
		return err
	})
}

// ContentOf returns a record as a content, which shares its bytes.
func ContentOf(r *archive.Record) (source.Content, error) {
	c := source.Content{Name: r.Key, DB: r.DB, Expires: r.Expires, Kind: r.Kind, RDB: r.RDB, Part: r.Part, More: r.More}
	if r.Form == archive.Dump {
		if c.Payload = r.Payload; c.Payload == nil {
			c.Payload = []byte{}
		}
		return c, nil
	}
	elements, err := archive.Texts(r.Payload)
	c.Elements = append([][]byte{}, elements...)
	return c, err
}

// Selection returns what was asked for when the archive was made, if it is one archive.
func (a *Archive) Selection() []string { return a.chain.Newest().Meta.Selection }

// Declaration returns the digest of the declaration that the archive was made with, if it is
// one archive.
func (a *Archive) Declaration() string { return a.chain.Newest().Meta.Declaration }
