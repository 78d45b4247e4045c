// Package sides goes over all of a part, on both sides, the files and Redis: to compare every record, to say what an
// import would do, and to bring the records of a file to Redis. It does not know in which phase the part is.
package sides

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate/documents"
	"github.com/keywright/keywright/migrate/internal/digests"
	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/internal/store"
	"github.com/keywright/keywright/migrate/record"
)

// Groups calls each for the records of a document, those of one list together.
func (m *Sides) Groups(in io.Reader, file, part string, cover record.Coverages, each func(sources.Group) error,
	reject func(*record.Reject) error) error {
	lists := map[string]*sources.Group{} // by move
	give := each
	each = func(g sources.Group) error {
		m.readOne()
		return give(g)
	}
	defer m.progress()
	var last struct { // the move of the record before
		name        string
		mine, alone bool
	}
	err := m.Docs.Read(&counted{in, &m.read.bytes}, file, cover, func(r *record.Record) error {
		id := r.ID()
		if last.name != id.Move {
			last.name, last.mine, last.alone = id.Move, m.PartOf[id.Move] == part, !sources.Ordered(m.Moves[id.Move].Kind)
		}
		if !last.mine {
			return nil
		}
		if last.alone {
			return each(sources.Group{ID: id, Records: []*record.Record{r}})
		}
		open := lists[id.Move]
		if open != nil && open.ID == id && sources.Continues(open.Records[len(open.Records)-1], r) {
			open.Records = append(open.Records, r)
			all := store.Item{Move: m.Moves[id.Move], Records: open.Records}
			if len(open.Records)%64 == 0 && all.Size() > store.MaxValues {
				return fmt.Errorf("%s: %w", file, store.ErrTooLarge)
			}
			return nil
		}
		lists[id.Move] = &sources.Group{ID: id, Records: []*record.Record{r}}
		if open != nil {
			return each(*open)
		}
		return nil
	}, reject)
	for _, g := range lists {
		if err == nil {
			err = each(*g)
		}
	}
	return err
}

// progressEvery says how many records are read between two calls of Config.Progress.
const progressEvery = 500

// readOne counts a record that was read.
func (m *Sides) readOne() {
	if n := m.read.records.Add(1); n%progressEvery == 0 {
		m.progress()
	}
}

func (m *Sides) progress() {
	if m.Progressed != nil {
		m.Progressed(m.read.bytes.Load(), m.read.records.Load())
	}
}

// Sides is both sides of a migration, as commands read them that look at all of a part.
type Sides struct {
	Docs       documents.Documents
	Disk       *disk.Disk
	Server     *store.Server
	Parts      []documents.PartOf
	Moves      map[string]documents.MoveOf
	PartOf     map[string]string                     // of a move
	Progressed func(bytes, records int64)            // Config.Progress
	read       struct{ bytes, records atomic.Int64 } // of files
}

