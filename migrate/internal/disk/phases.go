package disk

import (
	"fmt"
	"path/filepath"

	"github.com/keywright/keywright/migrate/phase"
)

// Phases describes what is kept of all parts beside the files. It decides: see package phase.
type Phases struct {
	Form  int                        `json:"form"`
	Parts map[string]phase.PartState `json:"parts"`
}

// PhasesForm is the form of the file of the phases.
const PhasesForm = 1

// Of returns the state of a part.
func (p Phases) Of(part string) phase.PartState { return p.Parts[part] }

// With returns a copy in which a part has another state.
func (p Phases) With(part string, s phase.PartState) Phases {
	out := Phases{Form: PhasesForm, Parts: map[string]phase.PartState{}}
	for name, is := range p.Parts {
		out.Parts[name] = is
	}
	out.Parts[part] = s
	return out
}

// PhasePath returns the file of the phases.
func (d *Disk) PhasePath() string { return filepath.Join(d.Own, "phase.json") }

// Phases reads the phases. It is read for each write: a copy that is kept could be that
// of before.
func (d *Disk) Phases() (p Phases, err error) {
	if _, err := ReadJSON(d.PhasePath(), &p); err != nil {
		return Phases{}, err
	}
	if p.Form > PhasesForm {
		return p, fmt.Errorf("%s was written by a newer keywright (form %d)", d.PhasePath(), p.Form)
	}
	return p, nil
}

// SeenPath returns the file of the last tickets that processes have seen.
func (d *Disk) SeenPath() string { return filepath.Join(d.Own, "seen.json") }

// ShadowPath returns the file of what comparisons have found.
func (d *Disk) ShadowPath() string { return filepath.Join(d.Own, "shadow.json") }
