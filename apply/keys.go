// Package apply changes keys of a server by data: those that a rule means (Keys), those that a plan lists (Changes),
// and
// what changes keys while it walks over them (Walk). It says what became of each, and the parts of its report add up to
// what it was given. Records are written by package restore, and copied by package copier, below it.
//
// It decides nothing about what is to be changed: the caller says which rule or changes. It reads no declaration.
//
// API: may change until 1.0.
package apply

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/apply/wait"
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/keywright/keywright/source"
)

// KeysOptions say how the keys of a rule are changed.
type KeysOptions struct {
	Rate     int   // keys per second at most that are changed; 0: as fast as the server takes them
	ByteRate int64 // bytes per second at most of the values that are changed; 0: any
	Journal  *journal.Journal
	Progress func(done int64) // called after keys were decided about; nil: it is not

	// Item deletes an item of an entity through its store, and says whether it was there. An
	// error that wraps entity.ErrVersion says that it has not the texts of Item.Sums any more.
	Item func(ctx context.Context, entry int, k Item) (bool, error)

	// StillHeld is asked before each batch: an error, as when another process may act,
	// ends the run. nil: it is not asked.
	StillHeld func() error

	Waiting wait.Waiting // for servers that do not answer

	Live restore.Asker // reads values: of keys whose slot changes, or that are dropped or kept; not nil for those
	Undo *Undo         // where it is written what was renamed, or given a TTL; nil: it is not written

	// Keep is given the keys that are deleted, with their values, before they are: Live reads
	// them. nil: they are not kept.
	Keep Backup

	decided func(k *source.Key, d *plan.Decision) // for tests
	copied  func()                                // for tests
	asked   func(set []byte)                      // for tests
}

// Item represents the key of an item of an entity.
type Item struct {
	Key  []byte
	DB   int
	Sums map[string]string // SHA-1 in hex of the text of each field, as it was kept; nil: it was not
}

// KeysReport says what became of the keys that a rule means, in all and by entry.
type KeysReport struct {
	journal.KeyCounts
	Entries map[string]*journal.KeyCounts `json:"-"`
	Left    []plan.Left                   `json:"-"` // why keys were left alone or refused; adds up to Left and Refused
	Summary source.Summary                `json:"-"` // of the scan
}

// Scan yields the keys of a server, as the Scan of a source.Source does.
type Scan func(ctx context.Context, each func([]source.Key) error) (source.Summary, error)

// Keys changes the keys that a rule means. The rule decides about each key that the scan
// finds, and the conditions of its decision are evaluated by the server in the same step
// as the change, so that a key which changed its nature meanwhile is left alone. Keys are
// changed in batches, one batch at a time; a batch is in the journal before it is sent.
//
// Changing the same keys twice changes nothing the second time. It returns when all keys
// were seen, or when ctx ends; the report is true in each case.
func Keys(ctx context.Context, clients restore.Clients, scan Scan, rule plan.Rule, o KeysOptions) (KeysReport, error) {
	return Walk(ctx, func(ctx context.Context, run *Run) (source.Summary, error) {
		r := &changes{Run: run, clients: clients, rule: rule, id: rand.Text()}
		told, err := r.tell(ctx, scan)
		if err != nil {
			return told, err
		}
		sum, err := r.through(ctx, scan)
		sum.Incomplete = told.Incomplete.Add(sum.Incomplete...)
		if err == nil && r.later {
			r.last = true
			var again source.Summary
			again, err = r.through(ctx, scan)
			sum.Incomplete = sum.Incomplete.Add(again.Incomplete...)
		}
		if err == nil {
			err = r.Undo.finish()
		}
		return sum, err
	}, o)
}

// through changes what a scan finds.
func (r *changes) through(ctx context.Context, scan Scan) (source.Summary, error) {
	sum, err := scan(ctx, func(batch []source.Key) error { return r.page(ctx, batch) })
	if err != nil {
		r.open, r.size = nil, 0 // found, and neither sent nor counted
		return sum, err
	}
	return sum, r.flush(ctx)
}

// changes represents one run of Keys.
type changes struct {
	*Run
	clients restore.Clients
	rule    plan.Rule
	id      string // of this run

	open []*keyChange // of one database
	size int

	twice   twice                    // queues that are in use under both names
	content map[string]*plan.Content // by key, of those that are being moved or compared

	tried map[string]bool // keys that were kept and not deleted, by database and name

	telling bool // sets of names get new names beside the old, and nothing else is done
	copies  bool // of those that get new names themselves, there are copies: they stay as they are

	later bool // there are keys that come last
	last  bool // it is their turn, and only theirs
}

