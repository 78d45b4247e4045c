package audit

import (
	"iter"

	"github.com/keywright/keywright/keyspace/finding"
)

// Line represents one line of a report as JSON Lines: one of its members is there, the one
// that Kind names. Its JSON names are stable.
type Line struct {
	Kind       string           `json:"kind" enum:"entry,legacy,foreign,suggestion,large_key,finding,report,offender"`
	Entry      *EntryRow        `json:"entry,omitempty"`
	Legacy     *EntryRow        `json:"legacy,omitempty"`
	Foreign    *GlobRow         `json:"foreign,omitempty"`
	Suggestion *Suggestion      `json:"suggestion,omitempty"`
	Large      *LargeKey        `json:"large_key,omitempty"`
	Finding    *finding.Finding `json:"finding,omitempty"`
	Report     *Report          `json:"report,omitempty"`   // the last line: the rest of the report
	Offender   *Offender        `json:"offender,omitempty"` // with --keys-of
}

// Offender represents a live key that is not as declared.
type Offender struct {
	Code  string          `json:"code"`
	DB    int             `json:"db"`
	Key   finding.JSONKey `json:"key"`
	Entry string          `json:"entry,omitempty"` // that declares the key
}

// Lines returns the rows and findings of the report one by one, and last the report
// without them.
func (r *Report) Lines() iter.Seq[Line] {
	return func(yield func(Line) bool) {
		for _, f := range r.Findings {
			if !yield(Line{Kind: "finding", Finding: &f}) {
				return
			}
		}
		for _, s := range r.Undeclared.Suggestions {
			if !yield(Line{Kind: "suggestion", Suggestion: &s}) {
				return
			}
		}
		for _, e := range r.Entries {
			if !yield(Line{Kind: "entry", Entry: &e}) {
				return
			}
		}
		for _, e := range r.Legacy {
			if !yield(Line{Kind: "legacy", Legacy: &e}) {
				return
			}
		}
		for _, g := range r.Foreign {
			if !yield(Line{Kind: "foreign", Foreign: &g}) {
				return
			}
		}
		for _, k := range r.Largest {
			if !yield(Line{Kind: "large_key", Large: &k}) {
				return
			}
		}
		short := *r
		short.Entries, short.Legacy, short.Foreign, short.Largest, short.Undeclared.Suggestions = []EntryRow{}, nil, nil,
			nil, nil
		short.Findings = []finding.Finding{}
		yield(Line{Kind: "report", Report: &short})
	}
}
