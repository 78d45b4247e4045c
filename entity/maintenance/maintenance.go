// Package maintenance is what the maintenance of an entity takes and reports: a sweep of items that have expired, a
// check of the items and their entries, a build of indexes, and how the entity is doing. It does none of that: the
// methods of entity.Store do.
//
// API: may change until 1.0.
package maintenance

import (
	"context"
	"time"
)

// SweepOptions say how hard a sweep works. The zero value is sensible.
type SweepOptions struct {
	// Batch is how many items a script takes, which holds up the server while it runs. 0: 200; at
	// most 250, and 1,500 entries of indexes; of an entity in several slots at most 32.
	Batch int
	Rate  int           // items per second, at most; 0: 20,000
	Every time.Duration // how long a sweeper that finds nothing waits at most; 0: 1 s
	Lease time.Duration // how long after a sweeper died another takes over; 0: 5 s
	Swept func(Swept)   // called with every batch; it must not wait
}

// Swept describes what a sweep has done.
type Swept struct {
	Gone  int           // items taken out of their indexes, and announced
	Lives int           // items that live: prolonged by hand, or in several slots (docs/entities-cluster.md)
	Busy  time.Duration // for how long at least another process is sweeping; 0: none is
}

// Problem represents something wrong with the entries of one item.
type Problem struct {
	ID string // as it is in its key
	// What is "missing", "stale", "score", "ttl", "ledger" or "expiry" (due after it ends, or never); "form": a newer
	// program keeps it (ErrForm).
	What string
	Key  string // the index, "" for the index record and the expiry time
}

// CheckOptions say how a check works.
type CheckOptions struct {
	Apply bool          // put right what is wrong
	Rate  int           // keys per second, at most; 0: 20,000
	Found func(Problem) // called with each problem; nil: they are counted only

	// Wrong is called with each item with problems; an error ends the check. nil: it is not.
	Wrong func(ctx context.Context, problems []Problem) error
}

// Checked describes what a check has found.
type Checked struct {
	Items    int // that are alive
	Entries  int // of indexes that were looked at
	Expired  int // items that wait for a sweep, or for a writer that is at it: no fault
	Problems int // that Found was called with
}

// IndexOptions say what Indexes does. The zero value looks and changes nothing.
type IndexOptions struct {
	Apply  bool            // build the indexes that are not complete
	Remove []string        // and take these off the server: names of indexes that are not declared
	Rate   int             // items per second, at most; 0: 20,000
	Passed func(items int) // called as items are done; nil: it is not

	// Before is asked before items are put right or taken out. An error ends the
	// building, and they are left as they are. nil: it is not asked.
	Before func(ctx context.Context, items int) error
	After  func(items int) // called when that is done; nil: it is not
}

// IndexState represents one index on the server.
type IndexState struct {
	Name     string
	Pattern  string // of its keys, {…} is the value
	Declared bool   // this program knows it
	Complete bool   // all items are in it
	Items    int    // that are in it; of one that is declared also those that belong in no key of it
	Missing  int    // items that may not be where they belong: still to be looked at
	Done     int    // items that were put right, or taken out, by this call
}

// IndexReport describes what Indexes has found, and done.
type IndexReport struct {
	Items   int // that have an index record
	Indexes []IndexState
	// Interrupted is whether a program that does not know an index has written while it
	// was built: there are gaps again. Go on when no such program writes any more.
	Interrupted bool
}

// Stats describes how an entity is doing.
type Stats struct {
	Items   int64         // with an index record: the living, and those that wait to be swept
	Expired int64         // that wait to be swept
	Late    time.Duration // for how long the first of them has
	Sweeper string        // the process that holds the lease of the sweep, "" for none
}
