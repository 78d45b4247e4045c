package document

import (
	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/reply"
	"github.com/keywright/keywright/keyspace/finding"
)

// RunList holds plans, and what became of them, the newest first.
type RunList struct {
	Items []RunRow `json:"items"`
	reply.Page
}

// RunRow represents a plan, and what became of it.
type RunRow struct {
	ID      string `json:"id"`
	Target  string `json:"target"`
	Verb    string `json:"verb"`
	Title   string `json:"title"`
	State   string `json:"state" enum:"planning,planned,refused,running,stopping,stopped,interrupted,done,failed"`
	By      string `json:"by"`
	At      Stamp  `json:"at"` // when it was asked for
	Ended   Stamp  `json:"ended,omitempty"`
	Done    int64  `json:"done"`  // things that were decided about
	Total   int64  `json:"total"` // that are meant
	Problem string `json:"problem,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// RowOfRun returns a plan in the list of plans.
func RowOfRun(target string, r *observe.Run) RunRow {
	return RunRow{r.ID, target, r.Verb, r.Title, string(r.State), r.By, StampOf(r.At), StampOf(r.Ended), r.Done,
		r.Total, r.Problem, r.Hint}
}

// PlanPage represents a plan in short, and what was done of it.
type PlanPage struct {
	RunRow
	Select  map[string]string  `json:"select"`         // what is meant, as it was asked for
	Plan    string             `json:"plan,omitempty"` // the ID of the plan, by its content
	Change  int64              `json:"change"`         // things that would be changed
	Leave   int64              `json:"leave"`
	Bytes   int64              `json:"bytes"`
	Entries []plan.Part        `json:"entries"`      // the first of them
	More    int                `json:"more_entries"` // that are not among them
	Left    []LeftAlone        `json:"refusals"`     // why things are left alone
	Lacks   []plan.Reason      `json:"incomplete"`   // why not all may have been seen
	Changes []plan.Change      `json:"changes"`      // the first that the plan lists
	Listed  int                `json:"listed"`       // how many it lists
	Did     *journal.KeyCounts `json:"did,omitempty"`
	DidLeft []LeftAlone        `json:"did_left"` // why things were left alone when it was executed
}

// LeftAlone represents a reason for which things are left alone.
type LeftAlone struct {
	Code string `json:"code"`
	What string `json:"what"`
	Fix  string `json:"fix,omitempty"`
	Keys int64  `json:"keys"`
}

// LeftAloneOf returns the reasons of a plan.
func LeftAloneOf(all []plan.Left) []LeftAlone {
	out := []LeftAlone{}
	for _, l := range all {
		out = append(out, LeftAlone{string(l.Code), finding.Printable(l.What), finding.Printable(l.Fix), l.Keys})
	}
	return out
}
