package migrate

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// maxListed bounds the rejects and faults that a report lists. All are counted.
const maxListed = 100

// PlanReport is what an import would do, from the files alone.
type PlanReport struct {
	Part      string
	Files     int64
	Records   int64
	Bytes     int64 // of the files
	Moves     []MoveCount
	Rejects   []*record.Reject // at most 100
	Rejected  int64
	Faults    []error // files that cannot be read, or do not come back as they were; at most 100
	Faulty    int64
	RoundTrip bool // every record comes back from its stored form, and every file byte by byte
}

// MoveCount is the records of a move.
type MoveCount struct {
	Move    string
	Records int64
	Bytes   int64 // of keys and values as they are stored
}

// Plan reads the files and says what an import would do. It makes of each record what Redis
// would have, and of that the file again, and compares.
func (m *Migration) Plan(ctx context.Context, part string) (*PlanReport, error) {
	if !m.known(part) {
		return nil, m.wrong("plan", part, errUnknown)
	}
	is, err := m.Phase(part)
	if err != nil {
		return nil, err
	}
	p := &PlanReport{Part: part}
	for _, fault := range m.unsupported(part) {
		p.Faulty, p.Faults = p.Faulty+1, append(p.Faults, fault)
	}
	counts := map[string]*MoveCount{}
	for _, mv := range m.movesOf(part) {
		counts[mv.Name] = &MoveCount{Move: mv.Name}
	}
	err = m.docs.Files(ctx, m.disk.root, part, func(file string) error {
		p.Files++
		if fault := m.planFile(ctx, part, file, p, counts); fault != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if p.Faulty++; len(p.Faults) < maxListed {
				p.Faults = append(p.Faults, fault)
			}
		}
		return nil
	})
	for _, mv := range m.movesOf(part) {
		p.Moves = append(p.Moves, *counts[mv.Name])
	}
	if err != nil {
		return p, m.wrong("plan", part, err)
	}
	if p.RoundTrip = p.Faulty == 0 && p.Rejected == 0; is.Intent == nil {
		err = m.note(part, is.Epoch, func(n *noted) { n.RoundTrip = p.RoundTrip })
	}
	return p, err
}

// unsupported are the moves of a part that cannot be written to both sides.
func (m *Migration) unsupported(part string) (out []error) {
	for _, mv := range m.movesOf(part) {
		if _, _, err := m.part(record.ID{Move: mv.Name}); err != nil {
			out = append(out, err)
		}
	}
	return out
}

// planRecords and planBytes bound the records of a file that are held to be written back
// at once: each time the whole file is read.
const (
	planRecords = 200_000
	planBytes   = 32 << 20
)

