package store

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
	"github.com/keywright/keywright/migrate/documents"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
	"github.com/keywright/keywright/migrate/step"
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
	mv     documents.MoveOf
	mode   string
	groups []sources.Group
	keys   []string
	args   []string
}

// takes reports whether a record is like the others, and there is room for it.
func (f *fresh) takes(id record.ID, mode string, r *record.Record) bool {
	first := f.groups[0].Records[0]
	if f.mv.Name != id.Move || f.mode != mode || len(first.Fields) != len(r.Fields) || len(f.groups) == maxLoaded ||
		2*len(r.Fields)*(len(f.groups)+1) > MaxValues {
		return false
	}
	for i := range r.Fields {
		if r.Fields[i].Name != first.Fields[i].Name {
			return false
		}
	}
	return true
}

func (f *fresh) add(g sources.Group, ms string) {
	r := g.Records[0]
	f.groups, f.keys = append(f.groups, g), append(f.keys, g.ID.Key)
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
func (s *Server) apportion(groups []sources.Group, now time.Time) (steps []*fresh, rest []Item) {
	var mv documents.MoveOf
	open := make([]*fresh, 0, maxShapes)
	for _, g := range groups {
		if mv.Name != g.ID.Move {
			mv = s.moves[g.ID.Move]
		}
		r := g.Records[0]
		size := 2 * len(r.Fields)
		if mv.Kind != keyspace.StringRecord && (mv.Kind != keyspace.HashRecord || size == 0 || size > MaxValues) ||
			mv.Sealed != nil || !r.Ends.IsZero() && !r.Ends.After(now) {
			rest = append(rest, Item{Move: mv, ID: g.ID, Records: g.Records})
			continue
		}
		mode, ms := ttlOf(g.Records, mv.TTL)
		if mode == "none" { // none of the keys is there
			mode = "keep"
		}
		var of *fresh
		for _, f := range open {
			if f.takes(g.ID, mode, r) {
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
func (s *Server) load(p Put, f *fresh) keywright.Op[Answer] {
	keys := append([]string{s.Key, s.tickets()}, f.keys...)
	digests := make([]byte, 0, 16*len(f.groups))
	for i := range f.groups {
		sum := sumOf(f.groups[i].ID)
		digests = append(digests, sum[:]...)
	}
	fields := f.groups[0].Records[0].Fields
	args := make([]string, 0, 7+len(fields)+len(f.args))
	args = append(args, p.Part, Decimal(p.Epoch), p.Ticket, Decimal(p.Seen), string(digests), f.mode,
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
func (l *Loads) transact(ctx context.Context, p Put, f *fresh) (written bool, err error) {
	s := l.Server
	var set *keywright.Pending[int64]
	tries := 0
	c, err := s.Get()
	if err != nil {
		return false, err
	}
	err = c.Transact(ctx, func(tx *keywright.Tx) error {
		if tries++; tries > 1 {
			return errContended
		}
		has, err := keywright.Watch(tx, kernel.NewOp(kernel.Spec[[]string]{
			Action: s.watched("load", s.Key), Decode: kernel.Reply.AsStrSlice,
			Build: func(b kernel.Builder) kernel.Command { return s.epochOf(b, p.Part) }}))
		if err == nil {
			err = epochHas(has, p.Epoch, p.Seen)
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
			err = l.At("watched")
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
func (s *Server) watched(name, key string) kernel.Action {
	a := s.action(name, keywright.Reads)
	a.Key = key
	return a
}

// strings writes them all, or none where one is there.
func (f *fresh) strings(s *Server) keywright.Op[int64] {
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
func (l *Loads) load(ctx context.Context, p Put, groups []sources.Group) error {
	if err := l.At("load"); err != nil {
		return err
	}
	p.Now, p.Seen = time.Now(), l.Server.Seen.Of(p.Part)
	steps, rest := l.Server.apportion(groups, p.Now)
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
func (l *Loads) fresh(ctx context.Context, p Put, f *fresh) error {
	if f.mv.Kind == keyspace.StringRecord && f.mode == "keep" && l.quiet.Add(-1) < 0 && time.Since(l.Began) < time.Hour/2 {
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
		a, err := l.Server.load(p, f).Do(ctx)
		if err == nil {
			err = a.Failed()
		}
		if err != nil {
			return err
		}
		l.Server.Seen.saw(p.Part, Number(a.More[1]))
		if a.Word == "ok" {
			l.wrote(f)
			return nil
		}
		l.skip.Store(skipped)
	}
	items := make([]Item, len(f.groups))
	for i, g := range f.groups {
		items[i] = Item{Move: f.mv, ID: g.ID, Records: g.Records}
	}
	return l.put(ctx, p, items)
}

func (l *Loads) wrote(f *fresh) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.Report.Written += int64(len(f.groups))
}

// put writes records of which Redis may have some.
func (l *Loads) put(ctx context.Context, p Put, items []Item) error {
	p.Items = items
	steps := p.Parts()
	errs := make([]error, len(steps))
	var work sync.WaitGroup
	for i, step := range steps {
		work.Go(func() {
			words, err := l.Server.Write(ctx, step)
			if len(words) == 0 || !OfRecord(err) { // else count lists it, and the others were written
				errs[i] = err
			}
			l.count(step, words)
		})
	}
	work.Wait()
	return errors.Join(errs...)
}

// maxRejects bounds the records that an import lists. All are counted.
const maxRejects = 100

// MaxLoads says how many batches of an import are under way while more of the file is read.
const MaxLoads = 2

// ErrLoad reports a batch that is not begun, since one before it has failed.
var ErrLoad = errors.New("a batch has failed")

// Loads holds the batches of an import that are under way. No record is in two files, and of
// two of one file that are one in Redis any may be the last: a plan refuses such files.
type Loads struct {
	Server   *Server
	At       func(point string) error
	Progress func(step.ImportReport)
	Free     chan struct{}
	work     sync.WaitGroup
	skip     atomic.Int64 // steps that are not tried as new records
	quiet    atomic.Int64 // steps that are not tried as transactions
	Began    time.Time    // after the ticket was given

	Mu     sync.Mutex
	Report *step.ImportReport
	err    error
}

// Begin loads a batch, and waits where too many are under way.
func (l *Loads) Begin(ctx context.Context, p Put, groups []sources.Group) error {
	if len(groups) == 0 {
		return nil
	}
	select {
	case l.Free <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	l.Mu.Lock()
	l.Report.Records += int64(len(groups))
	failed := l.err != nil
	l.Mu.Unlock()
	if failed {
		<-l.Free
		return ErrLoad
	}
	l.work.Go(func() {
		defer func() { <-l.Free }()
		err := l.load(ctx, p, groups)
		l.Mu.Lock()
		defer l.Mu.Unlock()
		if l.err == nil {
			l.err = err
		}
		if l.Progress != nil && err == nil {
			l.Progress(*l.Report)
		}
	})
	return nil
}

// End waits for all of them.
func (l *Loads) End() error {
	l.work.Wait()
	return l.err
}

func (l *Loads) count(p Put, words []string) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	for _, x := range p.Items {
		if len(x.living(p.Now)) == 0 {
			l.Report.Over++
		}
	}
	for i, w := range words {
		switch w {
		case "type":
			if l.Report.Rejected++; len(l.Report.Rejects) < maxRejects {
				x := &p.Items[i]
				l.Report.Rejects = append(l.Report.Rejects, sources.Unreadable(x.Move.Move, x.ID, ErrType))
			}
		case "ok":
			l.Report.Written++
		case "same":
			l.Report.Same++
		case "stale":
			l.Report.Newer++
		}
	}
}