// counted counts what is read of a file.
type counted struct {
	io.Reader
	n *atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// Sweep reads all of a part, on both sides, with what it finds.
type Sweep struct {
	Sides  *Sides
	Part   string
	Epoch  uint64
	Pace   *Pace
	Found  func(file string, u store.Unequal) error // file is "" where none can have it: Fault says why
	Reject func(*record.Reject) error
	Fault  func(file string, err error) error // for a damaged file: the others are read; nil: it is the error

	Records int64 // of the files
	Bytes   int64
	Extra   int64 // keys of Redis that no file has
	Files   int64
	seed    maphash.Seed
	known   digests.Set     // of the IDs of the files
	extra   digests.Once    // of those that no file has: SCAN may give one again
	typed   map[uint64]bool // keys of another type, of which files have records
	Was     map[string]os.FileInfo
	Cover   record.Coverages // what of the files is read; nil: it is not asked for
}

// digest returns a number for an identity, another one with each seed.
func digest(seed maphash.Seed, key, sub string) uint64 {
	sum := maphash.String(seed, key)
	if sub != "" {
		sum = 31*sum + maphash.String(seed, sub)
	}
	return sum
}

// Run compares every record of the files with Redis, and looks for those of Redis that no
// file has.
func (s *Sweep) Run(ctx context.Context) error {
	s.seed, s.known.Room, s.extra.Room = maphash.MakeSeed(), s.Sides.Disk.Room, s.Sides.Disk.Room
	s.typed = map[uint64]bool{}
	defer s.known.Close()
	defer s.extra.Close()
	err := s.Sides.Docs.Files(ctx, s.Sides.Disk.Root, s.Part, func(file string) error {
		s.Files++
		err := s.file(ctx, file)
		if s.Fault != nil && errors.As(err, new(*record.Error)) {
			return s.Fault(file, err)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := s.known.Sort(func(digests.Pair) {}); err != nil {
		return err
	}
	for _, mv := range s.Sides.MovesOf(s.Part) {
		if err := s.scan(ctx, mv); err != nil {
			return err
		}
	}
	return nil
}

// MovesOf returns the moves of a part.
func (m *Sides) MovesOf(part string) []documents.MoveOf {
	for _, p := range m.Parts {
		if p.Name == part {
			return p.Moves
		}
	}
	return nil
}

func (s *Sweep) file(ctx context.Context, file string) error {
	in, err := s.Sides.Disk.Open(file)
	if err != nil || in == nil {
		return err
	}
	defer in.Close()
	s.Bytes += in.Was.Size()
	if s.Was != nil {
		s.Was[file] = in.Was
	}
	var batch []sources.Group
	size := 0         // of batch
	var before *fetch // is under way while the next batch is read
	flush := func() error {
		next, err := s.fetch(ctx, batch)
		batch, size = make([]sources.Group, 0, len(batch)), 0
		if err == nil {
			err = s.fetched(file, before)
		} else {
			before.wait()
		}
		before = next
		return err
	}
	err = s.Sides.Groups(in, file, s.Part, s.Cover, func(g sources.Group) error {
		s.Records++
		if err := s.known.Add(digests.Pair{ID: digest(s.seed, g.ID.Key, g.ID.Sub)}); err != nil {
			return err
		}
		size += g.Bytes()
		if batch = append(batch, g); len(batch) < store.SweepBatch && size < sources.BatchBytes {
			return ctx.Err()
		}
		return flush()
	}, s.Reject)
	if err == nil {
		err = flush()
	}
	if err == nil {
		err = s.fetched(file, before)
	}
	before.wait()
	return errors.Join(err, disk.Unchanged(in))
}

// fetch represents a batch whose records are being compared with those of Redis.
type fetch struct {
	done    chan struct{}
	unequal []store.Unequal
	err     error
}

func (f *fetch) wait() {
	if f != nil {
		<-f.done
	}
}

// fetch begins to compare a batch; nil for none.
func (s *Sweep) fetch(ctx context.Context, batch []sources.Group) (*fetch, error) {
	if len(batch) == 0 {
		return nil, ctx.Err()
	}
	if err := s.Pace.Wait(ctx, len(batch)); err != nil {
		return nil, err
	}
	f := &fetch{done: make(chan struct{})}
	go func() { // it ends with its call, which is waited for
		defer close(f.done)
		f.unequal, f.err = s.Sides.Server.Compare(ctx, s.Part, s.Epoch, batch)
	}()
	return f, nil
}

// fetched waits for a batch, and reports what is not equal.
func (s *Sweep) fetched(file string, f *fetch) error {
	if f == nil {
		return nil
	}
	if f.wait(); f.err != nil {
		return f.err
	}
	for _, u := range f.unequal {
		if u.Fault != nil && errors.Is(u.Fault, store.ErrType) && len(s.typed) < digests.Held {
			s.typed[digest(s.seed, u.ID.Key, "")] = true
		}
		if err := s.Found(file, u); err != nil {
			return err
		}
	}
	return nil
}

// scan looks for records of Redis that no file has.
func (s *Sweep) scan(ctx context.Context, mv documents.MoveOf) error {
	ctx, stop := context.WithCancel(ctx)
	pages := make(chan scanned, 1)
	var work sync.WaitGroup
	work.Go(func() { s.pages(ctx, mv.Match, pages) })
	defer work.Wait()
	defer stop()
	for page := range pages {
		if page.err != nil {
			return page.err
		}
		if err := s.Pace.Wait(ctx, len(page.keys)); err != nil {
			return err
		}
		for _, key := range page.keys {
			if err := s.members(ctx, mv, key); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// scanned represents a page of keys.
type scanned struct {
	keys []string
	err  error
}

// pages reads one page while the one before is looked at.
func (s *Sweep) pages(ctx context.Context, match string, to chan<- scanned) {
	defer close(to)
	raw, err := s.Sides.Server.Raw()
	if err != nil {
		select {
		case to <- scanned{nil, err}:
		case <-ctx.Done():
		}
		return
	}
	for cursor := uint64(0); ; {
		page, err := raw.Do(ctx, raw.B().Scan().Cursor(cursor).Match(match).Count(2*store.SweepBatch).Build()).AsScanEntry()
		select {
		case to <- scanned{page.Elements, err}:
		case <-ctx.Done():
			return
		}
		if cursor = page.Cursor; cursor == 0 || err != nil {
			return
		}
	}
}

// members looks at what of a key is a record.
func (s *Sweep) members(ctx context.Context, mv documents.MoveOf, key string) error {
	raw, err := s.Sides.Server.Raw()
	if err != nil {
		return err
	}
	var page func(cursor uint64) kernel.Command
	step := 1
	switch mv.Kind {
	case keyspace.FieldRecord:
		step = 2
		page = func(c uint64) kernel.Command {
			return raw.B().Hscan().Key(key).Cursor(c).Count(store.SweepBatch).Build()
		}
	case keyspace.MemberRecord:
		page = func(c uint64) kernel.Command {
			return raw.B().Sscan().Key(key).Cursor(c).Count(store.SweepBatch).Build()
		}
	case keyspace.ScoredRecord:
		step = 2
		page = func(c uint64) kernel.Command {
			return raw.B().Zscan().Key(key).Cursor(c).Count(store.SweepBatch).Build()
		}
	default:
		return s.one(ctx, mv, key, "")
	}
	if _, ok := mv.Of(key, ""); !ok {
		return nil
	}
	for cursor := uint64(0); ; {
		entry, err := raw.Do(ctx, page(cursor)).AsScanEntry()
		if store.OtherType(err) {
			if s.typed[digest(s.seed, key, "")] {
				return nil // its records of the files say it
			}
			return s.one(ctx, mv, key, "") // it is read again, and cannot be
		}
		if err != nil {
			return err
		}
		for i := 0; i < len(entry.Elements); i += step {
			if err := s.one(ctx, mv, key, entry.Elements[i]); err != nil {
				return err
			}
		}
		if cursor = entry.Cursor; cursor == 0 {
			return nil
		}
	}
}

func (s *Sweep) one(ctx context.Context, mv documents.MoveOf, key, sub string) error {
	sum := digest(s.seed, key, sub)
	if known, err := s.known.Has(sum); known || err != nil {
		return err
	}
	id, ok := mv.Of(key, sub)
	if !ok {
		return nil
	}
	if first, err := s.extra.First(sum); !first || err != nil {
		return err
	}
	u := store.Unequal{Group: sources.Group{ID: id}, Differences: []record.Difference{{ID: id, Kind: record.DiffExtra}}}
	file, err := s.Sides.Docs.File(ctx, id)
	if bad := new(record.Reject); errors.As(err, &bad) {
		file, err = "", s.unfit(ctx, &u, bad)
	}
	if err != nil || file == "" && u.Fault == nil {
		return err
	}
	s.Extra++
	return s.Found(file, u)
}

// unfit says of a record of Redis why no file can have it, with the digest of what it is now; nothing, if it is not
// there any more.
func (s *Sweep) unfit(ctx context.Context, u *store.Unequal, bad *record.Reject) error {
	stored, unread, err := s.Sides.Server.TakeEach(ctx, s.Part, s.Epoch, []sources.Group{u.Group})
	if err != nil {
		return err
	}
	if u.Fault = unread[u.ID]; u.Fault != nil || len(stored[0]) == 0 {
		return nil
	}
	bad.Digest = ""
	u.Fault, u.Stored = bad, stored[0]
	for _, r := range stored[0] {
		if now := new(record.Reject); errors.As(s.Sides.Docs.Fits(r), &now) {
			u.Fault = now
			break
		}
	}
	return nil
}

// ErrTooMany is returned by Export where too many records differ, and by List where a key has too many.
var ErrTooMany = errors.New("there are more records than are taken in one go")
