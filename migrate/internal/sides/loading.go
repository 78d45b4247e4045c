package sides

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/internal/store"
	"github.com/keywright/keywright/migrate/record"
	"github.com/keywright/keywright/migrate/step"
)

// ImportFile brings the records of a file to Redis.
func ImportFile(ctx context.Context, m *Sides, part string, epoch uint64, file string,
	report *step.ImportReport, o step.ImportOptions, pace *Pace) error {
	ticket, err := m.Server.NewTicket(ctx, part, epoch) // before the file is opened
	if err != nil {
		return err
	}
	in, err := m.Disk.Open(file)
	if err != nil || in == nil {
		return err
	}
	defer in.Close()
	follows := m.Server.Follow(part, epoch, ticket, false)
	loads := &store.Loads{Server: m.Server, At: m.Disk.At, Report: report, Progress: o.Progress,
		Free: make(chan struct{}, store.MaxLoads), Began: time.Now()}
	var batch []sources.Group
	size := 0
	flush := func() error {
		if err := pace.Wait(ctx, len(batch)); err != nil {
			return err
		}
		full := batch
		batch, size = make([]sources.Group, 0, len(full)), 0
		return loads.Begin(ctx, follows, full)
	}
	err = m.Groups(in, file, part, nil, func(g sources.Group) error {
		size += g.Bytes()
		if batch = append(batch, g); len(batch) < o.Batch && size < sources.BatchBytes {
			return nil
		}
		return flush()
	}, func(r *record.Reject) error {
		if m.PartOf[r.Move.Name] != part {
			return nil
		}
		loads.Mu.Lock()
		defer loads.Mu.Unlock()
		if report.Rejected++; len(report.Rejects) < step.MaxListed {
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
