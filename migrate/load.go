package migrate

import (
	"context"
	"crypto/sha256"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// maxLoaded says how many records one step of an import writes of which Redis has none.
const maxLoaded = 250

// maxShapes says how many steps of an import are filled at a time.
const maxShapes = 8

// skipped says how many steps are not tried as new records after one that had some of them in
// Redis already.
const skipped = 8

// fresh holds records of one move that are alike, and may be written together where Redis has
// none of them: strings, or hashes with the same fields, that end in the same way.
type fresh struct {
	mv     MoveOf
	mode   string
	groups []group
	keys   []string
	args   []string
}

// takes reports whether a record is like the others, and there is room for it.
func (f *fresh) takes(id record.ID, mode string, r *record.Record) bool {
	first := f.groups[0].records[0]
	if f.mv.Name != id.Move || f.mode != mode || len(first.Fields) != len(r.Fields) || len(f.groups) == maxLoaded ||
		2*len(r.Fields)*(len(f.groups)+1) > maxValues {
		return false
	}
	for i := range r.Fields {
		if r.Fields[i].Name != first.Fields[i].Name {
			return false
		}
	}
	return true
}

func (f *fresh) add(g group, ms string) {
	r := g.records[0]
	f.groups, f.keys = append(f.groups, g), append(f.keys, g.id.Key)
	if f.mode != "keep" {
		f.args = append(f.args, ms)
	}
	if f.mv.Kind == keyspace.StringRecord {
		f.args = append(f.args, string(r.Value))
		return
	}
	for i := range r.Fields {
		f.args = append(f.args, r.Fields[i].Value)
	}
}

// sumOf returns the digest by which a record has its ticket.
func sumOf(id record.ID) [16]byte {
	var room [256]byte
	text := append(append(append(room[:0], id.Move...), 0), id.Key...)
	sum := sha256.Sum256(append(append(text, 0), id.Sub...))
	return [16]byte(sum[:16])
}

// apportion returns the records that may be new ones, by what they have in common, and the others.
func (s *server) apportion(groups []group, now time.Time) (steps []*fresh, rest []item) {
	var mv MoveOf
	open := make([]*fresh, 0, maxShapes)
	for _, g := range groups {
		if mv.Name != g.id.Move {
			mv = s.moves[g.id.Move]
		}
		r := g.records[0]
		size := 2 * len(r.Fields)
		if mv.Kind != keyspace.StringRecord && (mv.Kind != keyspace.HashRecord || size == 0 || size > maxValues) ||
			sealsOf(mv) != nil || !r.Ends.IsZero() && !r.Ends.After(now) {
			rest = append(rest, item{mv: mv, id: g.id, records: g.records})
			continue
		}
		mode, ms := ttlOf(g.records, mv.TTL)
		if mode == "none" { // none of the keys is there
			mode = "keep"
		}
		var of *fresh
		for _, f := range open {
			if f.takes(g.id, mode, r) {
				of = f
				break
			}
		}
		if of == nil {
			n := min(len(groups), maxLoaded)
			of = &fresh{mv: mv, mode: mode, keys: make([]string, 0, n), args: make([]string, 0, n*(1+len(r.Fields)))}
			if steps = append(steps, of); len(open) == maxShapes {
				open = append(open[:0], open[1:]...)
			}
			open = append(open, of)
		}
		of.add(g, ms)
	}
	return steps, rest
}

// load writes records that are alike if Redis has none of them.
func (s *server) load(p put, f *fresh) keywright.Op[answer] {
	keys := append([]string{s.key, s.tickets()}, f.keys...)
	digests := make([]byte, 0, 16*len(f.groups))
	for i := range f.groups {
		sum := sumOf(f.groups[i].id)
		digests = append(digests, sum[:]...)
	}
	fields := f.groups[0].records[0].Fields
	args := make([]string, 0, 7+len(fields)+len(f.args))
	args = append(args, p.part, decimal(p.epoch), p.ticket, decimal(p.seen), string(digests), f.mode,
		strconv.Itoa(len(fields)))
	for i := range fields {
		args = append(args, fields[i].Name)
	}
	return s.op("load", keywright.Idempotent, loadScript, keys, append(args, f.args...))
}

// errContended reports a transaction that is not tried again: another process writes.
var errContended = errors.New("another process writes records of the migration")

// transact writes strings without an end if Redis has none of them, as load does: the server has
// half the work without a script. A later ticket or epoch changes a key that is watched.
func (l *loads) transact(ctx context.Context, p put, f *fresh) (written bool, err error) {
	s := l.server
	var set *keywright.Pending[int64]
	tries := 0
	c, err := s.get()
	if err != nil {
		return false, err
	}
	err = c.Transact(ctx, func(tx *keywright.Tx) error {
		if tries++; tries > 1 {
			return errContended
		}
		has, err := keywright.Watch(tx, kernel.NewOp(kernel.Spec[[]string]{
			Action: s.watched("load", s.key), Decode: kernel.Reply.AsStrSlice,
			Build: func(b kernel.Builder) kernel.Command { return s.epochOf(b, p.part) }}))
		if err == nil {
			err = epochHas(has, p.epoch, p.seen)
		}
		if err != nil {
			return err
		}
		tickets, err := keywright.Watch(tx, kernel.NewOp(kernel.Spec[int64]{
			Action: s.watched("load", s.tickets()), Decode: kernel.Reply.AsInt64,
			Build: func(b kernel.Builder) kernel.Command { return b.Zcard().Key(s.tickets()).Build() }}))
		if err == nil && tickets > 0 {
			err = errContended
		}
		if err == nil {
			err = l.at("watched")
		}
		if err == nil {
			set = keywright.Queue(tx, f.strings(s))
		}
		return err
	})
	if err != nil {
		return false, err
	}
	n, err := set.Result()
	return n == 1, err
}

// watched describes a read of a transaction.
func (s *server) watched(name, key string) kernel.Action {
	a := s.action(name, keywright.Reads)
	a.Key = key
	return a
}

// strings writes them all, or none where one is there.
func (f *fresh) strings(s *server) keywright.Op[int64] {
	return kernel.NewOp(kernel.Spec[int64]{Action: s.action("load", keywright.Idempotent), Keys: f.keys,
		Decode: kernel.Reply.AsInt64, Build: func(b kernel.Builder) kernel.Command {
			set := b.Msetnx().KeyValue()
			for i, key := range f.keys {
				set = set.KeyValue(key, f.args[i])
			}
			return set.Build()
		}})
}

// load writes a batch of an import: its steps go to the server together.
func (l *loads) load(ctx context.Context, p put, groups []group) error {
	if err := l.at("load"); err != nil {
		return err
	}
	p.now, p.seen = time.Now(), l.server.seen.of(p.part)
	steps, rest := l.server.apportion(groups, p.now)
	var work sync.WaitGroup
	errs := make([]error, len(steps)+1)
	for i, f := range steps {
		work.Go(func() { errs[i] = l.fresh(ctx, p, f) })
	}
	errs[len(steps)] = l.put(ctx, p, rest)
	work.Wait()
	return errors.Join(errs...)
}

// fresh writes records of which Redis may have none, and one by one where it has some.
func (l *loads) fresh(ctx context.Context, p put, f *fresh) error {
	if f.mv.Kind == keyspace.StringRecord && f.mode == "keep" && l.quiet.Add(-1) < 0 && time.Since(l.began) < time.Hour/2 {
		written, err := l.transact(ctx, p, f)
		switch {
		case err == nil && written:
			l.wrote(f)
			return nil
		case err == nil:
			l.skip.Store(skipped)
		case errors.Is(err, phase.ErrEpoch) || errors.Is(err, phase.ErrLost) || ctx.Err() != nil:
			return err
		default: // also where the login may not: the script says what is wrong
			l.quiet.Store(skipped)
		}
	}
	if l.skip.Add(-1) < 0 {
		a, err := l.server.load(p, f).Do(ctx)
		if err == nil {
			err = a.failed()
		}
		if err != nil {
			return err
		}
		l.server.seen.saw(p.part, number(a.more[1]))
		if a.word == "ok" {
			l.wrote(f)
			return nil
		}
		l.skip.Store(skipped)
	}
	items := make([]item, len(f.groups))
	for i, g := range f.groups {
		items[i] = item{mv: f.mv, id: g.id, records: g.records}
	}
	return l.put(ctx, p, items)
}

func (l *loads) wrote(f *fresh) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.report.Written += int64(len(f.groups))
}

