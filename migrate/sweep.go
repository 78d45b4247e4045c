package migrate

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate/internal/digests"
	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/internal/store"
	"github.com/keywright/keywright/migrate/record"
)

// groups calls each for the records of a document, those of one list together.
func (m *sides) groups(in io.Reader, file, part string, cover record.Coverages, each func(sources.Group) error,
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
	err := m.docs.Read(&counted{in, &m.read.bytes}, file, cover, func(r *record.Record) error {
		id := r.ID()
		if last.name != id.Move {
			last.name, last.mine, last.alone = id.Move, m.partOf[id.Move] == part, !sources.Ordered(m.moves[id.Move].Kind)
		}
		if !last.mine {
			return nil
		}
		if last.alone {
			return each(sources.Group{ID: id, Records: []*record.Record{r}})
		}
		open := lists[id.Move]
		if open != nil && open.ID == id {
			open.Records = append(open.Records, r)
			all := store.Item{Move: m.moves[id.Move], Records: open.Records}
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
func (m *sides) readOne() {
	if n := m.read.records.Add(1); n%progressEvery == 0 {
		m.progress()
	}
}

func (m *sides) progress() {
	if m.progressed != nil {
		m.progressed(m.read.bytes.Load(), m.read.records.Load())
	}
}

// sides is both sides of a migration, as commands read them that look at all of a part.
type sides struct {
	docs       sources.Documents
	disk       *disk.Disk
	server     *store.Server
	parts      []sources.PartOf
	moves      map[string]sources.MoveOf
	partOf     map[string]string                     // of a move
	progressed func(bytes, records int64)            // Config.Progress
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

// sweep reads all of a part, on both sides, with what it finds.
type sweep struct {
	m      *sides
	part   string
	epoch  uint64
	pace   *pace
	found  func(file string, g sources.Group, stored []*record.Record, diffs []record.Difference) error
	reject func(*record.Reject) error

	Records int64 // of the files
	Bytes   int64
	Extra   int64 // keys of Redis that no file has
	Files   int64
	seed    maphash.Seed
	known   digests.Set  // of the IDs of the files
	extra   digests.Once // of those that no file has: SCAN may give one again
	was     map[string]os.FileInfo
	cover   record.Coverages // what of the files is read; nil: it is not asked for
}

// digest returns a number for an identity, another one with each seed.
func digest(seed maphash.Seed, key, sub string) uint64 {
	sum := maphash.String(seed, key)
	if sub != "" {
		sum = 31*sum + maphash.String(seed, sub)
	}
	return sum
}

// run compares every record of the files with Redis, and looks for those of Redis that no
// file has.
func (s *sweep) run(ctx context.Context) error {
	s.seed, s.known.Room, s.extra.Room = maphash.MakeSeed(), s.m.disk.Room, s.m.disk.Room
	defer s.known.Close()
	defer s.extra.Close()
	err := s.m.docs.Files(ctx, s.m.disk.Root, s.part, func(file string) error {
		s.Files++
		return s.file(ctx, file)
	})
	if err != nil {
		return err
	}
	if err := s.known.Sort(func(digests.Pair) {}); err != nil {
		return err
	}
	for _, mv := range s.m.movesOf(s.part) {
		if err := s.scan(ctx, mv); err != nil {
			return err
		}
	}
	return nil
}

func (m *sides) movesOf(part string) []sources.MoveOf {
	for _, p := range m.parts {
		if p.Name == part {
			return p.Moves
		}
	}
	return nil
}

func (s *sweep) file(ctx context.Context, file string) error {
	in, err := s.m.disk.Open(file)
	if err != nil || in == nil {
		return err
	}
	defer in.Close()
	s.Bytes += in.Was.Size()
	if s.was != nil {
		s.was[file] = in.Was
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
	err = s.m.groups(in, file, s.part, s.cover, func(g sources.Group) error {
		s.Records++
		if err := s.known.Add(digests.Pair{ID: digest(s.seed, g.ID.Key, g.ID.Sub)}); err != nil {
			return err
		}
		size += g.Bytes()
		if batch = append(batch, g); len(batch) < store.SweepBatch && size < sources.BatchBytes {
			return ctx.Err()
		}
		return flush()
	}, s.reject)
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
func (s *sweep) fetch(ctx context.Context, batch []sources.Group) (*fetch, error) {
	if len(batch) == 0 {
		return nil, ctx.Err()
	}
	if err := s.pace.wait(ctx, len(batch)); err != nil {
		return nil, err
	}
	f := &fetch{done: make(chan struct{})}
	go func() { // it ends with its call, which is waited for
		defer close(f.done)
		f.unequal, f.err = s.m.server.Compare(ctx, s.part, s.epoch, batch)
	}()
	return f, nil
}

// fetched waits for a batch, and reports what is not equal.
func (s *sweep) fetched(file string, f *fetch) error {
	if f == nil {
		return nil
	}
	if f.wait(); f.err != nil {
		return f.err
	}
	for _, u := range f.unequal {
		if err := s.found(file, u.Group, u.Stored, u.Differences); err != nil {
			return err
		}
	}
	return nil
}

// scan looks for records of Redis that no file has.
func (s *sweep) scan(ctx context.Context, mv sources.MoveOf) error {
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
		if err := s.pace.wait(ctx, len(page.keys)); err != nil {
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
func (s *sweep) pages(ctx context.Context, match string, to chan<- scanned) {
	defer close(to)
	raw, err := s.m.server.Raw()
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
func (s *sweep) members(ctx context.Context, mv sources.MoveOf, key string) error {
	raw, err := s.m.server.Raw()
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

func (s *sweep) one(ctx context.Context, mv sources.MoveOf, key, sub string) error {
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
	s.Extra++
	file, err := s.m.docs.File(ctx, id)
	if err != nil {
		return err
	}
	return s.found(file, sources.Group{ID: id}, nil, []record.Difference{{ID: id, Kind: record.DiffExtra}})
}

// pace holds what is done to so many records a second; nil does not.
type pace struct {
	perSecond int
	began     time.Time
	done      int
}

func newPace(perSecond int) *pace {
	if perSecond <= 0 {
		return nil
	}
	return &pace{perSecond: perSecond, began: time.Now()}
}

func (p *pace) wait(ctx context.Context, n int) error {
	if p == nil {
		return ctx.Err()
	}
	p.done += n
	ahead := time.Duration(float64(p.done)/float64(p.perSecond)*float64(time.Second)) - time.Since(p.began)
	if ahead <= 0 {
		return ctx.Err()
	}
	return disk.Pause(ctx, ahead)
}

// maxListed bounds the rejects and faults that a report lists. All are counted.
const maxListed = 100
