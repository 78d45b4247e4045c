// Package step is what the steps of a migration take and report: the plan, the import, the comparisons that reads
// cause, the verification and the export. It does none of them: the methods of migrate.Migration do.
//
// API: may change until 1.0.
package step

import (
	"maps"
	"slices"
	"time"

	"github.com/keywright/keywright/migrate/record"
)

// ImportReport describes what an import did.
type ImportReport struct {
	Part     string
	Files    int64            // that were read
	Records  int64            // of the files
	Written  int64            // to Redis
	Same     int64            // were in Redis already
	Newer    int64            // were written by a process meanwhile
	Over     int64            // their time is over
	Rejects  []*record.Reject // at most 100
	Rejected int64            // matches of the files that cannot be records, and records whose key has another type
	Faults   []error          // files that are damaged, each a *record.Error; at most 100
	Faulty   int64            // how many of them there are
}

// Coverage describes what of the sources of a part the moves of all parts read. What they do not read, and the
// declaration does not ignore, stays in the files, and is lost with them.
type Coverage struct {
	Sources record.Coverages // by name
	// Unmet are moves of the part whose path met nothing, in sources that have something.
	Unmet []string
}

// Unread counts the values that no move reads, and the places where a path meets another shape than its own.
type Unread struct {
	Values    int64 `json:"values"`    // that no move reads, and the declaration does not ignore
	Bytes     int64 `json:"bytes"`     // of these values
	Misshapen int64 `json:"misshapen"` // places of another shape
}

// Covered reports whether every value is read or ignored.
func (c *Coverage) Covered() bool { return *UnreadOf(c) == Unread{} }

// UnreadOf returns what of the sources no move reads.
func UnreadOf(c *Coverage) *Unread {
	out := &Unread{}
	for _, s := range c.Sources {
		out.Values, out.Bytes = out.Values+s.Unread.Values, out.Bytes+s.Unread.Bytes
		out.Misshapen += s.Misshapen
	}
	return out
}

// Names returns the names of the sources, sorted.
func (c *Coverage) Names() []string { return slices.Sorted(maps.Keys(c.Sources)) }

// ImportOptions bound an import.
type ImportOptions struct {
	PerSecond int                // records; 0: as fast as it goes
	Batch     int                // records in one round trip; 0: 500
	Progress  func(ImportReport) // called after each batch; nil: it is not asked for
}

// PlanReport describes what an import would do, from the files alone.
type PlanReport struct {
	Part      string
	Files     int64            // of the part
	Records   int64            // of the files
	Bytes     int64            // of the files
	Over      int64            // of the records, those whose time is over: an import does not write them
	Moves     []MoveCount      // in the order of the declaration: what can be moved
	Rejects   []*record.Reject // at most 100
	Rejected  int64            // matches of the files that cannot be records
	Faults    []error          // files that cannot be read, or do not come back as they were; at most 100
	Faulty    int64            // how many of them there are
	RoundTrip bool             // every record comes back from its stored form, and every file byte by byte
	Coverage
}

// MoveCount represents the records of a move.
type MoveCount struct {
	Move    string
	Records int64
	Bytes   int64 // of keys and values as they are stored
}

// ShadowConfig bounds the comparisons that reads cause. The zero value is a good choice.
type ShadowConfig struct {
	Off      bool          // nothing is compared
	Workers  int           // that compare at a time; 0: 2
	Queue    int           // records that wait to be compared; more are dropped and counted; 0: 256
	Deadline time.Duration // of one comparison; 0: 2 s
	Settle   time.Duration // after which a difference is looked at again; 0: 250 ms
}

// ShadowStats holds the comparisons of this process.
type ShadowStats struct {
	Compared int64 // to an end, equal or not
	Unequal  int64 // different, twice, without a mark
	Dropped  int64 // since too many waited
	Failed   int64 // a side did not answer in time, or a comparison panicked
}

// Class represents a kind of difference that comparisons have found. It holds no value.
type Class struct {
	Move    string          `json:"move"`
	Path    string          `json:"path"` // inside the record
	Kind    record.DiffKind `json:"kind"`
	Count   int64           `json:"count"`
	First   time.Time       `json:"first"`
	Last    time.Time       `json:"last"`
	Epoch   uint64          `json:"epoch"`   // in which it was last seen
	Example string          `json:"example"` // a digest of an identity, the same for the same record
}

// VerifyOptions describes how a part is verified.
type VerifyOptions struct {
	PerSecond int             // records; 0: as fast as it goes
	Repair    bool            // bring the side that follows to the one that decides, for each difference
	Move      string          // repair the differences of one move alone; "": of all
	Path      string          // inside the record, with Kind: repair the differences of one class alone; "": all
	Kind      record.DiffKind // "": all
}

// VerifyReport describes what a comparison of both sides has found.
type VerifyReport struct {
	Part     string
	Files    int64
	Records  int64            // of the files
	Bytes    int64            // of the files
	Equal    int64            // records of the files that Redis has
	Missing  int64            // in Redis
	Extra    int64            // in Redis, and no file has it
	Unequal  int64            // in both, and not the same
	Marked   int64            // have a mark: a write of them is under way, or a replay makes them equal; no difference
	Passing  int64            // were different at first, and equal when they were looked at again
	Repaired int64            // of Missing, Extra and Unequal
	Rejected int64            // matches of the files that cannot be records
	Refused  int64            // of Extra and Unequal: no file can have them, or they cannot be read, so that no repair helps
	Refusals []*record.Reject // at most 100
	Classes  []Class          // of the differences
	Cut      int64            // differences of classes beyond the most that are listed
	Differ   []Differing      // the records that differ; at most 100
	Coverage
}

// Whole reports whether both sides have the same, but for records that have a mark: no step is taken before those
// are replayed.
func (r *VerifyReport) Whole() bool { return r.Missing+r.Extra+r.Unequal+r.Rejected == 0 }

// Differing represents a record that differs. Its values are shown as digests.
type Differing struct {
	ID          record.ID
	Differences []record.Difference
	File, Redis string // digests of what the sides have; "": it is not there
}

// ExportReport describes what an export wrote.
type ExportReport struct {
	Part    string
	Files   int64    // that were written
	Records int64    // of the files, before
	Changed int64    // records that were added, changed or taken out
	Paths   []string // of the files, below the folder

	// Rejected are matches of the files that cannot be records. Where Redis has such a record it is
	// written as Redis has it; else the files say what the sources say, and Redis has it not.
	Rejected int64
	Rejects  []*record.Reject

	// Refused are records of Redis that no file can have: the declaration would not read them from their place
	// again, or they cannot be read. Reject.Key has the key. The files have what the sources have of them.
	Refused  int64
	Refusals []*record.Reject // at most 100

	// Faulty are files of the sources that are damaged, each a *record.Error. They are not written.
	Faulty int64
	Faults []error // at most 100
}
