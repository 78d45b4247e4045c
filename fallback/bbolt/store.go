package bbolt

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright/fallback"
	bolt "go.etcd.io/bbolt"
)

// Store represents the second store of one kind of item. It is a fallback.Store.
type Store struct {
	file    *File
	name    []byte
	limits  fallback.Limits
	evicted atomic.Uint64
}

var _ fallback.Store = (*Store)(nil)

// Store returns the store of that name, made if it is not there: the same value each
// time, with the limits of the first. One file holds any number; each of them belongs
// to one fallback.Guard at a time.
func (f *File) Store(name string, l fallback.Limits) (*Store, error) {
	if name == "" || name == string(index) {
		return nil, fmt.Errorf("second store %s: a store cannot be called %q", f.path, name)
	}
	s := &Store{file: f, name: []byte(name), limits: l.WithDefaults()}
	err := f.update(func(tx *bolt.Tx) error {
		if tx.Bucket(s.name) != nil {
			return nil
		}
		return s.make(tx)
	})
	if err != nil {
		return nil, f.fault(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stores == nil {
		f.stores = map[string]*Store{}
	}
	if open, known := f.stores[name]; known {
		s = open
	}
	f.stores[name] = s
	return s, nil
}

// make makes the buckets of a store, and adds its name to the index.
func (s *Store) make(tx *bolt.Tx) error {
	top, err := tx.CreateBucket(s.name)
	if err != nil {
		return err
	}
	for _, name := range parts {
		if _, err := top.CreateBucket(name); err != nil {
			return err
		}
	}
	b := tx.Bucket(index)
	list, whole := readNames(b.Get(names))
	if !whole {
		return fallback.ErrDamaged
	}
	return b.Put(names, namesBytes(append(list, string(s.name))))
}

// The buckets of a store.
var (
	copies    = []byte("copies")    // "i" and id: 8 bytes place in order, 0 while writes wait, then the record
	order     = []byte("order")     // place: id. Those that go first in front
	log       = []byte("log")       // number: entry
	items     = []byte("items")     // length of id, id, number: nothing
	conflicts = []byte("conflicts") // number: conflict
	meta      = []byte("meta")      // "counts": totals

	parts = [][]byte{copies, order, log, items, conflicts, meta}
)

// view and update run f in a transaction; batch shares it with others.
func (s *Store) view(f func(*tx) error) error {
	return s.file.fault(s.file.view(func(t *bolt.Tx) error { return s.in(t, f) }))
}

func (s *Store) update(f func(*tx) error) error {
	return s.file.fault(s.file.update(func(t *bolt.Tx) error { return s.in(t, f) }))
}

func (s *Store) batch(f func(*tx) error) error {
	return s.file.fault(s.file.batch(func(t *bolt.Tx) error { return s.in(t, f) }))
}

// tx represents a transaction on one store.
type tx struct {
	s                                    *Store
	copies, order, log, items, conflicts part
	totals
	evicted uint64
}

func (s *Store) in(t *bolt.Tx, f func(*tx) error) error {
	b := t.Bucket(s.name)
	x := &tx{s: s}
	for i, p := range []*part{&x.copies, &x.order, &x.log, &x.items, &x.conflicts} {
		*p = part{b.Bucket(parts[i]), i, &x.totals}
	}
	saved := b.Bucket(meta)
	if err := x.totals.read(saved.Get(totalKey)); err != nil {
		return fmt.Errorf("%w: %w", fallback.ErrDamaged, err)
	}
	before := x.totals
	if err := f(x); err != nil {
		return err
	}
	if x.evicted > 0 {
		t.OnCommit(func() { s.evicted.Add(x.evicted) })
	}
	if x.orders, x.writes = x.order.Sequence(), x.log.Sequence(); x.totals == before {
		return nil
	}
	return saved.Put(totalKey, x.totals.bytes())
}

func sequenceKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func copyKey(id string) []byte { return append([]byte("i"), id...) }

// itemKey returns before the number of an entry of an item; no id's begins another's.
func itemKey(id string) []byte { return append(binary.AppendUvarint(nil, uint64(len(id))), id...) }

func (x *tx) get(id string) (r fallback.Record, known bool, err error) {
	data := x.copies.Get(copyKey(id))
	if data == nil {
		return r, false, nil
	}
	if len(data) < 8 {
		return r, false, fallback.ErrDamaged
	}
	return r, true, r.UnmarshalBinary(data[8:])
}

// set stores a record after all others in order.
func (x *tx) set(id string, r fallback.Record) error {
	if err := x.remove(id); err != nil {
		return err
	}
	data, err := r.MarshalBinary()
	if err != nil {
		return err
	}
	place := uint64(0)
	if r.Pending == 0 {
		if place, err = x.order.NextSequence(); err != nil {
			return err
		}
		if err := x.order.Put(sequenceKey(place), []byte(id)); err != nil {
			return err
		}
	}
	x.totals.copies++
	x.copyBytes += r.Size(id)
	return x.copies.Put(copyKey(id), append(sequenceKey(place), data...))
}

func (x *tx) remove(id string) error {
	r, known, err := x.get(id)
	if err != nil || !known {
		return err
	}
	place := x.copies.Get(copyKey(id))[:8]
	x.totals.copies--
	x.copyBytes -= r.Size(id)
	return errors.Join(x.order.Delete(place), x.copies.Delete(copyKey(id)))
}

// shrink lets the oldest copies go until the rest is within the limits.
func (x *tx) shrink() error {
	for x.totals.copies > int64(x.s.limits.Entries) || x.copyBytes > x.s.limits.Bytes {
		_, id := x.order.Cursor().First()
		if id == nil {
			return nil
		}
		if err := x.remove(string(id)); err != nil {
			return err
		}
		x.evicted++
	}
	return nil
}

// Get implements fallback.Store: one read of the file, in memory as a rule.
func (s *Store) Get(_ context.Context, id string) (r fallback.Record, known bool, err error) {
	err = s.view(func(x *tx) (err error) {
		r, known, err = x.get(id)
		return err
	})
	return r, known, err
}

// Put implements fallback.Store: one transaction, one wait for the disk.
func (s *Store) Put(_ context.Context, copies ...fallback.Copy) error {
	return s.update(func(x *tx) error {
		for _, c := range copies {
			old, known, err := x.get(c.ID)
			if err == nil && c.Replaces(old, known) {
				err = x.set(c.ID, c.Record)
			}
			if err != nil {
				return err
			}
		}
		return x.shrink()
	})
}

// Forget implements fallback.Store: one transaction.
func (s *Store) Forget(_ context.Context, id string) error {
	return s.update(func(x *tx) error {
		if r, _, err := x.get(id); err != nil || r.Pending > 0 {
			return err
		}
		return x.remove(id)
	})
}

// Append implements fallback.Store: one transaction, which calls that come together
// share.
func (s *Store) Append(_ context.Context, id string,
	decide func(fallback.Record, bool) (fallback.Entry, fallback.Record, error)) (e fallback.Entry, err error) {
	var no error
	var thrown any
	err = s.batch(func(x *tx) error {
		var r fallback.Record
		now, known, err := x.get(id)
		if no = nil; err != nil {
			return err
		}
		if e, r, thrown, no = ask(decide, now, known); no != nil {
			return nil // nothing was changed; others that share the transaction go on
		}
		if x.pending >= int64(s.limits.LogEntries) || x.pendingBytes+e.Size() > s.limits.LogBytes {
			no = fallback.ErrFull
			return nil
		}
		if e.Seq, err = x.log.NextSequence(); err != nil {
			return err
		}
		return errors.Join(x.add(e), x.set(id, r), x.shrink())
	})
	if thrown != nil {
		panic(thrown)
	}
	if err = cmp.Or(no, err); err != nil {
		return fallback.Entry{}, err
	}
	return e, nil
}

type decision = func(fallback.Record, bool) (fallback.Entry, fallback.Record, error)

var errThrown = errors.New("the caller's function has panicked")

// ask calls what the caller has given. Its panic is the caller's: it says nothing
// about the file, and others share the transaction.
func ask(decide decision, now fallback.Record, known bool) (e fallback.Entry, r fallback.Record, thrown any,
	err error) {
	defer func() {
		if thrown = recover(); thrown != nil {
			err = errThrown
		}
	}()
	e, r, err = decide(now, known)
	return e, r, nil, err
}

func (x *tx) add(e fallback.Entry) error {
	data, err := e.MarshalBinary()
	if err != nil {
		return err
	}
	x.pending++
	x.pendingBytes += e.Size()
	return errors.Join(x.log.Put(sequenceKey(e.Seq), data),
		x.items.Put(append(itemKey(e.ID), sequenceKey(e.Seq)...), []byte{}))
}

// take removes an entry; known is false if it is not there.
func (x *tx) take(seq []byte) (e fallback.Entry, known bool, err error) {
	data := x.log.Get(seq)
	if data == nil {
		return e, false, nil
	}
	if err := e.UnmarshalBinary(data); err != nil {
		return e, false, fmt.Errorf("entry %d of the log: %w", binary.BigEndian.Uint64(seq), err)
	}
	x.pending--
	x.pendingBytes -= e.Size()
	return e, true, errors.Join(x.log.Delete(seq), x.items.Delete(append(itemKey(e.ID), seq...)))
}

// Next implements fallback.Store.
func (s *Store) Next(_ context.Context, after uint64, n int) (out []fallback.Entry, err error) {
	err = s.view(func(x *tx) error {
		c := x.log.Cursor()
		for k, data := c.Seek(sequenceKey(after + 1)); k != nil && len(out) < n; k, data = c.Next() {
			var e fallback.Entry
			if err := e.UnmarshalBinary(data); err != nil {
				return fmt.Errorf("entry %d of the log: %w", binary.BigEndian.Uint64(k), err)
			}
			out = append(out, e)
		}
		return nil
	})
	return out, err
}

// Done implements fallback.Store: one transaction.
func (s *Store) Done(_ context.Context, e fallback.Entry, version int64, at time.Time) error {
	return s.batch(func(x *tx) error {
		if _, known, err := x.take(sequenceKey(e.Seq)); err != nil || !known {
			return err
		}
		r, _, err := x.get(e.ID)
		if err != nil {
			return err
		}
		return x.set(e.ID, r.Applied(version, at))
	})
}
