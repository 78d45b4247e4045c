package migrate

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/keywright/keywright/migrate/phase"
)

// phases describes what is kept of all parts beside the files. It decides: see package phase.
type phases struct {
	Form  int                  `json:"form"`
	Parts map[string]PartState `json:"parts"`
}

// PartState represents the phase of a part.
type PartState struct {
	phase.State
	Since time.Time `json:"since"` // when the phase began
}

const phasesForm = 1

func (p phases) of(part string) PartState { return p.Parts[part] }

// with returns a copy in which a part has another state.
func (p phases) with(part string, s PartState) phases {
	out := phases{Form: phasesForm, Parts: map[string]PartState{}}
	for name, is := range p.Parts {
		out.Parts[name] = is
	}
	out.Parts[part] = s
	return out
}

func (d *disk) phasePath() string { return filepath.Join(d.own, "phase.json") }

// phases reads the phases. It is read for each write: a copy that is kept could be that
// of before.
func (d *disk) phases() (p phases, err error) {
	if _, err := readJSON(d.phasePath(), &p); err != nil {
		return p, err
	}
	if p.Form > phasesForm {
		return p, fmt.Errorf("%s was written by a newer keywright (form %d)", d.phasePath(), p.Form)
	}
	return p, nil
}

func (d *disk) seenPath() string { return filepath.Join(d.own, "seen.json") }

func (d *disk) shadowPath() string { return filepath.Join(d.own, "shadow.json") }
