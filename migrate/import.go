package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// maxListed bounds the rejects and faults that a report lists. All are counted.
const maxListed = 100

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

// Import brings every record of the files to Redis, in the phases dual-write, backfill and
// shadow. The gate of backfill asks for an import in that phase.
// What processes write meanwhile is not undone. It may be stopped, killed and run again: a
// run that finds all there changes nothing. Only a run that comes to its end without a
// reject opens the gate.
func (m *Migration) Import(ctx context.Context, part string, o ImportOptions) (*ImportReport, error) {
	if err := m.takesPart("import", part); err != nil {
		return nil, err
	}
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
		err = m.note(part, is.Epoch, func(n *noted) { n.Imported, n.Loaded = true, true })
	}
	return report, m.wrong("import", part, err)
}

func (m *Migration) importFile(ctx context.Context, part string, epoch uint64, file string,
	report *ImportReport, o ImportOptions, pace *pace) error {
	ticket, err := m.ticket(ctx, part, epoch) // before the file is opened
	if err != nil {
		return err
	}
	in, err := m.disk.open(file)
	if err != nil || in == nil {
		return err
	}
	defer in.Close()
	batch := m.follow(part, epoch, ticket, false)
	loads := &loads{m: m, report: report, progress: o.Progress, free: make(chan struct{}, maxLoads)}
	flush := func() error {
		defer func() { batch.items = nil }()
		if err := pace.wait(ctx, len(batch.items)); err != nil {
			return err
		}
		return loads.begin(ctx, batch)
	}
	err = m.groups(in, file, part, func(g group) error {
		loads.mu.Lock()
		report.Records++
		loads.mu.Unlock()
		if batch.items = append(batch.items, item{mv: m.moves[g.id.Move], id: g.id,
			records: g.records}); len(batch.items) < o.Batch {
			return nil
		}
		return flush()
	}, func(r *record.Reject) error {
		if m.partOf[r.Move.Name] != part {
			return nil
		}
		loads.mu.Lock()
		defer loads.mu.Unlock()
		if report.Rejected++; len(report.Rejects) < maxListed {
			report.Rejects = append(report.Rejects, r)
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	if failed := loads.end(); err == nil || errors.Is(err, errLoad) {
		err = failed
	}
	if errors.Is(err, errAgain) {
		err = fmt.Errorf("%s: it takes more than an hour: import it faster", file)
	}
	return errors.Join(err, unchanged(in))
}

// maxLoads is how many batches of an import are under way while more of the file is read.
const maxLoads = 2

// errLoad is a batch that is not begun, since one before it has failed.
var errLoad = errors.New("a batch has failed")

// loads are the batches of an import that are under way. No record is in two files, and of
// two of one file that are one in Redis any may be the last: a plan refuses such files.
type loads struct {
	m        *Migration
	progress func(ImportReport)
	free     chan struct{}
	work     sync.WaitGroup

	mu     sync.Mutex
	report *ImportReport
	err    error
}

// begin loads a batch, and waits where too many are under way.
func (l *loads) begin(ctx context.Context, batch put) error {
	if len(batch.items) == 0 {
		return nil
	}
	select {
	case l.free <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	l.mu.Lock()
	failed := l.err != nil
	l.mu.Unlock()
	if failed {
		<-l.free
		return errLoad
	}
	l.work.Go(func() {
		defer func() { <-l.free }()
		words, err := l.m.load(ctx, batch)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.count(batch, words)
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

func (l *loads) count(batch put, words []string) {
	now := time.Now()
	for _, x := range batch.items {
		if len(x.living(now)) == 0 {
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

// load writes a batch of an import: its steps go to the server together.
func (m *Migration) load(ctx context.Context, batch put) (out []string, err error) {
	batch.now, batch.seen = time.Now(), m.seen.of(batch.part)
	steps := batch.parts()
	words := make([][]string, len(steps))
	errs := make([]error, len(steps))
	var work sync.WaitGroup
	for i, step := range steps {
		work.Go(func() { words[i], errs[i] = m.put(ctx, step) })
	}
	work.Wait()
	return slices.Concat(words...), errors.Join(errs...)
}
