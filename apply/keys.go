package apply

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/keywright/keywright/keyspace/selection"
	"github.com/keywright/keywright/plan"
	"github.com/keywright/keywright/source"
)

// KeysOptions say how the keys of a rule are changed.
type KeysOptions struct {
	Rate     int   // keys per second at most that are changed; 0: as fast as the server takes them
	ByteRate int64 // bytes per second at most of the values that are changed; 0: any
	Journal  *Journal
	Progress func(done int64) // told of keys that were decided about; nil: nothing is

	// Item deletes an item of an entity through its store, and says whether it was there.
	Item func(ctx context.Context, entry int, k Item) (bool, error)

	// StillActs is asked before each batch: an error, as when another process may act,
	// ends the run. nil: it is not asked.
	StillActs func() error

	Live Asker // reads values: of keys whose slot changes, or that are dropped; not nil for those
	Undo *Undo // where it is written what was renamed; nil: nowhere

	decided func(k *source.Key, d *plan.Decision) // for tests
	copied  func()                                // for tests
}

// Item is the key of an item of an entity.
type Item struct {
	Key []byte
	DB  int
}

// KeysReport says what became of the keys that a rule means, in all and by entry.
type KeysReport struct {
	KeyCounts
	Entries map[string]*KeyCounts `json:"-"`
	Left    []plan.Left           `json:"-"` // why keys were left alone or refused; adds up to Left and Refused
	Summary source.Summary        `json:"-"` // of the scan
}

// KeyCounts are the keys of a report. Changed, Gone, Left, Refused and Unknown add up to
// Keys.
type KeyCounts struct {
	Keys    int64 `json:"keys"`    // that are meant
	Changed int64 `json:"changed"` // removed, or given a TTL
	Gone    int64 `json:"gone"`    // were gone before they were changed
	Left    int64 `json:"left_alone"`
	Refused int64 `json:"refused"` // that the server did not permit to change
	Unknown int64 `json:"unknown"` // whose change was interrupted; it may have been done
	Bytes   int64 `json:"bytes"`   // memory of the changed ones
}

