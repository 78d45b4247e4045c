// Package restore writes records to servers: values whole or in parts, over what is there or beside it, again after a
// lost reply and on with a journal. It says what became of each record, and the parts of its report add up to what it
// was given. It decides nothing about where a record belongs (Options.Place does), and reads no declaration.
//
// API: may change until 1.0.
package restore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"strconv"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply/content"
	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/wait"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/compare"
)

// Existing describes what becomes of a key that is there already.
type Existing string

// A key that is there is an error, is left, is replaced, or is replaced if its value
// or its expiry is another one.
const (
	Fail      Existing = "fail"
	Skip      Existing = "skip"
	Replace   Existing = "replace"
	Different Existing = "different"
)

// Options say how records are restored.
type Options struct {
	Existing Existing // what becomes of a key that is there; "": Fail

	// Place says under which name and in which database a record is restored, and
	// when it expires (Unix milliseconds, 0: never). An error leaves it out, and is
	// its reason. nil: as it was.
	Place func(*archive.Record) (Place, error)

	// Live reads values of the target. With Different and after lost replies it tells
	// whether a key has its value already, also where that is large; nil: whole values are
	// read by DUMP, and values in parts are always written.
	Live Asker

	// Journal holds what was done, so that a run which was killed is gone on with: records
	// that it had decided about are not looked at again, and the report counts all runs. The
	// records must come in the same order. What was done in the last moments before the kill
	// may be done again. nil: there is none.
	Journal *journal.Journal

	// StillHeld is asked before each batch: an error, as when another process may act, ends
	// the run. nil: it is not asked.
	StillHeld func() error

	// Existed is called with each key that was there and was left; by one goroutine at a
	// time. nil: nothing is.
	Existed func(db int, key []byte)

	// Wrote is called with each key that was written, likewise. nil: it is not.
	Wrote func(db int, key []byte)

	// Needs is about how many bytes will be written; 0: not known. Servers that would evict keys for it get nothing.
	Needs int64

	// MayEvict lets servers evict keys, of any program, to make room. Without it the run ends when one does.
	MayEvict bool

	Waiting wait.Waiting // for servers that do not answer

	Plan bool // change nothing: the report says what would become of the keys

	Writers  int              // connections that write; 0: 4
	Rate     int              // keys per second at most; 0: as fast as the server takes them
	Progress func(done int64) // called after keys are done; nil: it is not
}

// Asker yields the values of those of the keys that are there, as compare.Live does.
type Asker interface {
	Ask(ctx context.Context, db int, names [][]byte, each func([]source.Content) error) error
}

// LeftOut describes why Place leaves a key out.
type LeftOut struct{ Code plan.Code }

// Error implements error.
func (l *LeftOut) Error() string {
	if fix := l.Code.Fix(); fix != "" {
		return l.Code.What() + " (" + fix + ")"
	}
	return l.Code.What()
}

// Place describes where a record is restored.
type Place struct {
	Key     []byte
	DB      int
	Expires int64
	Content *plan.Content // how its value is written under another name; nil: as it is

	// SameExpiry tells whether a key that is there with this expiry needs no other one;
	// nil: if it is Expires.
	SameExpiry func(there int64) bool
}

// ExpiryHolds tells whether an expiry is as it should be.
func (p *Place) ExpiryHolds(there int64) bool {
	if p.SameExpiry != nil {
		return p.SameExpiry(there)
	}
	return there == p.Expires
}

// Clients opens a client for a database; the same one for the same database.
type Clients func(db int) (*keywright.Client, error)

