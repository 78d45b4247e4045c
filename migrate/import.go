package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/internal/store"
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
	if err := m.alike(part); err != nil {
		return nil, m.wrong("import", part, err)
	}
	report := &ImportReport{Part: part}
	if err := m.note(part, is.Epoch, func(n *noted) { n.Imported = false }); err != nil {
		return nil, err
	}
	o.Batch = min(max(cmp.Or(o.Batch, 500), 1), 5000)
	pace := newPace(o.PerSecond)
	err = m.docs.Files(ctx, m.disk.Root, part, func(file string) error {
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
	ticket, err := m.server.NewTicket(ctx, part, epoch) // before the file is opened
	if err != nil {
		return err
	}
	in, err := m.disk.Open(file)
	if err != nil || in == nil {
		return err
	}
	defer in.Close()
	follows := m.server.Follow(part, epoch, ticket, false)
	loads := &store.Loads{Server: m.server, At: m.disk.At, Report: report, Progress: o.Progress, Free: make(chan struct{}, store.MaxLoads),
		Began: time.Now()}
	var batch []sources.Group
	size := 0
	flush := func() error {
		if err := pace.wait(ctx, len(batch)); err != nil {
			return err
		}
		full := batch
		batch, size = make([]sources.Group, 0, len(full)), 0
		return loads.Begin(ctx, follows, full)
	}
	err = m.groups(in, file, part, nil, func(g sources.Group) error {
		size += g.Bytes()
		if batch = append(batch, g); len(batch) < o.Batch && size < sources.BatchBytes {
			return nil
		}
		return flush()
	}, func(r *record.Reject) error {
		if m.partOf[r.Move.Name] != part {
			return nil
		}
		loads.Mu.Lock()
		defer loads.Mu.Unlock()
		if report.Rejected++; len(report.Rejects) < maxListed {
			report.Rejects = append(report.Rejects, r)
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	if failed := loads.End(); err == nil || errors.Is(err, store.ErrLoad) {
		err = failed
	}
	if errors.Is(err, store.ErrAgain) {
		err = fmt.Errorf("%s: it takes more than an hour: import it faster", file)
	}
	return errors.Join(err, disk.Unchanged(in))
}
