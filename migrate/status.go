package migrate

import (
	"context"

	"github.com/keywright/keywright/migrate/phase"
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
