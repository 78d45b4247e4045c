package migrate

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
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
	err := m.docs.Read(in, file, func(r *record.Record) error {
		id := r.ID()
		if m.partOf[id.Move] != part {
			return nil
		}
		if m.moves[id.Move].Kind != keyspace.ElementRecord {
			return each(group{id, []*record.Record{r}})
		}
		open := lists[id.Move]
		if open != nil && open.id == id {
			if open.records = append(open.records, r); len(open.records) > maxValues {
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
	known   []uint64 // digests of the IDs of the files
}

// maxKnown bounds the identities that a sweep remembers: 8 bytes each.
const maxKnown = 32 << 20

// ErrTooMany is a part with more records than one sweep remembers.
var ErrTooMany = errors.New("the part has more records than can be compared in one go")

func digest(id record.ID) uint64 {
	sum := sha256.Sum256([]byte(id.Key + "\x00" + id.Sub))
	return binary.BigEndian.Uint64(sum[:])
}

// run compares every record of the files with Redis, and looks for those of Redis that no
// file has.
func (s *sweep) run(ctx context.Context) error {
	err := s.m.docs.Files(ctx, s.m.disk.root, s.part, func(file string) error {
		s.Files++
		return s.file(ctx, file)
	})
	if err != nil {
		return err
	}
	slices.Sort(s.known)
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
	in, err := s.m.openSource(file)
	if err != nil || in == nil {
		return err
	}
	defer in.Close()
	if is, err := in.Stat(); err == nil {
		s.Bytes += is.Size()
	}
	var batch []group
	flush := func() error {
		defer func() { batch = batch[:0] }()
		return s.compare(ctx, file, batch)
	}
	err = s.m.groups(in, file, s.part, func(g group) error {
		if s.Records++; len(s.known) >= maxKnown {
			return ErrTooMany
		}
		s.known = append(s.known, digest(g.id))
		if batch = append(batch, g); len(batch) < sweepBatch {
			return ctx.Err()
		}
		return flush()
	}, s.reject)
	if err == nil {
		err = flush()
	}
	return errors.Join(err, unchanged(in))
}

// openSource opens a file of the sources; nil if there is none.
func (m *Migration) openSource(file string) (*sourceFile, error) {
	path, err := m.disk.source(file)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	is, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &sourceFile{f, file, is}, nil
}

// sourceFile is a file as it was when it was opened: the engine replaces files, and does
// not write into them.
type sourceFile struct {
	*os.File
	name string
	was  os.FileInfo
}

// ErrWrittenMeanwhile is a file that a program has written into while it was read.
var ErrWrittenMeanwhile = errors.New("the file was written while it was read, by a program that does not replace it")

func unchanged(f *sourceFile) error {
	is, err := f.Stat()
	if err == nil && (is.Size() != f.was.Size() || !is.ModTime().Equal(f.was.ModTime())) {
		err = fmt.Errorf("%s: %w", f.name, ErrWrittenMeanwhile)
	}
	return err
}

func (s *sweep) compare(ctx context.Context, file string, batch []group) error {
	if len(batch) == 0 {
		return nil
	}
	if err := s.pace.wait(ctx, len(batch)); err != nil {
		return err
	}
	stored, err := s.m.takeAll(ctx, s.part, s.epoch, batch)
	if err != nil {
		return err
	}
	for i, g := range batch {
		if diffs := different(s.m.moves[g.id.Move], g.records, stored[i]); len(diffs) > 0 {
			if err := s.found(file, g, stored[i], diffs); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeAll reads records from Redis, with their times, in one round trip. The epoch is
// asked for before them and after them: it only grows.
func (m *Migration) takeAll(ctx context.Context, part string, epoch uint64, groups []group) ([][]*record.Record,
	error) {
	raw, seen := m.config.Client.Raw(), m.seen.Load()
	ask := func() rueidis.Completed {
		return raw.B().Hmget().Key(m.server.key).Field("epoch:"+part, "ticket").Build()
	}
	commands := make([]rueidis.Completed, 0, 2+2*len(groups))
	commands = append(commands, ask())
	for _, g := range groups {
		commands = append(commands, valueOf(raw.B(), m.moves[g.id.Move].Kind, g.id))
		if m.moves[g.id.Move].TTL.Policy != keyspace.TTLNone {
			commands = append(commands, raw.B().Pexpiretime().Key(g.id.Key).Build())
		}
	}
	results := raw.DoMulti(ctx, append(commands, ask())...)
	out := make([][]*record.Record, len(groups))
	at := 1
	for i, g := range groups {
		mv := m.moves[g.id.Move]
		values, err := valuesOf(mv.Kind, results[at])
		ms := int64(-1)
		if at++; err == nil && mv.TTL.Policy != keyspace.TTLNone {
			ms, err = results[at].AsInt64()
			at++
		}
		if err != nil {
			return nil, fmt.Errorf("reading a record of %s: %w", g.id.Move, err)
		}
		out[i] = taken(mv.Kind, mv.Move, g.id, answer{more: append([]string{"", strconv.FormatInt(ms, 10)}, values...)})
	}
	return out, errors.Join(epochIs(results[0], epoch, seen), epochIs(results[len(results)-1], epoch, seen))
}

// epochIs is nil if a part has this epoch, and the server has lost nothing.
func epochIs(r rueidis.RedisResult, epoch, seen uint64) error {
	has, err := r.AsStrSlice()
	switch {
	case err != nil:
		return err
	case number(has[0]) < epoch || has[0] == "" || number(has[1]) < seen:
		return phase.ErrLost
	case number(has[0]) > epoch:
		return phase.ErrEpoch
	}
	return nil
}

// valueOf reads what a record is.
func valueOf(b rueidis.Builder, kind keyspace.RecordKind, id record.ID) rueidis.Completed {
	switch kind {
	case keyspace.FieldRecord:
		return b.Hget().Key(id.Key).Field(id.Sub).Build()
	case keyspace.HashRecord:
		return b.Hgetall().Key(id.Key).Build()
	case keyspace.MemberRecord:
		return b.Sismember().Key(id.Key).Member(id.Sub).Build()
	case keyspace.ScoredRecord:
		return b.Zscore().Key(id.Key).Member(id.Sub).Build()
	case keyspace.ElementRecord:
		return b.Lrange().Key(id.Key).Start(0).Stop(maxValues).Build()
	}
	return b.Get().Key(id.Key).Build()
}

// valuesOf are the values of an answer to valueOf; none: the record is not there.
func valuesOf(kind keyspace.RecordKind, r rueidis.RedisResult) (out []string, err error) {
	switch kind {
	case keyspace.HashRecord:
		all, err := r.AsStrMap()
		for _, name := range slices.Sorted(maps.Keys(all)) {
			out = append(out, name, all[name])
		}
		return out, err
	case keyspace.MemberRecord:
		is, err := r.AsBool()
		if is {
			out = []string{"1"}
		}
		return out, err
	case keyspace.ElementRecord:
		return r.AsStrSlice()
	case keyspace.ScoredRecord:
		var score float64
		if score, err = r.AsFloat64(); err == nil {
			out = []string{strconv.FormatFloat(score, 'g', -1, 64)}
		}
	default:
		var text string
		if text, err = r.ToString(); err == nil {
			out = []string{text}
		}
	}
	if rueidis.IsRedisNil(err) {
		err = nil
	}
	return out, err
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
		return s.one(mv, key, "")
	}
	for cursor := uint64(0); ; {
		entry, err := raw.Do(ctx, page(cursor)).AsScanEntry()
		if err != nil {
			return err
		}
		for i := 0; i < len(entry.Elements); i += step {
			if err := s.one(mv, key, entry.Elements[i]); err != nil {
				return err
			}
		}
		if cursor = entry.Cursor; cursor == 0 {
			return nil
		}
	}
}

func (s *sweep) one(mv MoveOf, key, sub string) error {
	id, ok := mv.Of(key, sub)
	if !ok {
		return nil
	}
	if _, known := slices.BinarySearch(s.known, digest(id)); known {
		return nil
	}
	s.Extra++
	file, err := s.m.docs.File(id)
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
	is, err := m.settled(ctx, part)
	if err == nil && !slices.Contains(phases, is.Phase) {
		err = fmt.Errorf("the part is in phase %s", is.Phase)
	}
	return is, m.wrong(op, part, err)
}