// Restore writes records. A record is restored by RESTORE with its absolute expiry, in
// batches, over several connections; a value in parts is written to a temporary key in
// its slot, which takes the place of the key in one step when it is whole. Restoring
// the same records twice changes nothing the second time, with any Existing.
//
// It returns when all records are written, when ctx ends, or when the server can take
// no more (full memory); the report is true in each case.
func Restore(ctx context.Context, clients Clients, records iter.Seq2[*archive.Record, error], o Options) (Report,
	error) {
	if o.Existing == "" {
		o.Existing = Fail
	}
	if o.Writers < 1 {
		o.Writers = 4
	}
	if o.Journal != nil && o.Journal.Done() {
		return Report{}, journal.ErrDone
	}
	ctx, stop := wait.Bound(ctx, o.Waiting)
	defer stop(nil)
	r := &restore{Options: o, clients: clients, stop: stop, targets: map[int]*target{}, seed: maphash.MakeSeed(),
		began: time.Now(), id: rand.Text(), flight: newInFlight()}
	if err := r.resume(); err != nil {
		return r.report, err
	}
	var group sync.WaitGroup
	for range o.Writers {
		w := &writer{restore: r, in: make(chan *job, 1), temporary: map[string]*partial{}}
		r.writers = append(r.writers, w)
		group.Go(func() { w.run(ctx) })
	}
	err := r.feed(ctx, records)
	for _, w := range r.writers {
		close(w.in)
	}
	group.Wait()
	if !o.Plan && !wait.IsOver(ctx) {
		err = errors.Join(err, r.evictions(context.WithoutCancel(ctx)))
	}
	for _, m := range r.memory.servers {
		r.report.Memory = append(r.report.Memory, *m)
	}
	switch cause := context.Cause(ctx); {
	case cause == nil:
	case errors.Is(err, ctx.Err()): // it was stopped for the cause
		err = cause
	default:
		err = errors.Join(err, cause)
	}
	whole := err == nil && r.report.Unknown == 0
	return r.report, errors.Join(err, r.progress.end(whole, r.report.Entries))
}

// restore represents one run.
type restore struct {
	Options
	clients Clients
	stop    context.CancelCauseFunc
	writers []*writer
	seed    maphash.Seed
	began   time.Time
	given   int64
	id      string // of this run: in the names of temporary keys
	flight  *inFlight

	mu      sync.Mutex
	report  Report
	targets map[int]*target
	named   int // bytes of keys in report.Reasons

	asking sync.Mutex // of Live

	memory   memory
	watching sync.Mutex // guards memory while writers run

	progress *progress // nil: there is no journal
}

// job represents a batch for one writer and one database.
type job struct {
	target  *target
	records []record
	bytes   int
}

// record represents an archive.Record and its place.
type record struct {
	archive.Record
	Place
	seq      int64        // its number
	problem  string       // why it cannot be written under its new name; "": it can
	first    int64        // that of the first part of the value
	doubt    bool         // it was sent, and the reply was lost
	replaces bool         // it is there, and is to be replaced
	fact     compare.Fact // of a value in parts, with its last one
	bytes    int64        // of the value: of one in parts, all of them so far
}

// Bounds of a batch.
const (
	BatchKeys  = 256
	BatchBytes = 1 << 20
)

// feed hands the records to the writers: those of one key to the same one.
func (r *restore) feed(ctx context.Context, records iter.Seq2[*archive.Record, error]) error {
	open := map[[2]int]*job{} // by writer and database
	send := func(at [2]int) error {
		j := open[at]
		delete(open, at)
		select {
		case r.writers[at[0]].in <- j:
			return nil
		case <-ctx.Done():
			r.lost(j.records)
			r.flight.free(j.bytes)
			return ctx.Err()
		}
	}
	err := r.deal(ctx, records, open, send)
	for at := range open { // what came before an error is good
		err = errors.Join(err, send(at))
	}
	return err
}

