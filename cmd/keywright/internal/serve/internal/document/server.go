package document

import (
	"github.com/keywright/keywright/audit/doctor"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source/server/examine"
)

// ServerPage describes what the server is and what is dangerous about it.
type ServerPage struct {
	Facts    []examine.Fact  `json:"facts"`
	Advice   []Advice        `json:"advice"`
	NotKnown []examine.Fact  `json:"not_known"` // what could not be looked at, and why
	Shards   []observe.Shard `json:"shards"`
	Report   *ReportScope    `json:"report,omitempty"`
	Measured
}

// Advice represents a finding of the doctor.
type Advice struct {
	Code  string `json:"code"`  // of the rule
	Level string `json:"level"` // "danger", "warning" or "note"
	What  string `json:"what"`
	Why   string `json:"why"`
	Fix   string `json:"fix"`
}

// AdviceOf returns findings of the doctor, each with the reason of its rule.
func AdviceOf(found []finding.Finding) (out []Advice) {
	level := map[finding.Severity]string{finding.Error: "danger", finding.Warning: "warning", finding.Note: "note"}
	why := map[string]string{}
	for _, r := range doctor.Rules() {
		why[r.Code] = r.Explain
	}
	for _, f := range found {
		out = append(out, Advice{f.Code, level[f.Severity], f.Message, why[f.Code], f.Fix})
	}
	return out
}
