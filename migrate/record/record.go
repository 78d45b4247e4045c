// Package record is the pure half of a migration: what a JSON document says as
// records of keys, and records as JSON again.
//
//   - Compile prepares a declared migration; its Sources and Moves are the rest.
//   - Source.Read reads a document as a stream: it holds the record in hand, the
//     stack of names above it and a bounded table of the names of large objects,
//     whatever the size of the document. What is no JSON, and what two readers
//     would read in two ways, is an *Error with line and column.
//   - Move.Record makes a Record (key, value, when it ends) of one match. What
//     cannot be one is a *Reject that says why.
//   - Source.Rewrite writes a document with records changed, added and taken out.
//     Every byte that no change touches is kept.
//   - Move.Compare says how two records of one identity differ.
//
// It knows no server, no client and no clock, opens no file and starts no
// goroutine. Who writes when, and which side decides, is package migrate's.
//
// API: may change until 1.0.
package record

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate/record/cover"
	"github.com/keywright/keywright/migrate/record/fault"
	"github.com/keywright/keywright/migrate/record/internal/datum"
	"github.com/keywright/keywright/migrate/record/internal/equal"
	"github.com/keywright/keywright/migrate/record/internal/jsontext"
	"github.com/keywright/keywright/migrate/record/internal/twice"
)

// Map represents a migration that is ready to read and write documents. It is immutable
// and safe for concurrent use.
type Map struct {
	Migration *keyspace.Migration
	Sources   []*Source
	Moves     []*Move // of all parts, in their order
}

// Source reads and writes the documents of one declared source.
type Source struct {
	*keyspace.Source
	Moves []*Move // those that take from it, in the order of the declaration

	root   *node          // of the paths of the moves
	covers *cover.Covered // what they read
	before []*Source      // those that are declared before it: a file that matches two is the first one's
}

// Move makes the records of one declared move.
type Move struct {
	*keyspace.Move
	Part   *keyspace.Part
	Source *Source

	with   []datum.Slot // the placeholders of the key
	field  *datum.Slot
	member *datum.Slot
	score  *datum.Slot
	value  *datum.Slot
	tries  *datum.Slot
	fields []datum.Slot
	path   *node
	rules  []keyspace.CompareRule
}

// Position describes where something is in a document.
type Position = fault.Position

// Error represents a document that cannot be read, with the place.
type Error = fault.Error

// What can be wrong with a document; errors.Is tells them apart.
var (
	ErrSyntax    = fault.ErrSyntax
	ErrDuplicate = fault.ErrDuplicate
	ErrUTF8      = fault.ErrUTF8
	ErrNumber    = fault.ErrNumber
	ErrDepth     = fault.ErrDepth
	ErrTooLarge  = fault.ErrTooLarge
	ErrPlace     = fault.ErrPlace
)

// Coverage describes what of the documents of a source the moves of a migration read, and what they do not.
// Read adds to it: see Options.
type Coverage = cover.Coverage

// Coverages holds the coverage of sources, by name. A nil one takes nothing.
type Coverages = cover.Coverages

// Amount counts values of documents.
type Amount = cover.Amount

// Reject represents a match that cannot become a record, or a record that no file can have.
type Reject struct {
	Move   *Move
	At     Position
	Path   string // of the match
	Reason string // without values of the document

	Key    string // of a record of Redis
	Sub    string // its field or member
	Digest string // of its value
	NoFile bool   // whatever its value: its key makes no name of a file
	Err    error  // of a record of Redis that cannot be read: why

	id    ID
	known bool // id is the whole of it
}

// Of says which record could not be made. Where whole is false that is not known, but for its
// move, and for its key where there is one.
func (e *Reject) Of() (id ID, whole bool) {
	if e.id.Move == "" && e.Move != nil {
		return ID{Move: e.Move.Name}, false
	}
	return e.id, e.known
}

// Error returns file:line:column: reason, or the key and the digest of its value.
func (e *Reject) Error() string {
	if e.Key != "" && e.At.File == "" {
		what := strconv.Quote(e.Key)
		if e.Sub != "" {
			what += " " + strconv.Quote(e.Sub)
		}
		if e.Digest != "" {
			what += " (value " + e.Digest + ")"
		}
		if e.Err == nil {
			what += " cannot be in a file"
		}
		return fmt.Sprintf("%s: the record %s: %s", e.Move.Name, what, e.Reason)
	}
	return fmt.Sprintf("%s:%d:%d: %s: %s", e.At.File, e.At.Line, e.At.Column, e.Move.Name, e.Reason)
}