// deal puts the records into jobs, and sends those that are full.
func (r *restore) deal(ctx context.Context, records iter.Seq2[*archive.Record, error], open map[[2]int]*job,
	send func([2]int) error) error {
	for rec, err := range records {
		if err != nil {
			return err
		}
		seq, done := r.progress.next()
		if done {
			continue
		}
		place, ok, err := r.place(rec, seq)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		t, err := r.target(ctx, place.DB)
		if err != nil {
			r.lost([]record{{Record: *rec, Place: place}})
			return err
		}
		err = r.renamed(rec, place, func(rec *archive.Record, problem string) error {
			at := [2]int{int(maphash.Bytes(r.seed, place.Key) % uint64(len(r.writers))), place.DB}
			bytes := len(rec.Payload) + len(place.Key)
			if !r.flight.fits(bytes) {
				for begun := range open {
					if err := send(begun); err != nil {
						return err
					}
				}
			}
			r.flight.take(bytes)
			j := open[at]
			if j == nil {
				j = &job{target: t}
				open[at] = j
			}
			own := record{Record: *rec, Place: place, seq: seq, first: seq, problem: problem}
			own.Payload = append(make([]byte, 0, len(rec.Payload)+footer), rec.Payload...) // room for what RESTORE adds
			own.Record.Key = nil
			j.records = append(j.records, own)
			if j.bytes += bytes; len(j.records) >= BatchKeys || j.bytes >= BatchBytes {
				return send(at)
			}
			return nil
		})
		if err == nil {
			err = r.pace(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// renamed gives each the record as it is under its new name, in parts where it is taken
// apart. What cannot be written so comes with the reason, and is refused.
func (r *restore) renamed(rec *archive.Record, place Place, each func(*archive.Record, string) error) error {
	var failed error
	err := content.RenameRecord(rec, place.Content, func(part *archive.Record) error {
		failed = each(part, "")
		return failed
	})
	if err == nil || failed != nil {
		return failed
	}
	return each(&archive.Record{Entry: rec.Entry, Kind: rec.Kind, Form: archive.Elements, Part: rec.Part, More: rec.More},
		err.Error())
}

// pace keeps the rate.
func (r *restore) pace(ctx context.Context) error {
	r.given++
	if r.Rate <= 0 || r.given%64 != 0 {
		return ctx.Err()
	}
	wait := time.Duration(float64(r.given)/float64(r.Rate)*float64(time.Second)) - time.Since(r.began)
	timer := time.NewTimer(max(wait, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// place asks where a record belongs, and counts its key.
func (r *restore) place(rec *archive.Record, seq int64) (p Place, ok bool, failed error) {
	p, err := Place{Key: rec.Key, DB: rec.DB, Expires: rec.Expires}, error(nil)
	if r.Place != nil {
		p, err = r.Place(rec)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var c journal.Counts
	if !rec.More {
		if c.Keys = 1; err != nil {
			c.Left = 1
			r.name(rec.Key, rec.DB, err.Error())
		}
		r.add(rec.Entry, func(sum *journal.Counts) { sum.Plus(&c) })
		if left := (*LeftOut)(nil); errors.As(err, &left) {
			if r.report.LeftOut == nil {
				r.report.LeftOut = map[plan.Code]int64{}
			}
			r.report.LeftOut[left.Code]++
		}
	}
	if err != nil {
		return p, false, r.progress.decide(seq, decision{rec.Entry, c})
	}
	p.Key = append([]byte(nil), p.Key...)
	return p, true, nil
}

// target represents a database that is written to.
type target struct {
	client   *keywright.Client
	db       int
	versions versions      // of payloads that it takes
	ahead    time.Duration // of the server's clock before ours
}

// now returns the server's time in Unix milliseconds.
func (t *target) now() int64 { return time.Now().Add(t.ahead).UnixMilli() }

// target opens a database, once.
func (r *restore) target(ctx context.Context, db int) (*target, error) {
	if t := r.targets[db]; t != nil {
		return t, nil
	}
	defer wait.Ask(ctx)()
	for attempt := 0; ; attempt++ {
		t, err := r.learned(ctx, db)
		if err == nil {
			r.targets[db] = t
			return t, nil
		}
		if what, _ := Judge(err); what != Unknown || errors.As(err, new(*RoomError)) ||
			attempt+1 == openings || !Pause(ctx, attempt, err) {
			return nil, err
		}
	}
}

// openings says how often a database is opened before it is given up: it may be one that the
// server does not have.
const openings = 6

// learned opens a database, and asks the server.
func (r *restore) learned(ctx context.Context, db int) (*target, error) {
	c, err := r.clients(db)
	if err != nil {
		return nil, err
	}
	t := &target{client: c, db: db}
	if err := t.learn(ctx); err != nil {
		return t, err
	}
	r.watching.Lock()
	defer r.watching.Unlock()
	return t, r.watch(ctx, t)
}

// learn asks the server what time it has.
func (t *target) learn(ctx context.Context) error {
	raw := t.client.Raw()
	clock, err := raw.Do(ctx, raw.B().Time().Build()).AsStrSlice()
	if err != nil {
		return fmt.Errorf("time: %w", err)
	}
	if len(clock) != 2 {
		return errors.New("time: the server does not tell it")
	}
	seconds, _ := strconv.ParseInt(clock[0], 10, 64)
	micros, _ := strconv.ParseInt(clock[1], 10, 64)
	t.ahead = time.Until(time.Unix(seconds, micros*1000))
	return nil
}
