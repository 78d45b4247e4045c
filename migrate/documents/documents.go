// Package documents is what a migration must know of its files: which records they have, how they are written, and
// which parts and moves there are. It reads no file; package migrate makes Documents of a declaration, and a program
// whose files no declaration can describe makes its own.
//
// API: may change until 1.0.
package documents

import (
	"context"
	"io"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// Documents holds the files of a migration as records. A Migration with a record.Map makes them of the declaration.
type Documents interface {
	// Parts are the parts in their order, each with its moves.
	Parts() []PartOf
	// File is the file that has a record, or would get it, below the folder of the sources.
	File(ctx context.Context, id record.ID) (string, error)
	// Files calls each for every file that there is of a part, in no order.
	Files(ctx context.Context, root, part string, each func(file string) error) error
	// Read calls each for every record of a file, those of one list in their order. reject is called
	// for what cannot be a record; where it is nil that is left out. What of the file the moves of all parts read is
	// added to cover; nil: it is not asked for.
	Read(in io.Reader, file string, cover record.Coverages, each func(*record.Record) error,
		reject func(*record.Reject) error) error
	// Back calls each for every record of a file, and asks of what it gives (what Redis would have)
	// whether it makes the bytes that are there, in the place that it is from. fault is called where
	// it does not.
	Back(ctx context.Context, in io.Reader, file string, cover record.Coverages,
		each func(*record.Record) (*record.Record, error), fault func(*record.Record, error) error,
		reject func(*record.Reject) error) error
	// Rewrite copies a file with the edits done, and says whether anything is another than before. refused is
	// called for those that cannot be written; where it is nil the first is the error.
	Rewrite(ctx context.Context, out io.Writer, in io.Reader, file string, edits []record.Edit,
		refused func(*record.Reject) error) (changed bool, err error)
	// Holds is nil if a file that was written can be read, and gives back what the edits say, but for those refused.
	Holds(in io.Reader, file string, edits []record.Edit, refused func(record.ID) bool) error
	// Fits is nil if a file can have a record, as far as the record says it.
	Fits(r *record.Record) error
}

// PartOf represents a part with what the engine must know of its moves.
type PartOf struct {
	Name  string
	Moves []MoveOf
	Gates phase.Limits // of its phases
	// Form is a digest of what decides which records the part has; "": it is not known.
	Form string
	// Rules is a digest of what decides whether both sides of the part are equal, and Reads of what the moves of all
	// parts read: what was found with another one holds no longer.
	Rules, Reads string
}

// MoveOf describes what the engine must know of a move.
type MoveOf struct {
	Name  string
	Move  *record.Move        // as it is declared; nil: it is not
	Kind  keyspace.RecordKind // of its records
	TTL   keyspace.TTL        // of its entry
	Match string              // of the keys of its entry, for SCAN
	// Example is a key of its entry, by which rights are tried; "": they are not.
	Example string
	// Of is the ID of a record by its key; ok is false for a key that is not of the entry.
	Of func(key, sub string) (id record.ID, ok bool)
	// Same compares two records of one ID, as of now. Either may be nil.
	Same func(a, b *record.Record) []record.Difference

	// Sealed encrypts what Redis gets of its records; nil: nothing of them is encrypted.
	Sealed Sealer
}

// Sealer encrypts values of the records of a move. Files have them as plain text.
type Sealer interface {
	// Seal makes what Redis gets of the values of a record, in place.
	Seal(c *keywright.Client, id record.ID, values []string) error
	// Open makes the values of a record of what Redis has, in place.
	Open(c *keywright.Client, id record.ID, values []string) error
}
