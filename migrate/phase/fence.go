package phase

import (
	"errors"
	"fmt"
)

// State describes what is kept of a part beside the files. It decides: a writer takes its
// epoch from here only.
//
// Epochs only grow. A change takes two steps: Begin closes the part (Intent is set, and
// no writer has an epoch), then Finish or Undo opens it with an epoch that no writer
// has had. So writers of two epochs never write at the same time, wherever a change
// was interrupted.
type State struct {
	Phase  Phase   `json:"phase"`
	Epoch  uint64  `json:"epoch"`
	Intent *Intent `json:"intent,omitempty"`
	// Lag is the lowest epoch that Redis may still have, since a change was undone
	// while Redis was away; 0: Redis has Epoch.
	Lag uint64 `json:"lag,omitempty"`
}

// Intent represents a change that has begun.
type Intent struct {
	To    Phase  `json:"to"`
	Epoch uint64 `json:"epoch"` // with which the sides are made equal meanwhile
}

// Fence describes what Redis has of a part. Each script looks at its epoch.
type Fence struct {
	There bool
	Epoch uint64
}

// The refusals of a fence.
var (
	ErrChanging = errors.New("the phase is being changed")
	ErrEpoch    = errors.New("the epoch is over")
	ErrStep     = errors.New("phases change one step at a time")
	ErrLost     = errors.New("the server has lost data: its epoch or its last ticket is an earlier one")
	ErrAhead    = errors.New("the server has a later epoch than the files")
)

// MayWrite is nil if a writer that has read this epoch may write a file now.
func (s State) MayWrite(epoch uint64) error {
	switch {
	case s.Intent != nil:
		return ErrChanging
	case s.Epoch != epoch:
		return ErrEpoch
	}
	return nil
}

// Begin closes the part for a change to the next phase or the previous one.
func (s State) Begin(to Phase) (State, error) {
	if s.Intent != nil {
		return s, ErrChanging
	}
	if next, ok := s.Phase.Next(); !ok || to != next {
		if previous, ok := s.Phase.Previous(); !ok || to != previous {
			return s, fmt.Errorf("%w: %s to %s", ErrStep, s.Phase, to)
		}
	}
	s.Intent = &Intent{To: to, Epoch: s.Epoch + 1}
	return s, nil
}

// Finish opens the part in its new phase. Redis must have the epoch already.
func (s State) Finish() State {
	if s.Intent == nil {
		return s
	}
	return State{Phase: s.Intent.To, Epoch: s.Intent.Epoch + 1}
}

// Undo opens the part in the phase that it had. Its epoch is higher than any that the
// change has used, so that nothing of the change arrives late. reached says that Redis
// has that epoch. Where Redis decides, it must have been reached.
func (s State) Undo(reached bool) (State, error) {
	if s.Intent == nil {
		return s, nil
	}
	out := State{Phase: s.Phase, Epoch: s.Intent.Epoch + 2}
	if reached {
		return out, nil
	}
	if Of(s.Phase).Authority != Files {
		return s, ErrChanging
	}
	if out.Lag = s.Lag; out.Lag == 0 {
		out.Lag = s.Epoch
	}
	return out, nil
}

// MayRaise reports whether a step may give Redis a new epoch: it has what the last step has
// left, or what a change may have left that was undone while Redis was away.
func (s State) MayRaise(f Fence, to uint64) error {
	low := s.Epoch
	if s.Lag > 0 {
		low = s.Lag
	}
	switch {
	case f.Epoch > to:
		return ErrAhead
	case s.Phase == Off:
		return nil // nothing in Redis is of this migration yet
	case !f.There || f.Epoch < low:
		return ErrLost
	}
	return nil
}

// MayWriteRedis is nil if a script that carries this epoch may write.
func (f Fence) MayWriteRedis(epoch uint64) error {
	switch {
	case !f.There:
		return ErrLost
	case f.Epoch < epoch:
		return ErrLost
	case f.Epoch > epoch:
		return ErrEpoch
	}
	return nil
}
