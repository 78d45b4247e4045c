// Package verdict compares the JSON report of an audit with the ground truth of
// the dataset: one difference is an error. It measures nothing.
package verdict

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/keywright/keywright/bench/dataset"
)

// auditReport describes what the benchmark reads of the audit's JSON report. It is
// written out here, not shared with package audit, so that a change of the
// report's names is noticed.
type auditReport struct {
	Complete   bool `json:"complete"`
	Incomplete []struct {
		Text string `json:"text"`
	} `json:"incomplete"`
	Total   figures `json:"total"`
	Entries []struct {
		Name       string           `json:"name"`
		Violations map[string]int64 `json:"violations"`
		figures
	} `json:"entries"`
	Foreign    []figures `json:"foreign"`
	Undeclared struct {
		Owned int64 `json:"owned"`
		Other int64 `json:"other"`
	} `json:"undeclared"`
	Findings []struct {
		Code  string `json:"code"`
		Count int64  `json:"count"`
	} `json:"findings"`
}

type figures struct {
	Keys int64 `json:"keys"`
}

// codes lists the audit's for what the dataset plants.
var codes = map[string]dataset.Violation{
	"KW504": dataset.WrongType,
	"KW505": dataset.MissingTTL,
	"KW506": dataset.TTLTooLong,
	"KW507": dataset.UnexpectedTTL,
}

// Audit fails on any difference between report and truth, in the rows
// of the entries or in the sums of the findings.
func Audit(stdout []byte, truth *dataset.Manifest) error {
	var r auditReport
	if err := json.Unmarshal(stdout, &r); err != nil {
		return fmt.Errorf("the report is not the JSON this benchmark knows: %w", err)
	}
	if !r.Complete {
		return fmt.Errorf("the audit is incomplete: %v", r.Incomplete)
	}
	differences := truth.Diff(r.observed())
	want := planted(truth)
	for code, n := range r.byCode(want) {
		switch {
		case code == "KW516" && n > truth.Undeclared: // of groups of undeclared keys, which are counted as those
			differences = append(differences, fmt.Sprintf("findings %s: %d keys of %d that are undeclared", code, n,
				truth.Undeclared))
		case code != "KW516" && n != want[code]:
			differences = append(differences, fmt.Sprintf("findings %s: %d keys, planted %d", code, n, want[code]))
		}
	}
	if len(differences) > 0 {
		return errors.New("the report differs from the truth:\n  " + strings.Join(differences, "\n  "))
	}
	return nil
}

func (r *auditReport) observed() dataset.Observed {
	o := dataset.Observed{
		Keys: r.Total.Keys, Undeclared: r.Undeclared.Owned + r.Undeclared.Other, UndeclaredOwned: r.Undeclared.Owned,
		Entries: map[string]dataset.EntryTruth{},
	}
	for _, glob := range r.Foreign {
		o.Foreign += glob.Keys
	}
	for _, row := range r.Entries {
		entry := dataset.EntryTruth{Name: row.Name, Keys: row.Keys, Violations: map[dataset.Violation]int64{}}
		for code, n := range row.Violations {
			v, known := codes[code]
			if !known {
				v = dataset.Violation(code)
			}
			entry.Violations[v] = n
		}
		o.Entries[row.Name] = entry
	}
	return o
}

// byCode sums the findings; every code that must occur is there, if with 0.
func (r *auditReport) byCode(must map[string]int64) map[string]int64 {
	sums := map[string]int64{}
	for code := range must {
		sums[code] = 0
	}
	for _, f := range r.Findings {
		sums[f.Code] += f.Count
	}
	return sums
}

// planted says how many keys each code is to be found for.
func planted(truth *dataset.Manifest) map[string]int64 {
	keys := map[string]int64{"KW501": truth.UndeclaredOwned, "KW502": truth.Undeclared - truth.UndeclaredOwned}
	for code, violation := range codes {
		keys[code] = truth.Total(violation)
	}
	return keys
}