// put writes records of which Redis may have some.
func (l *loads) put(ctx context.Context, p put, items []item) error {
	p.items = items
	steps := p.parts()
	errs := make([]error, len(steps))
	var work sync.WaitGroup
	for i, step := range steps {
		work.Go(func() {
			words, err := l.server.write(ctx, step)
			errs[i] = err
			l.count(step, words)
		})
	}
	work.Wait()
	return errors.Join(errs...)
}

// maxLoads says how many batches of an import are under way while more of the file is read.
const maxLoads = 2

// errLoad reports a batch that is not begun, since one before it has failed.
var errLoad = errors.New("a batch has failed")

// loads holds the batches of an import that are under way. No record is in two files, and of
// two of one file that are one in Redis any may be the last: a plan refuses such files.
type loads struct {
	server   *server
	at       func(point string) error
	progress func(ImportReport)
	free     chan struct{}
	work     sync.WaitGroup
	skip     atomic.Int64 // steps that are not tried as new records
	quiet    atomic.Int64 // steps that are not tried as transactions
	began    time.Time    // after the ticket was given

	mu     sync.Mutex
	report *ImportReport
	err    error
}

// begin loads a batch, and waits where too many are under way.
func (l *loads) begin(ctx context.Context, p put, groups []group) error {
	if len(groups) == 0 {
		return nil
	}
	select {
	case l.free <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	l.mu.Lock()
	l.report.Records += int64(len(groups))
	failed := l.err != nil
	l.mu.Unlock()
	if failed {
		<-l.free
		return errLoad
	}
	l.work.Go(func() {
		defer func() { <-l.free }()
		err := l.load(ctx, p, groups)
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.err == nil {
			l.err = err
		}
		if l.progress != nil && err == nil {
			l.progress(*l.report)
		}
	})
	return nil
}

// end waits for all of them.
func (l *loads) end() error {
	l.work.Wait()
	return l.err
}

func (l *loads) count(p put, words []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range p.items {
		if len(x.living(p.now)) == 0 {
			l.report.Over++
		}
	}
	for _, w := range words {
		switch w {
		case "ok":
			l.report.Written++
		case "same":
			l.report.Same++
		case "stale":
			l.report.Newer++
		}
	}
}

// ImportReport describes what an import did.
type ImportReport struct {
	Part     string
	Files    int64
	Records  int64 // of the files
	Written  int64
	Same     int64 // were in Redis already
	Newer    int64 // were written by a process meanwhile
	Over     int64 // their time is over
	Rejects  []*record.Reject
	Rejected int64
}