// plus adds counts.
func (c *KeyCounts) plus(o KeyCounts) {
	c.Keys += o.Keys
	c.Changed += o.Changed
	c.Gone += o.Gone
	c.Left += o.Left
	c.Refused += o.Refused
	c.Unknown += o.Unknown
	c.Bytes += o.Bytes
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
func Keys(ctx context.Context, clients Clients, scan Scan, rule plan.Rule, o KeysOptions) (KeysReport, error) {
	r := &changes{KeysOptions: o, clients: clients, rule: rule, left: map[plan.Code]*plan.Left{}, began: time.Now(), id: rand.Text()}
	r.report.Entries = map[string]*KeyCounts{}
	if o.Journal != nil && o.Journal.Done() {
		return r.report, ErrDone
	}
	if o.Journal != nil {
		for entry, c := range o.Journal.before() {
			r.add(entry, c)
		}
	}
	sum, err := r.through(ctx, scan)
	if err == nil && r.later {
		r.last = true
		var again source.Summary
		again, err = r.through(ctx, scan)
		sum.Incomplete = append(sum.Incomplete, again.Incomplete...)
	}
	if o.Journal != nil {
		err = errors.Join(err, o.Journal.state(r.report.Entries, err == nil && len(sum.Incomplete) == 0))
	}
	r.report.Left = plan.Ranked(r.left)
	r.report.Summary = sum
	return r.report, err
}

// through changes what a scan finds.
func (r *changes) through(ctx context.Context, scan Scan) (source.Summary, error) {
	sum, err := scan(ctx, func(batch []source.Key) error { return r.page(ctx, batch) })
	if err == nil {
		return sum, r.flush(ctx)
	}
	r.lost()
	return sum, err
}

// changes is one run.
type changes struct {
	KeysOptions
	clients Clients
	rule    plan.Rule
	began   time.Time
	id      string // of this run
	report  KeysReport
	left    map[plan.Code]*plan.Left
	sent    int64 // keys, for the rate
	bytes   int64

	open []*keyChange // of one database
	size int

	later bool // there are keys that come last
	last  bool // it is their turn, and only theirs
}

// keyChange is a key that is to be changed.
type keyChange struct {
	plan.Step
	key   []byte
	db    int
	entry int
	bytes int64
	doubt bool // it was sent, and the reply was lost
	done  bool // it was changed, or may have been
	lost  bool // it is not known what became of it
}

// Bounds of a batch of changes: keys, and the bytes of their names.
const (
	changeKeys  = 256
	renameKeys  = 1000
	changeBytes = 1 << 20
)

func batchOf(how plan.How) int {
	if how == plan.Move {
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
		if r.decided != nil {
			r.decided(k, &d)
		}
		if d.Leave == "" && d.Step.Last && !r.last {
			r.later = true
			continue
		}
		if r.last && (d.Leave != "" || !d.Step.Last) {
			continue
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
		for _, names := range [][]string{s.After, s.Busy, s.With, s.Absent, s.Rivals} {
			for _, n := range names {
				r.size += len(n)
			}
		}
		if r.size += len(s.key); len(r.open) >= batchOf(s.How) || r.size >= changeBytes {
			if err := r.flush(ctx); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// name is the name of an entry, "" for keys that none declares.
func (r *changes) name(entry int) string {
	if entry == selection.Undeclared {
		return ""
	}
	return r.rule.Names()[entry]
}

// add adds to the counts of all and of an entry.
func (r *changes) add(entry string, c KeyCounts) {
	if r.report.Entries[entry] == nil {
		r.report.Entries[entry] = &KeyCounts{}
	}
	r.report.plus(c)
	r.report.Entries[entry].plus(c)
	if r.Progress != nil {
		r.Progress(r.report.Keys)
	}
}

// leave counts a key that is left alone.
func (r *changes) leave(entry int, why plan.Code, key []byte, db int) {
	plan.LeaveIn(r.left, why, key, db)
	r.add(r.name(entry), KeyCounts{Keys: 1, Left: 1})
}

// lost counts what was found and not sent.
func (r *changes) lost() {
	for _, s := range r.open {
		r.count(s, KeyCounts{Unknown: 1})
	}
	r.open, r.size = nil, 0
}

func (r *changes) count(s *keyChange, c KeyCounts) {
	c.Keys = 1
	s.done, s.lost = c.Changed+c.Unknown > 0, c.Unknown > 0
	if c.Changed > 0 {
		c.Bytes = s.bytes
	}
	r.add(r.name(s.entry), c)
}

// flush changes the keys of the batch.
func (r *changes) flush(ctx context.Context) error {
	if len(r.open) == 0 {
		return ctx.Err()
	}
	err := r.pace(ctx)
	if err == nil && r.StillActs != nil {
		err = r.StillActs()
	}
	if err == nil && r.Journal != nil {
		err = r.Journal.begin(r.report.Entries, r.opened())
	}
	if err != nil {
		r.open, r.size = nil, 0 // nothing of it was sent, nor counted
		return err
	}
	c, err := r.clients(r.open[0].db)
	if err != nil {
		r.open, r.size = nil, 0
		return err
	}
	undo, err := r.Undo.begin(r.open)
	if err != nil {
		r.open, r.size = nil, 0
		return err
	}
	err = r.batch(ctx, c.Raw(), r.open)
	r.open, r.size = nil, 0
	return errors.Join(err, r.Undo.end(undo))
}

// opened counts the batch by entry.
func (r *changes) opened() map[string]int64 {
	out := map[string]int64{}
	for _, s := range r.open {
		out[r.name(s.entry)]++
	}
	return out
}

// pace keeps the rates.
func (r *changes) pace(ctx context.Context) error {
	r.sent += int64(len(r.open))
	for _, s := range r.open {
		r.bytes += s.bytes
	}
	due := time.Duration(0)
	if r.Rate > 0 {
		due = time.Duration(float64(r.sent) / float64(r.Rate) * float64(time.Second))
	}
	if r.ByteRate > 0 {
		due = max(due, time.Duration(float64(r.bytes)/float64(r.ByteRate)*float64(time.Second)))
	}
	timer := time.NewTimer(max(due-time.Since(r.began), 0))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