// Unwrap gives why a record of Redis cannot be read, nil of another.
func (e *Reject) Unwrap() error { return e.Err }

// Options holds the bounds of reading. The zero value has the defaults.
type Options struct {
	MaxDepth  int   // of nesting; 512
	MaxRecord int64 // bytes of one match; 8 MiB
	MaxName   int   // bytes of a member's name; 64 KiB

	// MaxNames bounds the names of open objects that are held to find members that
	// are there twice; 262144. Beyond it they are written to Spill, sorted, and
	// compared when the object ends. Without a Spill an object with more members is
	// refused with ErrNames.
	MaxNames int
	Spill    func() (Spill, error)

	// Refused is called by Rewrite for an edit that cannot be written, and the others are. Where it is nil, or
	// returns an error, the rewrite ends.
	Refused func(*Reject) error

	// Coverage is added to by Read: what the moves read, and what they do not; nil: it is not asked for.
	Coverage *Coverage
}

func (o Options) filled() Options {
	o.MaxDepth = cmp.Or(max(0, o.MaxDepth), 512)
	o.MaxRecord = cmp.Or(max(0, o.MaxRecord), 8<<20)
	o.MaxName = cmp.Or(max(0, o.MaxName), 64<<10)
	o.MaxNames = cmp.Or(max(0, o.MaxNames), 1<<18)
	return o
}

// Spill is room for hashed names outside of memory, as an *os.File is.
type Spill = interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// ErrNames reports an object with too many members to tell whether one is there twice.
var ErrNames = twice.ErrNames

// Match represents one place that a path names, with what is there. It is only valid
// until the function that was given it returns; a Record made of it is not bound
// to it.
type Match struct {
	Source *Source
	Moves  []*Move  // whose path it is, in the order of the declaration
	Place  int64    // in the array that holds it; -1 in an object
	At     Position // where the value begins
	Raw    []byte   // the value as it is written; nil where the moves take only captures

	file    Captures
	names   []string // what each capture of the path has captured, in its order
	path    *node
	members []jsontext.Named // those of an object, when they were asked for: split
	split   bool
	walk    *walker
}

// Stats counts what a document had.
type Stats struct {
	Bytes   int64
	Lines   int64
	Matches int64
}

// ID says which record: it is the same for the document and for Redis. What is
// marked, versioned and locked is an ID. Lists, streams and queues are one ID
// each.
type ID struct {
	Move string // its name
	Key  string // the Redis key
	Sub  string // of a hash its field, of a set or zset its member
}

// Record represents one record, of either side.
type Record struct {
	Move   *Move
	Key    string  // the Redis key
	Sub    string  // FieldRecord: the field; MemberRecord, ScoredRecord: the member
	Value  []byte  // StringRecord, FieldRecord, ElementRecord, JobRecord: what is stored
	Score  string  // ScoredRecord: a decimal number
	Fields []Field // HashRecord, ItemRecord, EntryRecord: what is stored, in the order of the entry
	Tries  int64   // JobRecord: how often it has been tried
	Place  int64   // ElementRecord, EntryRecord, JobRecord: from 0

	Ends time.Time // when it ends, as the document says; zero: as the entry's TTL says, from the write
	// Stored is true for a record that is as Redis has it: without Ends it does not end.
	Stored bool
	At     Position // in the document; zero for a record of Redis
}

// Field represents one field of a hash, an item or an entry of a stream.
type Field struct{ Name, Value string }

// Edit represents one change of a document: the record is as given, or is not there.
// Elements of a list, a stream or a queue are not edited one by one: the edits of
// one key replace all of them, in the order of Place.
type Edit struct {
	Record *Record
	Delete bool
}

// Rewritten counts what a rewrite did.
type Rewritten struct {
	Stats
	Changed, Added, Deleted, Same int64
}

// DiffKind describes how two records differ in one place.
type DiffKind string

// The kinds of differences.
const (
	DiffMissing DiffKind = equal.Missing // the first has it, the second has not
	DiffExtra   DiffKind = equal.Extra   // the second has it, the first has not
	DiffType    DiffKind = equal.Type    // a number and a text, null and an object
	DiffValue   DiffKind = equal.Value
	DiffScore   DiffKind = "score"
	DiffOrder   DiffKind = equal.Order // the same elements in another order
	DiffEnd     DiffKind = "end"       // they end at different times
	DiffMore    DiffKind = "more"      // there are more differences than are listed
)

// Difference represents one place in which two records of an ID differ. It holds no
// value.
type Difference struct {
	ID   ID
	Path string // inside the record, as in .article.title; "" for the record itself
	Kind DiffKind
}
