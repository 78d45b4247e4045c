package migrate

import (
	"context"

	"errors"
	"os"

	"slices"

	"github.com/keywright/keywright/migrate/internal/shadow"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// PartStatus describes what there is to say about a part.
type PartStatus struct {
	Part      string
	State     PartState
	Facts     phase.Facts
	Forward   []phase.Closed // gates to the next phase that do not open
	Back      []phase.Closed // gates to the phase before
	Processes []Process
	Classes   []Class // differences that comparisons have found
	Cut       int64   // of classes beyond the most that are kept
	// Lost says that Redis does not know the epoch of the part: phase.ErrLost after a flush or an older backup,
	// phase.ErrAhead where the files are older than Redis. Nothing is written then.
	Lost error
}

// Status says of each part where it is, and what the next change lacks. It changes nothing.
func (m *Migration) Status(ctx context.Context) ([]PartStatus, error) {
	out := make([]PartStatus, 0, len(m.parts))
	for _, p := range m.parts {
		s, err := m.statusOf(ctx, p)
		if err != nil {
			return out, m.wrong("status", p.Name, err)
		}
		out = append(out, s)
	}
	return out, nil
}

func (m *Migration) statusOf(ctx context.Context, p PartOf) (s PartStatus, err error) {
	s.Part = p.Name
	if s.State, err = m.Phase(p.Name); err != nil {
		return s, err
	}
	if s.Facts, err = m.Facts(ctx, p.Name); err != nil {
		return s, err
	}
	s.Lost = m.lost(ctx, p.Name, s.State)
	if next, ok := s.State.Phase.Next(); ok {
		s.Forward = closedGates(s.State.Phase, next, p.Gates, s.Facts)
	}
	if before, ok := s.State.Phase.Previous(); ok {
		s.Back = closedGates(s.State.Phase, before, p.Gates, s.Facts)
	}
	if s.Processes, err = m.Processes(p.Name); err != nil {
		return s, err
	}
	s.Classes, s.Cut, err = m.Classes(p.Name)
	return s, err
}

// lost is nil if Redis knows the epoch of a part, or does not answer.
func (m *Migration) lost(ctx context.Context, part string, is PartState) error {
	if m.link.None() || is.Phase == phase.Off && is.Intent == nil && is.Epoch == 0 {
		return nil
	}
	_, has, ahead, err := m.inRedis(ctx, part)
	low := is.Epoch
	if is.Lag > 0 {
		low = is.Lag
	}
	switch {
	case err != nil:
		return nil // what it cannot be asked is said by the facts
	case ahead:
		return phase.ErrAhead
	case has < low && is.Phase != phase.Off: // a part in phase off has nothing in Redis that could be lost
		return phase.ErrLost
	}
	return nil
}

// Size returns how many files a part has now, and their bytes.
func (m *Migration) Size(ctx context.Context, part string) (files, bytes int64, err error) {
	err = m.docs.Files(ctx, m.disk.Root, part, func(file string) error {
		path, err := m.disk.Source(file)
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

// Classes returns the differences that comparisons of all processes have found in a part, those
// seen last first. cut is how many were of classes beyond the most that are kept.
func (m *Migration) Classes(part string) (out []Class, cut int64, err error) {
	p, err := shadow.Found(m.disk, part)
	if err != nil || p == nil {
		return nil, 0, err
	}
	out = p.Classes
	slices.SortFunc(out, func(a, b Class) int { return b.Last.Compare(a.Last) })
	return out, p.Cut, nil
}

// lookBoth reads a record from both sides once, and compares.
func (m *Migration) lookBoth(ctx context.Context, id record.ID) (epoch uint64, diffs []record.Difference, err error) {
	part, mv, err := m.part(id)
	if err != nil {
		return 0, nil, err
	}
	is, err := m.settled(ctx, part)
	if err != nil {
		return 0, nil, err
	}
	if !phase.Of(is.Phase).Both() {
		return is.Epoch, nil, phase.ErrEpoch
	}
	defer m.flight.begin(part, is.Epoch)()
	file, err := m.readFiles(ctx, id)
	if err != nil {
		return is.Epoch, nil, err
	}
	stored, err := m.readRedis(ctx, part, mv, is.Epoch, id)
	if err != nil {
		return is.Epoch, nil, err
	}
	return is.Epoch, sources.Different(mv, file, stored), nil
}

// hasMark reports whether a record has a mark.
func (m *Migration) hasMark(id record.ID) (bool, error) {
	open, err := m.openMarks(m.partOf[id.Move])
	return err == nil && open.has(id), err
}

// sharedShadow returns what all processes have found of a part in an epoch.
func (m *Migration) sharedShadow(part string, epoch uint64) (compared, unequal int64, err error) {
	p, err := shadow.Found(m.disk, part)
	if err != nil || p == nil {
		return 0, 0, err
	}
	if p.Epoch == epoch {
		compared = p.Compared
	}
	for _, c := range p.Classes {
		if c.Epoch == epoch {
			unequal++
		}
	}
	return compared, unequal, nil
}
