// Package phases says where the parts of migrations are: their phases, the gates of the next steps, their processes.
//
// It is made of what the engine says, and reads nothing itself.
package phases

import (
	"slices"
	"time"

	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
)

// Migration represents a migration of the declaration, and where it is.
type Migration struct {
	Name   string
	Away   string // why the server says nothing of it, or why nothing is known
	Parts  []MigrationPart
	Unfit  []string // what the server lacks to be the only place of the records
	Absent bool     // nothing of it is on this machine
}

// MigrationPart describes where a part of a migration is. Its JSON names are stable.
type MigrationPart struct {
	Part      string             `json:"part"`
	Phase     string             `json:"phase"`
	Authority string             `json:"authority"` // the side that decides what a record is: files or redis
	Epoch     int64              `json:"epoch"`
	Since     *time.Time         `json:"since,omitempty"`    // when the phase began
	Changing  bool               `json:"changing,omitempty"` // a change of the phase is under way, or was interrupted
	Lost      string             `json:"lost,omitempty"`     // what Redis has lost, or what the files lack: nothing is written
	Marks     int64              `json:"marks"`              // records that may differ between the sides
	Oldest    float64            `json:"oldest_mark_seconds,omitempty"`
	Compared  int64              `json:"compared"` // reads that were compared since the phase began
	Unequal   int64              `json:"unequal"`  // classes of differences that were found
	Forward   *MigrationStep     `json:"forward,omitempty"`
	Back      *MigrationStep     `json:"back,omitempty"`
	Processes []MigrationProcess `json:"processes"`
}

// MigrationStep represents a step to another phase.
type MigrationStep struct {
	To    string          `json:"to"`
	Gates []MigrationGate `json:"gates"`
}

// MigrationGate represents a gate of a step.
type MigrationGate struct {
	Gate string `json:"gate"`
	Open bool   `json:"open"`
	Has  string `json:"has,omitempty"`  // of a closed one
	Want string `json:"want,omitempty"` // of a closed one
}

// MigrationProcess represents a process of the migration.
type MigrationProcess struct {
	ID        string    `json:"id"`
	Pid       int       `json:"pid"`
	At        time.Time `json:"at"` // when it has last said something
	Live      bool      `json:"live"`
	Confirmed int64     `json:"confirmed"`           // the epoch that it works by
	Otherwise bool      `json:"otherwise,omitempty"` // it declares the part otherwise
}

// PartOf returns where a part is, as the engine says it.
func PartOf(s *migrate.PartStatus) MigrationPart {
	out := MigrationPart{Part: s.Part, Phase: s.State.Phase.String(),
		Authority: phase.Of(s.State.Phase).Authority.String(),
		Epoch:     int64(s.State.Epoch), Changing: s.State.Intent != nil, Marks: s.Facts.Marks,
		Oldest:   s.Facts.Oldest.Seconds(),
		Compared: s.Facts.Compared, Unequal: s.Facts.Unequal, Processes: []MigrationProcess{}}
	if !s.State.Since.IsZero() {
		out.Since = &s.State.Since
	}
	if s.Lost != nil {
		out.Lost = s.Lost.Error()
	}
	rule := phase.Of(s.State.Phase)
	if next, ok := s.State.Phase.Next(); ok {
		out.Forward = &MigrationStep{next.String(), GatesOf(rule.Forward, s.Forward)}
	}
	if before, ok := s.State.Phase.Previous(); ok {
		out.Back = &MigrationStep{before.String(), GatesOf(rule.Back, s.Back)}
	}
	for _, p := range s.Processes {
		out.Processes = append(out.Processes, MigrationProcess{p.ID, p.Pid, p.At, p.Live, int64(p.Confirmed), p.Otherwise})
	}
	return out
}

// GatesOf returns the gates of a step, of which some are closed.
func GatesOf(gates []phase.Gate, closed []phase.Closed) []MigrationGate {
	out := []MigrationGate{}
	for _, g := range gates {
		x := MigrationGate{Gate: g.String(), Open: true}
		if i := slices.IndexFunc(closed, func(c phase.Closed) bool { return c.Gate == g }); i >= 0 {
			x.Open, x.Has, x.Want = false, closed[i].Has, closed[i].Want
		}
		out = append(out, x)
	}
	return out
}

// Unfit returns what the server lacks for any of the parts, each once: parts have entries of their own, which a login
// may lack rights for.
func Unfit(all []migrate.PartStatus) (out []string) {
	for i := range all {
		for _, lack := range all[i].Facts.Unfit {
			if !slices.Contains(out, lack) {
				out = append(out, lack)
			}
		}
	}
	return out
}
