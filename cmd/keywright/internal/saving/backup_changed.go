package saving

import (
	"errors"
	"fmt"

	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/compare"
)

// Marks of keys that earlier archives have.
const (
	markThere = iota // and that have not been met on the server
	markGone         // as deleted: that was stored
	markMet
)

// since describes what a backup of what has changed knows of the archives before it.
type since struct {
	before *sources.Chained
	table  *archivefile.Table
	facts  compare.Facts
	equal  int64 // keys that have not changed

	deleted int64 // keys that are not there any more

	folder string              // of what waits
	waits  map[string]*waiting // values in parts of which it is not known yet, by database and name
	spare  []*archivefile.Spool
}

// remember holds what the archives say of keys.
func (s *since) remember(batch []source.Content) error {
	for i := range batch {
		c := &batch[i]
		fact, done, err := s.facts.Take(c, fmt.Sprintf("%d %s", c.DB, c.Name))
		if err == nil && done {
			err = s.table.Put(c.DB, c.Name, archivefile.Slot{Digest: fact.Sum(), Expires: c.Expires, Mark: markThere})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// waiting represents a value in parts that earlier archives may have as it is.
type waiting struct {
	parts *archivefile.Spool
	first archive.Record // without its payload
	known archivefile.Slot
}

// maxWaiting bounds the values in parts that wait at a time; there are as many as shards.
const maxWaiting = 64

// changed gives what must be stored of what was read of a key to store: all that is not what
// the archives before have. Of a value in parts this is only known with its last part: what
// comes before is spooled.
func (s *since) changed(c *source.Content, store func(*archive.Record) error, entry int) error {
	r := archive.Of(c, entry)
	if c.Part == 0 && !c.More {
		return s.small(c, &r, store)
	}
	id := fmt.Sprintf("%d %s", c.DB, c.Name)
	if c.Part == 0 {
		return s.begin(c, id, &r, store)
	}
	w := s.waits[id]
	if w == nil { // its first part was stored
		return store(&r)
	}
	fact, done, err := s.facts.Take(c, id)
	if !done {
		return w.parts.Add(r.Payload)
	}
	defer s.forget(id)
	if err == nil && s.same(&fact, w.known) {
		return s.met(c, w.known)
	}
	if err := w.store(store); err != nil {
		return err
	}
	return errors.Join(store(&r), s.met(c, w.known))
}

// small is changed for a value that comes at once.
func (s *since) small(c *source.Content, r *archive.Record, store func(*archive.Record) error) error {
	known, there, err := s.table.Get(c.DB, c.Name)
	if err != nil {
		return err
	}
	if !there { // it is new; should SCAN give it twice it is stored twice
		return store(r)
	}
	fact, _, err := s.facts.Take(c, "")
	if err != nil || !s.same(&fact, known) {
		if err := store(r); err != nil {
			return err
		}
	}
	return s.met(c, known)
}

// begin is changed for the first part of a value.
func (s *since) begin(c *source.Content, id string, r *archive.Record, store func(*archive.Record) error) error {
	if s.waits[id] != nil {
		s.forget(id) // it was written to while it was read, and comes again
	}
	known, there, err := s.table.Get(c.DB, c.Name)
	if err != nil {
		return err
	}
	if !there || len(s.waits) == maxWaiting {
		if there {
			err = s.met(c, known)
		}
		return errors.Join(err, store(r))
	}
	w, err := s.wait(id, known)
	if err != nil {
		return err
	}
	w.first = *r
	w.first.Key, w.first.Payload = append([]byte(nil), r.Key...), nil
	if _, _, err := s.facts.Take(c, id); err != nil {
		return err
	}
	return w.parts.Add(r.Payload)
}

// same reports whether a value is that which the archives before have, and counts it.
func (s *since) same(f *compare.Fact, known archivefile.Slot) bool {
	if f.Torn || f.Sum() != known.Digest || f.Expires != known.Expires {
		return false
	}
	if known.Mark != markMet {
		s.equal++
	}
	return true
}

// met notes that a key of the archives before is there.
func (s *since) met(c *source.Content, known archivefile.Slot) error {
	known.Mark = markMet
	return s.table.Put(c.DB, c.Name, known)
}

// wait begins a value.
func (s *since) wait(id string, known archivefile.Slot) (w *waiting, err error) {
	w = &waiting{known: known}
	if n := len(s.spare); n > 0 {
		w.parts, s.spare = s.spare[n-1], s.spare[:n-1]
	} else if w.parts, err = archivefile.NewSpool(s.folder); err != nil {
		return nil, err
	}
	s.waits[id] = w
	return w, nil
}

// forget ends a value.
func (s *since) forget(id string) {
	w := s.waits[id]
	delete(s.waits, id)
	if w.parts.Reset() != nil {
		_ = w.parts.Close()
		return
	}
	s.spare = append(s.spare, w.parts)
}

// store stores the parts before the last.
func (w *waiting) store(store func(*archive.Record) error) error {
	r := w.first
	r.Part, r.More = 0, true
	return w.parts.Each(func(payload []byte) error {
		r.Payload = payload
		err := store(&r)
		r.Part++
		return err
	})
}

func (s *since) Close() {
	s.before.Close()
	for id := range s.waits {
		s.forget(id)
	}
	for _, spool := range s.spare {
		_ = spool.Close()
	}
	if s.table != nil {
		_ = s.table.Close()
	}
}