// keyChange represents a key that is to be changed.
type keyChange struct {
	plan.Step
	key   []byte
	db    int
	entry int
	bytes int64
	doubt bool              // it was sent, and the reply was lost
	done  bool              // it was changed, or may have been
	lost  bool              // it is not known what became of it
	ends  int64             // when it is to end, in Unix milliseconds, if an undo must know; 0: by its TTL
	was   *read             // what was kept of it; nil: nothing
	sums  map[string]string // of an item that was kept: see Item
	texts int               // bytes of those, or more than maxTexts
}

// Bounds of a batch of changes: keys, and the bytes of their names.
const (
	changeKeys  = 256
	renameKeys  = 1000
	changeBytes = 1 << 20
)

func batchOf(do plan.Action) int {
	switch do.(type) {
	case plan.Move, plan.Merge:
		return renameKeys
	}
	return changeKeys
}

// page decides about the keys that a scan found.
func (r *changes) page(ctx context.Context, batch []source.Key) error {
	for i := range batch {
		k := &batch[i]
		d := r.rule.Decide(k)
		if !d.Meant {
			continue
		}
		if !r.turn(&d) {
			continue
		}
		if r.decided != nil {
			r.decided(k, &d)
		}
		if d.Leave != "" {
			r.leave(d.Entry, d.Leave, k.Name, k.DB)
			continue
		}
		if len(r.open) > 0 && r.open[0].db != k.DB {
			if err := r.flush(ctx); err != nil {
				return err
			}
		}
		s := &keyChange{Step: d.Step, key: append([]byte(nil), k.Name...), db: k.DB, entry: d.Entry, bytes: max(k.Bytes, 0)}
		r.open = append(r.open, s)
		r.size += len(s.To)
		for _, names := range [][]string{s.After, s.Busy, s.with(), s.Absent, s.Rivals} {
			for _, n := range names {
				r.size += len(n)
			}
		}
		if r.size += len(s.key); len(r.open) >= batchOf(s.Do) || r.size >= changeBytes {
			if err := r.flush(ctx); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// turn reports whether it is the turn of a key.
func (r *changes) turn(d *plan.Decision) bool {
	switch last := d.Leave == "" && d.Step.Last; {
	case r.telling:
		return d.Leave == "" && d.Step.Retag().New != nil && (d.Step.To == "" || !r.copies)
	case r.last:
		return last
	case last:
		r.later = true
		return false
	}
	return true
}

// name returns the name of an entry, "" for keys that none declares.
func (r *changes) name(entry int) string {
	if entry == selection.Undeclared {
		return ""
	}
	return r.rule.Names()[entry]
}

// leave counts a key that is left alone.
func (r *changes) leave(entry int, why plan.Code, key []byte, db int) {
	r.Leave(r.name(entry), why, key, db)
}

func (r *changes) count(s *keyChange, c journal.KeyCounts) {
	c.Keys = 1
	s.done, s.lost = c.Changed+c.Unknown > 0, c.Unknown > 0
	if c.Changed > 0 {
		c.Bytes = s.bytes
	}
	r.Add(r.name(s.entry), c)
}

// flush changes the keys of the batch.
func (r *changes) flush(ctx context.Context) error {
	if len(r.open) == 0 {
		return ctx.Err()
	}
	steps, bytes := r.open, int64(0)
	r.open, r.size = nil, 0
	if r.telling {
		return r.toldAll(ctx, steps)
	}
	steps, err := r.keeping(ctx, steps)
	if err != nil || len(steps) == 0 {
		return err
	}
	for _, s := range steps {
		bytes += s.bytes
	}
	if err := r.Begin(ctx, r.opened(steps), bytes); err != nil {
		return err // nothing of it was sent, nor counted
	}
	defer wait.Ask(ctx)()
	c, err := r.clients(steps[0].db)
	if err != nil {
		return err
	}
	if err := r.absolute(ctx, c.Raw(), steps); err != nil {
		return err
	}
	undo, err := r.Undo.begin(steps)
	if err != nil {
		return err
	}
	return errors.Join(r.batch(ctx, c.Raw(), steps), r.Undo.end(undo), r.try(steps))
}

// opened counts a batch by entry.
func (r *changes) opened(steps []*keyChange) map[string]int64 {
	out := map[string]int64{}
	for _, s := range steps {
		out[r.name(s.entry)]++
	}
	return out
}

// errNoReader reports a fault of the caller.
var errNoReader = errors.New("keys whose slot changes are moved by reading them, and there is no reader")
