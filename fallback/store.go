package fallback

import (
	"context"
	"errors"
	"time"
)

// ErrFull reports a write that the log has no room for. Nothing of it was stored.
var ErrFull = errors.New("the log of writes that wait for the server is full")

// ErrClosed reports a store that was closed.
var ErrClosed = errors.New("the second store is closed")

// Fields represents an item as text by field, the way a hash holds it. What is declared
// encrypted is sealed in it too.
type Fields = map[string]string

// Record describes what the second store knows of one item: the last copy, with the
// writes that wait in the log applied to it.
type Record struct {
	Fields Fields
	// in the target, as far as known: writes that wait have not changed it. 0: the item was not there; with Gone and no
	// Pending: the last that is known to have gone
	Version int64
	Expires time.Time // zero: never
	AsOf    time.Time // when the target's answer came that this copy is from, or the last write was accepted
	Gone    bool      // the item is not there: deleted, or missed by a read
	Pending int       // writes in the log
}

// Alive reports whether there is an item to give at a time.
func (r Record) Alive(now time.Time) bool {
	return !r.Gone && (r.Expires.IsZero() || now.Before(r.Expires))
}

// Shown returns the version that a reader gets: what the target's will be when every
// write that waits has been applied, unless the item is new.
func (r Record) Shown() int64 { return r.Version + int64(r.Pending) }

// Copy represents an item as the target gave it.
type Copy struct {
	ID string
	Record
	Began time.Time // when the target was asked
}

// Replaces reports whether a copy may take the place of a record. Never while
// writes wait; else of answers that do not overlap the later one, and of others the
// higher version. That an item is gone that was never there is worth no place.
func (c Copy) Replaces(old Record, known bool) bool {
	switch {
	case !known:
		return !c.Gone || c.Version > 0
	case old.Pending > 0:
		return false
	case c.Began.After(old.AsOf):
		return true
	case c.Gone:
		return c.Version > 0 && c.Version >= old.Version
	case old.Gone:
		return c.Version > old.Version
	}
	return c.Version > old.Version || c.Version == old.Version && !c.AsOf.Before(old.AsOf)
}

// Applied returns a record after the first of its writes that wait: the target is at
// version now, 0 if the item is not there.
func (r Record) Applied(version int64, now time.Time) Record {
	was := r.Version
	r.Version = version
	if r.Pending--; r.Pending > 0 {
		return r
	}
	if r.AsOf = now; r.Gone || version == 0 {
		return Record{Gone: true, Version: max(was, version), AsOf: now, Expires: now.Add(remembered)}
	}
	return r
}

// remembered says how long a record says that an item is gone, as far as there is
// room: longer than any read takes that began before.
const remembered = 10 * time.Minute

// Entry represents a write in the log.
type Entry struct {
	Seq uint64 // given by the store, growing
	ID  string
	Change
	Base      int64     // the version that the first of the item's writes is based on, plus how many are before this one
	Deadline  time.Time // of the item after this write; zero: none
	At        time.Time // when it was accepted
	Ambiguous bool      // it was sent before and its reply was lost: it may have been applied
}

// Conflict represents a write that lost against newer data. It has no value.
type Conflict struct {
	Seq       uint64
	ID        string
	Kind      Kind
	Fields    []string  // names of those it would have written
	At        time.Time // when it was accepted
	Base      int64     // the version it was based on
	Ambiguous bool      // it may have been applied, before the newer data was written
	Found     int64     // the version that is there; 0: nothing
	FoundAt   time.Time // when that was seen
}

// Limits bound a store. 0 means the default.
type Limits struct {
	Entries    int   // copies; 100,000. The oldest go first, those with writes in the log never
	Bytes      int64 // of copies; 64 MiB
	LogEntries int   // 10,000. Beyond: ErrFull
	LogBytes   int64 // 16 MiB. Beyond: ErrFull
	Conflicts  int   // 1,000. The oldest go first
}

// WithDefaults returns the limits with defaults for what is 0.
func (l Limits) WithDefaults() Limits {
	setDefault(&l.Entries, 100_000)
	setDefault(&l.Bytes, 64<<20)
	setDefault(&l.LogEntries, 10_000)
	setDefault(&l.LogBytes, 16<<20)
	setDefault(&l.Conflicts, 1000)
	return l
}

func setDefault[T int | int64](v *T, standard T) {
	if *v == 0 {
		*v = standard
	}
}

// Stats describes how much a store holds.
type Stats struct {
	Copies       int
	CopyBytes    int64
	Pending      int // writes in the log
	PendingBytes int64
	Oldest       time.Time // when the oldest of them was accepted; zero: none
	Conflicts    int
	Evicted      uint64 // copies that had to go since the store was opened
}

// Store represents a second store. It is used by one process at a time, and safe for
// concurrent use in it. What a method has confirmed survives whatever the store
// says it survives; what it has refused has left nothing. Package storetest
// shows an implementation to be right.
type Store interface {
	// Get is what is known of an item; known is false if that is nothing.
	Get(ctx context.Context, id string) (r Record, known bool, err error)
	// Put stores the copies that may replace what is there (Copy.Replaces), and
	// makes room for them by the limits.
	Put(ctx context.Context, copies ...Copy) error
	// Forget removes what is known of an item, unless writes of it are in the log.
	Forget(ctx context.Context, id string) error

	// Append asks what is to be written, knowing the record, and stores the entry
	// under the next number and the record, both or neither: an error of decide is
	// given as it is. decide may be called more than once, and must not use the
	// store. ErrFull if the log has no room.
	Append(ctx context.Context, id string, decide func(now Record, known bool) (Entry, Record, error)) (Entry, error)
	// Next is up to n entries with numbers above after, in order.
	Next(ctx context.Context, after uint64, n int) ([]Entry, error)
	// Done removes an entry that was applied, and makes the record
	// Record.Applied(version, at), both or neither. An entry that is not there is
	// no error.
	Done(ctx context.Context, e Entry, version int64, at time.Time) error
	// Reject removes all entries of an item, makes each of them a conflict against
	// what was found, and found the record; all or nothing. It gives the conflicts.
	Reject(ctx context.Context, id string, found Record) ([]Conflict, error)

	// Conflicts are those that are kept, oldest first.
	Conflicts(ctx context.Context) ([]Conflict, error)
	// Settled removes conflicts up to a number.
	Settled(ctx context.Context, seq uint64) error
	// Stats is how much there is.
	Stats(ctx context.Context) (Stats, error)
}

// Against returns the conflict of an entry with what was found.
func (e Entry) Against(found Record) Conflict {
	c := Conflict{Seq: e.Seq, ID: e.ID, Kind: e.Kind, At: e.At, Base: e.Base, Ambiguous: e.Ambiguous, Found: found.Version,
		FoundAt: found.AsOf}
	for name := range e.Fields {
		c.Fields = append(c.Fields, name)
	}
	c.Fields = append(c.Fields, e.Drop...)
	return c
}