func (m *Migration) planFile(ctx context.Context, part, file string, p *PlanReport,
	counts map[string]*MoveCount) error {
	in, err := m.openSource(file)
	if err != nil || in == nil {
		return err
	}
	defer in.Close()
	p.Bytes += in.was.Size()
	var edits []record.Edit
	var held int64
	flush := func() error {
		defer func() { edits, held = nil, 0 }()
		return m.comesBack(file, edits)
	}
	err = m.groups(in, file, part, func(g group) error {
		p.Records += int64(len(g.records))
		count := counts[g.id.Move]
		count.Records++
		values := stored(m.moves[g.id.Move].Kind, g.records)
		size := int64(len(g.id.Key) + len(g.id.Sub))
		for _, v := range values {
			size += int64(len(v))
		}
		count.Bytes, held = count.Bytes+size, held+size
		mv := m.moves[g.id.Move]
		back := taken(mv.Kind, mv.Move, g.id, answer{more: append([]string{"0", "-1"}, values...)})
		if edits = append(edits, editsOf(mv, g.id, back)...); len(edits) < planRecords && held < planBytes {
			return ctx.Err()
		}
		return flush()
	}, func(r *record.Reject) error {
		if m.partOf[r.Move.Name] != part {
			return nil
		}
		if p.Rejected++; len(p.Rejects) < maxListed {
			p.Rejects = append(p.Rejects, r)
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	return errors.Join(err, unchanged(in))
}

// comesBack is nil if a file is the same, byte by byte, after records that were made of
// what Redis would have were written into it.
func (m *Migration) comesBack(file string, edits []record.Edit) error {
	in, err := m.openSource(file)
	if err != nil || in == nil {
		return err
	}
	defer in.Close()
	before, after := sha256.New(), sha256.New()
	changed, err := m.docs.Rewrite(after, io.TeeReader(in, before), file, edits)
	if err == nil {
		_, err = io.Copy(before, in)
	}
	if err == nil && (changed || !bytes.Equal(before.Sum(nil), after.Sum(nil))) {
		err = fmt.Errorf("%s: its records do not come back from Redis as they are written", file)
	}
	return err
}

// ImportOptions bound an import.
type ImportOptions struct {
	PerSecond int                // records; 0: as fast as it goes
	Batch     int                // records in one round trip; 0: 500
	Progress  func(ImportReport) // called after each batch; nil: it is not asked for
}

// ImportReport is what an import did.
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

// Import brings every record of the files to Redis, in the phases dual-write and backfill.
// What processes write meanwhile is not undone. It may be stopped, killed and run again: a
// run that finds all there changes nothing. Only a run that comes to its end without a
// reject opens the gate.
func (m *Migration) Import(ctx context.Context, part string, o ImportOptions) (*ImportReport, error) {
	is, err := m.inPhase(ctx, "import", part, phase.DualWrite, phase.Backfill, phase.Shadow)
	if err != nil {
		return nil, err
	}
	report := &ImportReport{Part: part}
	if err := m.note(part, is.Epoch, func(n *noted) { n.Imported = false }); err != nil {
		return nil, err
	}
	o.Batch = min(max(cmp.Or(o.Batch, 500), 1), 5000)
	pace := newPace(o.PerSecond)
	err = m.docs.Files(ctx, m.disk.root, part, func(file string) error {
		report.Files++
		return m.importFile(ctx, part, is.Epoch, file, report, o, pace)
	})
	if err == nil && report.Rejected == 0 {
		err = m.note(part, is.Epoch, func(n *noted) { n.Imported = true })
	}
	return report, m.wrong("import", part, err)
}

func (m *Migration) importFile(ctx context.Context, part string, epoch uint64, file string,
	report *ImportReport, o ImportOptions, pace *pace) error {
	ticket, err := m.ticket(ctx, part, epoch) // before the file is opened
	if err != nil {
		return err
	}
	in, err := m.openSource(file)
	if err != nil || in == nil {
		return err
	}
	defer in.Close()
	batch := m.follow(part, epoch, ticket, false)
	flush := func() error {
		defer func() { batch.items = nil }()
		if err := pace.wait(ctx, len(batch.items)); err != nil {
			return err
		}
		err := m.load(ctx, batch, report)
		if o.Progress != nil && err == nil {
			o.Progress(*report)
		}
		return err
	}
	err = m.groups(in, file, part, func(g group) error {
		report.Records++
		if batch.items = append(batch.items, item{mv: m.moves[g.id.Move], id: g.id,
			records: g.records}); len(batch.items) < o.Batch {
			return nil
		}
		return flush()
	}, func(r *record.Reject) error {
		if m.partOf[r.Move.Name] != part {
			return nil
		}
		if report.Rejected++; len(report.Rejects) < maxListed {
			report.Rejects = append(report.Rejects, r)
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	if errors.Is(err, errAgain) {
		err = fmt.Errorf("%s: it takes more than an hour: import it faster", file)
	}
	return errors.Join(err, unchanged(in))
}

// load writes a batch of an import: its steps go to the server together.
func (m *Migration) load(ctx context.Context, batch put, report *ImportReport) error {
	batch.now, batch.seen = time.Now(), m.seen.Load()
	for _, x := range batch.items {
		if ends := endOf(x.records); !ends.IsZero() && !ends.After(batch.now) {
			report.Over++
		}
	}
	steps := batch.parts()
	words := make([][]string, len(steps))
	errs := make([]error, len(steps))
	var work sync.WaitGroup
	for i, step := range steps {
		work.Go(func() { words[i], errs[i] = m.put(ctx, step) })
	}
	work.Wait()
	for i := range steps {
		for _, w := range words[i] {
			switch w {
			case "ok":
				report.Written++
			case "same":
				report.Same++
			case "stale":
				report.Newer++
			}
		}
	}
	return errors.Join(errs...)
}
