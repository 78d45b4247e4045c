package document

import (
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/reply"
)

// Targets represents the fleet.
type Targets struct {
	Items []TargetRow `json:"items"`
	reply.Page
}

// TargetRow represents one target.
type TargetRow struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Declaration string `json:"declaration"` // the file
	Kind        string `json:"kind" enum:"server,snapshot"`
	// starting: nothing has been read yet; broken: it cannot be watched
	State      string            `json:"state" enum:"starting,ok,stale,away,partial,snapshot,broken"`
	Labels     map[string]string `json:"labels,omitempty"` // of the file of targets
	Why        string            `json:"why,omitempty"`    // the state is not ok
	Keys       int64             `json:"keys"`
	Bytes      int64             `json:"bytes"`
	Violations int64             `json:"violations"`
	Errors     int64             `json:"errors"` // of the violations, those of rules that are errors
	Measured
}

// Target returns a target in the list of targets.
func (w *Writer) Target(t *observe.Target, st observe.State) TargetRow {
	row := TargetRow{ID: t.ID, Name: t.Name, Declaration: t.Declaration.File, Labels: t.Labels,
		Kind: "server", State: "ok", Measured: w.Measured(t, &st)}
	if t.Server == nil {
		row.Kind, row.State = "snapshot", "snapshot"
	}
	if a := st.Shown(); a != nil {
		row.Keys, row.Bytes = a.Report.Total.Keys, a.Report.Total.Bytes
		for _, e := range w.Rows(t, a) {
			row.Violations, row.Errors = row.Violations+e.Violations, row.Errors+e.Errors
		}
	}
	away := st.Away()
	switch {
	case away != nil:
		row.State = "away"
	case st.Shown() == nil && st.Failed == nil:
		row.State = "starting"
	case row.Partial != "":
		row.State = "partial"
	case row.Stale:
		row.State = "stale"
	}
	var why []string
	stale := true
	for _, u := range t.Unknown(&st, w.Now()) {
		why, stale = append(why, u.Part+": "+u.Why), stale && u.Stale
	}
	if len(why) > 0 && row.State == "ok" {
		row.State = map[bool]string{true: "stale", false: "partial"}[stale]
	}
	if row.Why = observe.Reasons(why); away != nil {
		row.Why = away.What
	}
	return row
}
