// Package compare says in which keys two archives differ: keys that one of them lacks,
// other values, other expiries. Values are compared whatever their encodings, and the
// order of what has none.
//
// Entries whose digests are equal are not read. Of the others it holds a hundred thousand
// keys at a time, and reads the blocks as often as that takes.
package compare

import (
	"cmp"
	"context"
	"hash/maphash"
	"slices"
	"strconv"

	"github.com/keywright/keywright/source/archive"
)

// What differs. A key may differ in its value and in its expiry.
type What uint8

// In the second archive a key is missing, is extra, has another value, another expiry.
const (
	Missing What = 1 << iota
	Extra
	Value
	TTL
)

// Difference is a key in which two archives differ. It is valid until the next one.
type Difference struct {
	What  What
	Entry string // "": no entry declares the key
	Key   []byte
	DB    int
}

// Counts are the keys of one entry, or of all.
type Counts struct {
	Same    int64 `json:"same"`
	Missing int64 `json:"missing"` // in the second archive
	Extra   int64 `json:"extra"`   // in the second archive
	Value   int64 `json:"value"`   // other values
	TTL     int64 `json:"ttl"`     // other expiries; a key may be in both
	Changed int64 `json:"changed"` // keys with another value or expiry
}

// Differs reports whether there is a difference.
func (c *Counts) Differs() bool { return c.Missing+c.Extra+c.Changed > 0 }

func (c *Counts) add(what What) {
	switch {
	case what == 0:
		c.Same++
	case what == Missing:
		c.Missing++
	case what == Extra:
		c.Extra++
	default:
		c.Changed++
		if what&Value != 0 {
			c.Value++
		}
		if what&TTL != 0 {
			c.TTL++
		}
	}
}

// Report says how many keys differ. The parts of an entry add up to its keys.
type Report struct {
	Counts
	Entries []Entry
}

// Entry is what was found of one entry, "" for keys that none declares.
type Entry struct {
	Name string
	Counts
}

// Options say which keys are compared.
type Options struct {
	Wants func(key []byte) bool // nil: all
}

// most is how many keys are held at a time.
const most = 100_000

// Archives compares two archives, and calls each with each key in which they differ.
func Archives(ctx context.Context, a, b *archive.Archive, o Options, each func(Difference) error) (Report, error) {
	c := &comparison{ctx: ctx, Options: o, each: each, seed: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, counts: map[string]*Counts{}}
	left, right := c.unequal(a, b)
	c.passes = uint64(max(keys(a, left), keys(b, right))/most) + 1
	for c.pass = range c.passes {
		if err := c.once(a, b, left, right); err != nil {
			return c.report(), err
		}
	}
	return c.report(), nil
}

type comparison struct {
	Options
	ctx          context.Context
	each         func(Difference) error
	seed         [2]maphash.Seed
	pass, passes uint64
	counts       map[string]*Counts
	names        []string
}

// of are the counts of an entry.
func (c *comparison) of(name string) *Counts {
	if c.counts[name] == nil {
		c.counts[name] = &Counts{}
		c.names = append(c.names, name)
	}
	return c.counts[name]
}

func (c *comparison) report() (r Report) {
	slices.SortFunc(c.names, func(a, b string) int { // what is not declared comes last
		return cmp.Or(cmp.Compare(strconv.FormatBool(a == ""), strconv.FormatBool(b == "")), cmp.Compare(a, b))
	})
	for _, name := range c.names {
		n := *c.counts[name]
		r.Entries = append(r.Entries, Entry{name, n})
		r.Same, r.Missing, r.Extra = r.Same+n.Same, r.Missing+n.Missing, r.Extra+n.Extra
		r.Value, r.TTL, r.Changed = r.Value+n.Value, r.TTL+n.TTL, r.Changed+n.Changed
	}
	return r
}

// unequal are the entries of each archive that must be read: not those that both have with
// the same digest.
func (c *comparison) unequal(a, b *archive.Archive) (left, right []int) {
	other := map[string]int{}
	for i, e := range b.Index.Entries {
		other[e.Name] = i
	}
	same := map[int]bool{}
	for i, e := range a.Index.Entries {
		j, there := other[e.Name]
		if there && c.Wants == nil && e.Digest == b.Index.Entries[j].Digest && e.Keys == b.Index.Entries[j].Keys {
			same[j] = true
			if e.Keys > 0 {
				c.of(e.Name).Same += e.Keys
			}
			continue
		}
		left = append(left, i)
	}
	for j := range b.Index.Entries {
		if !same[j] {
			right = append(right, j)
		}
	}
	return left, right
}

func keys(a *archive.Archive, entries []int) (n int64) {
	for _, i := range entries {
		n += a.Index.Entries[i].Keys
	}
	return n
}

// id tells keys apart.
type id struct {
	a, b uint64
	db   int
}

func (c *comparison) id(key []byte, db int) id {
	return id{maphash.Bytes(c.seed[0], key), maphash.Bytes(c.seed[1], key), db}
}

// known is what is held of a key of the first archive.
type known struct {
	value   Digest
	expires int64
	met     bool
}

// once compares the keys of one pass.
func (c *comparison) once(a, b *archive.Archive, left, right []int) error {
	held := map[id]known{}
	err := c.walk(a, left, func(name string, v *archive.Value) error {
		sum, err := Of(v)
		held[c.id(v.Key, v.DB)] = known{value: sum, expires: v.Expires}
		return err
	})
	if err != nil {
		return err
	}
	missing := len(held)
	err = c.walk(b, right, func(name string, v *archive.Value) error {
		k, there := held[c.id(v.Key, v.DB)]
		if !there {
			return c.found(Extra, name, v)
		}
		if k.met { // under two entries
			return nil
		}
		k.met = true
		held[c.id(v.Key, v.DB)] = k
		missing--
		sum, err := Of(v)
		if err != nil {
			return err
		}
		what := What(0)
		if sum != k.value {
			what |= Value
		}
		if v.Expires != k.expires {
			what |= TTL
		}
		return c.found(what, name, v)
	})
	if err != nil || missing == 0 {
		return err
	}
	return c.walk(a, left, func(name string, v *archive.Value) error {
		if held[c.id(v.Key, v.DB)].met {
			return nil
		}
		return c.found(Missing, name, v)
	})
}

func (c *comparison) found(what What, entry string, v *archive.Value) error {
	c.of(entry).add(what)
	if what == 0 || c.each == nil {
		return nil
	}
	return c.each(Difference{what, entry, v.Key, v.DB})
}

// walk calls each with the values of the pass.
func (c *comparison) walk(a *archive.Archive, entries []int, each func(name string, v *archive.Value) error) error {
	in := func(key []byte) bool {
		return maphash.Bytes(c.seed[0], key)%c.passes == c.pass && (c.Wants == nil || c.Wants(key))
	}
	for _, i := range entries {
		entry := i
		if i == len(a.Index.Entries)-1 {
			entry = archive.Undeclared
		}
		dbs := a.Databases(entry)
		for db := range dbs {
			for v, err := range a.Some(entry, db, in) {
				if err == nil {
					err = c.ctx.Err()
				}
				if err == nil {
					err = each(a.Index.Entries[i].Name, v)
				}
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}
