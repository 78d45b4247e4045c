package migrate

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
	"github.com/redis/rueidis"
)

// group is the records of one ID: one, or the elements of a list.
type group struct {
	id      record.ID
	records []*record.Record
}

// groups calls each for the records of a document, those of one list together.
func (m *Migration) groups(in io.Reader, file, part string, each func(group) error,
	reject func(*record.Reject) error) error {
	lists := map[string]*group{} // by move
	give := each
	each = func(g group) error {
		m.readOne()
		return give(g)
	}
	defer m.progress()
	err := m.docs.Read(&counted{in, &m.read.bytes}, file, func(r *record.Record) error {
		id := r.ID()
		if m.partOf[id.Move] != part {
			return nil
		}
		if !ordered(m.moves[id.Move].Kind) {
			return each(group{id, []*record.Record{r}})
		}
		open := lists[id.Move]
		if open != nil && open.id == id {
			open.records = append(open.records, r)
			all := item{mv: m.moves[id.Move], records: open.records}
			if len(open.records)%64 == 0 && all.size() > maxValues {
				return fmt.Errorf("%s: %w", file, ErrTooLarge)
			}
			return nil
		}
		lists[id.Move] = &group{id, []*record.Record{r}}
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

// progressEvery is how many records are read between two calls of Config.Progress.
const progressEvery = 500

// readOne counts a record that was read.
func (m *Migration) readOne() {
	if n := m.read.records.Add(1); n%progressEvery == 0 {
		m.progress()
	}
}

func (m *Migration) progress() {
	if m.config.Progress != nil {
		m.config.Progress(m.read.bytes.Load(), m.read.records.Load())
	}
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

// Size is how many files a part has now, and their bytes.
func (m *Migration) Size(ctx context.Context, part string) (files, bytes int64, err error) {
	err = m.docs.Files(ctx, m.disk.root, part, func(file string) error {
		path, err := m.disk.source(file)
		if err != nil {
			return err
		}
		is, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err == nil {
			files, bytes = files+1, bytes+is.Size()
		}
		return err
	})
	return files, bytes, m.wrong("look at the files", part, err)
}

// sweep reads all of a part, on both sides, with what it finds.
type sweep struct {
	m      *Migration
	part   string
	epoch  uint64
	pace   *pace
	found  func(file string, g group, stored []*record.Record, diffs []record.Difference) error
	reject func(*record.Reject) error

	Records int64 // of the files
	Bytes   int64
	Extra   int64 // keys of Redis that no file has
	Files   int64
	known   digests // of the IDs of the files
	extra   once    // of those that no file has: SCAN may give one again
	was     map[string]os.FileInfo
}

// ErrTooMany is returned by Export where too many records differ, and by List where a key has too many.
var ErrTooMany = errors.New("there are more records than are taken in one go")

func digest(id record.ID) uint64 {
	sum := sha256.Sum256([]byte(id.Key + "\x00" + id.Sub))
	return binary.BigEndian.Uint64(sum[:])
}

// run compares every record of the files with Redis, and looks for those of Redis that no
// file has.
func (s *sweep) run(ctx context.Context) error {
	s.known.room, s.extra.room = s.m.disk.room, s.m.disk.room
	defer s.known.close()
	defer s.extra.close()
	err := s.m.docs.Files(ctx, s.m.disk.root, s.part, func(file string) error {
		s.Files++
		return s.file(ctx, file)
	})
	if err != nil {
		return err
	}
	if err := s.known.sort(func(pair) {}); err != nil {
		return err
	}
	for _, mv := range s.m.movesOf(s.part) {
		if err := s.scan(ctx, mv); err != nil {
			return err
		}
	}
	return nil
}

func (m *Migration) movesOf(part string) []MoveOf {
	for _, p := range m.parts {
		if p.Name == part {
			return p.Moves
		}
	}
	return nil
}

// sweepBatch is how many records are read from Redis in one round trip.
const sweepBatch = 500

func (s *sweep) file(ctx context.Context, file string) error {
	in, err := s.m.disk.open(file)
	if err != nil || in == nil {
		return err
	}
	defer in.Close()
	s.Bytes += in.was.Size()
	if s.was != nil {
		s.was[file] = in.was
	}
	var batch []group
	var before *fetch // is under way while the next batch is read
	flush := func() error {
		next, err := s.fetch(ctx, batch)
		batch = nil
		if err == nil {
			err = s.compare(file, before)
		} else {
			before.wait()
		}
		before = next
		return err
	}
	err = s.m.groups(in, file, s.part, func(g group) error {
		s.Records++
		if err := s.known.add(pair{id: digest(g.id)}); err != nil {
			return err
		}
		if batch = append(batch, g); len(batch) < sweepBatch {
			return ctx.Err()
		}
		return flush()
	}, s.reject)
	if err == nil {
		err = flush()
	}
	if err == nil {
		err = s.compare(file, before)
	}
	before.wait()
	return errors.Join(err, unchanged(in))
}

// fetch is a batch whose records are being read from Redis.
type fetch struct {
	groups []group
	done   chan struct{}
	stored [][]*record.Record
	err    error
}

func (f *fetch) wait() {
	if f != nil {
		<-f.done
	}
}

// fetch begins to read a batch; nil for none.
func (s *sweep) fetch(ctx context.Context, batch []group) (*fetch, error) {
	if len(batch) == 0 {
		return nil, ctx.Err()
	}
	if err := s.pace.wait(ctx, len(batch)); err != nil {
		return nil, err
	}
	f := &fetch{groups: batch, done: make(chan struct{})}
	go func() { // it ends with its call, which is waited for
		defer close(f.done)
		f.stored, f.err = s.m.takeAll(ctx, s.part, s.epoch, f.groups)
	}()
	return f, nil
}

func (s *sweep) compare(file string, f *fetch) error {
	if f == nil {
		return nil
	}
	if f.wait(); f.err != nil {
		return f.err
	}
	for i, g := range f.groups {
		if diffs := different(s.m.moves[g.id.Move], g.records, f.stored[i]); len(diffs) > 0 {
			if err := s.found(file, g, f.stored[i], diffs); err != nil {
				return err
			}
		}
	}
	return nil
}

// scan looks for records of Redis that no file has.
func (s *sweep) scan(ctx context.Context, mv MoveOf) error {
	raw := s.m.config.Client.Raw()
	for cursor := uint64(0); ; {
		page, err := raw.Do(ctx, raw.B().Scan().Cursor(cursor).Match(mv.Match).Count(sweepBatch).Build()).AsScanEntry()
		if err != nil {
			return err
		}
		if err := s.pace.wait(ctx, len(page.Elements)); err != nil {
			return err
		}
		for _, key := range page.Elements {
			if err := s.members(ctx, mv, key); err != nil {
				return err
			}
		}
		if cursor = page.Cursor; cursor == 0 {
			return nil
		}
	}
}

// members looks at what of a key is a record.
func (s *sweep) members(ctx context.Context, mv MoveOf, key string) error {
	if _, ok := mv.Of(key, ""); !ok {
		return nil
	}
	raw := s.m.config.Client.Raw()
	var page func(cursor uint64) rueidis.Completed
	step := 1
	switch mv.Kind {
	case keyspace.FieldRecord:
		step = 2
		page = func(c uint64) rueidis.Completed { return raw.B().Hscan().Key(key).Cursor(c).Count(sweepBatch).Build() }
	case keyspace.MemberRecord:
		page = func(c uint64) rueidis.Completed { return raw.B().Sscan().Key(key).Cursor(c).Count(sweepBatch).Build() }
	case keyspace.ScoredRecord:
		step = 2
		page = func(c uint64) rueidis.Completed { return raw.B().Zscan().Key(key).Cursor(c).Count(sweepBatch).Build() }
	default:
		return s.one(ctx, mv, key, "")
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

func (s *sweep) one(ctx context.Context, mv MoveOf, key, sub string) error {
	id, ok := mv.Of(key, sub)
	if !ok {
		return nil
	}
	if known, err := s.known.has(digest(id)); known || err != nil {
		return err
	}
	if first, err := s.extra.first(digest(id)); !first || err != nil {
		return err
	}
	s.Extra++
	file, err := s.m.docs.File(ctx, id)
	if err != nil {
		return err
	}
	return s.found(file, group{id: id}, nil, []record.Difference{{ID: id, Kind: record.DiffExtra}})
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
	return pause(ctx, ahead)
}

// inPhase is the state of a part whose phase is one of those given.
func (m *Migration) inPhase(ctx context.Context, op, part string, phases ...phase.Phase) (PartState, error) {
	if !m.known(part) {
		return PartState{}, m.wrong(op, part, errUnknown)
	}
	if m.config.Client == nil {
		return PartState{}, m.wrong(op, part, errNoServer)
	}
	is, err := m.settled(ctx, part)
	if err == nil && !slices.Contains(phases, is.Phase) {
		err = fmt.Errorf("the part is in phase %s", is.Phase)
	}
	return is, m.wrong(op, part, err)
}
