package document

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/internal/history"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
)

// Overview represents a target on one page.
type Overview struct {
	Target   TargetRow `json:"target"`
	Keyspace About     `json:"keyspace"`
	Totals   Totals    `json:"totals"`
	// with the rows of what no entry declares: their keys and bytes are those of the totals
	Entries  []EntryRow      `json:"entries"`
	Changed  []Changed       `json:"changed"` // the largest changes first
	Since    Stamp           `json:"since,omitempty"`
	Keys     int64           `json:"keys_delta"`  // of all, since then
	Bytes    int64           `json:"bytes_delta"` // of all, since then
	Findings []FindingCount  `json:"findings"`
	Summary  finding.Counts  `json:"summary"` // of the findings, by severity
	Report   *ReportScope    `json:"report,omitempty"`
	Kept     string          `json:"history_error,omitempty"` // why history could not be written
	Sources  map[string]bool `json:"has"`                     // which pages have something to show
	Measured
}

// About describes what is declared of the whole keyspace.
type About struct {
	Name  string `json:"name"`
	Doc   string `json:"doc,omitempty"`
	Owner string `json:"owner,omitempty"`
	File  string `json:"file"`
}

// Totals holds the figures of all keys.
type Totals struct {
	Keys            int64 `json:"keys"`
	Bytes           int64 `json:"bytes"`
	NoTTL           int64 `json:"no_ttl"`
	Undeclared      int64 `json:"undeclared"` // keys
	UndeclaredBytes int64 `json:"undeclared_bytes"`
	Foreign         int64 `json:"foreign"` // keys
	ForeignBytes    int64 `json:"foreign_bytes"`
	Violations      int64 `json:"violations"`
}

// Changed represents an entry that is not as it was.
type Changed struct {
	Entry    string   `json:"entry"` // the name of its row
	Keys     int64    `json:"keys_delta"`
	Bytes    int64    `json:"bytes_delta"`
	NewCodes []string `json:"new_codes"` // rules that it violates and did not
	Gone     []string `json:"gone_codes"`
}

// FindingCount describes how many findings a rule has.
type FindingCount struct {
	Code     string `json:"code"`
	Severity string `json:"severity" enum:"note,warning,error"`
	Title    string `json:"title"` // of the rule
	Findings int64  `json:"findings"`
	Keys     int64  `json:"keys"`    // live keys that the findings are about
	Entries  int64  `json:"entries"` // with such a finding
}

// ReportScope describes what the figures are of.
type ReportScope struct {
	Server     string   `json:"server"`
	Endpoint   string   `json:"endpoint"`
	Shards     int      `json:"shards"`
	Databases  int      `json:"databases"`
	Seconds    float64  `json:"seconds"`
	Sampled    bool     `json:"sampled"`
	Estimated  bool     `json:"estimated_bytes"`
	Expected   int64    `json:"expected_keys"`
	MaxRepeats int64    `json:"max_repeats"`
	Notes      []string `json:"notes"`
	Verdict    string   `json:"verdict"`
}

// Overview returns a target on one page.
func (w *Writer) Overview(ctx context.Context, t *observe.Target, st *observe.State) Overview {
	d := t.Declaration
	out := Overview{Target: w.Target(t, *st), Measured: w.Measured(t, st),
		Entries: []EntryRow{}, Changed: []Changed{}, Findings: []FindingCount{}, Kept: st.Unkept,
		Sources: pagesOf(d.Keyspace)}
	out.Keyspace = About{d.Package, d.Doc, d.Owner, d.File}
	a := st.Shown()
	if a == nil {
		return out
	}
	out.Entries, out.Report, out.Summary = w.Rows(t, a), ScopeOf(a.Report), a.Report.Summary
	out.Totals = totalsOf(a.Report, out.Entries)
	out.Findings = w.counts(a.Report.Findings)
	var err error
	if w.History != nil && a.All() {
		err = w.changed(ctx, t, a, &out)
	}
	if err != nil {
		out.Kept = cmp.Or(out.Kept, finding.Printable(err.Error()))
	}
	return out
}

// pagesOf says which pages of constructs have something to show.
func pagesOf(ks *keyspace.Keyspace) map[string]bool {
	pages := map[keyspace.Construct]string{keyspace.Queue: "queues", keyspace.Lock: "locks", keyspace.Entity: "entities",
		keyspace.Ranking: "rankings", keyspace.Cache: "caches", keyspace.Topic: "streams"}
	out := map[string]bool{"queues": false, "locks": false, "entities": false, "rankings": false, "caches": false,
		"streams": false}
	for _, e := range ks.Entries {
		if page := pages[e.Construct]; page != "" {
			out[page] = true
		}
		if e.Type == "stream" {
			out["streams"] = true
		}
	}
	return out
}

// ScopeOf describes what the figures of a report are of.
func ScopeOf(r *audit.Report) *ReportScope {
	return &ReportScope{finding.Printable(r.Server), finding.Printable(r.Endpoint), r.Shards, r.Databases,
		r.Seconds, r.Sampled, r.Estimated, r.Expected, r.MaxRepeats, append([]string{}, r.Notes...), r.Verdict}
}

func totalsOf(r *audit.Report, rows []EntryRow) Totals {
	t := Totals{Keys: r.Total.Keys, Bytes: r.Total.Bytes, NoTTL: r.Total.NoTTL}
	for _, e := range rows {
		t.Violations += e.Violations
		switch e.Kind {
		case "undeclared":
			t.Undeclared, t.UndeclaredBytes = e.Keys, e.Bytes
		case "foreign":
			t.Foreign, t.ForeignBytes = t.Foreign+e.Keys, t.ForeignBytes+e.Bytes
		}
	}
	return t
}

// counts returns the findings by rule, the gravest first.
func (w *Writer) counts(all []finding.Finding) []FindingCount {
	by, seen := map[string]*FindingCount{}, map[string]bool{}
	out := []FindingCount{}
	for _, f := range all {
		c := by[f.Code]
		if c == nil {
			c = &FindingCount{Code: f.Code, Title: w.Rules[f.Code].Summary, Severity: f.Severity.String()}
			by[f.Code] = c
		}
		c.Findings, c.Keys = c.Findings+1, c.Keys+f.Count
		if f.Entry != "" && !seen[f.Code+f.Entry] {
			seen[f.Code+f.Entry] = true
			c.Entries++
		}
	}
	for _, c := range by {
		out = append(out, *c)
	}
	grave := func(c FindingCount) int { return slices.Index([]string{"error", "warning", "note"}, c.Severity) }
	slices.SortFunc(out, func(a, b FindingCount) int {
		return cmp.Or(cmp.Compare(grave(a), grave(b)), cmp.Compare(b.Keys, a.Keys), cmp.Compare(a.Code, b.Code))
	})
	return out
}

// maxChanged bounds how many changes are reported.
const maxChanged = 50

// union returns rows, with those that are there no more: rows of no key.
func union(rows []EntryRow, then map[string]history.Point, at time.Time) []EntryRow {
	there := map[string]bool{TotalRow: true}
	for _, r := range rows {
		there[r.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(then)) {
		if p := then[name]; !there[name] && p.At.Equal(at) && p.Keys > 0 && !strings.HasPrefix(name, queuePrefix) {
			rows = append(rows, EntryRow{Name: name})
		}
	}
	return rows
}

// firstPoints returns the points of the first time that is kept, of the finest step that has it still.
func (w *Writer) firstPoints(ctx context.Context, target string, first time.Time) (
	then map[string]history.Point, err error) {
	for _, step := range []history.Step{history.Raw, history.Hour, history.Day} {
		unit := map[history.Step]time.Duration{history.Hour: time.Hour, history.Day: 24 * time.Hour}[step]
		then, err = w.History.At(ctx, target, step, first.Add(unit))
		if err != nil || len(then) > 0 {
			break
		}
	}
	return then, err
}

// changed compares an audit with the one a day before it, or with the first there is.
func (w *Writer) changed(ctx context.Context, t *observe.Target, a *observe.Audit, to *Overview) error {
	then, err := w.History.At(ctx, t.ID, history.Raw, a.At.Add(-24*time.Hour))
	if err == nil && len(then) == 0 {
		var first time.Time
		if first, err = w.History.First(ctx, t.ID); err == nil && first.Before(a.At.Truncate(time.Second)) {
			then, err = w.firstPoints(ctx, t.ID, first)
		}
	}
	out := []Changed{}
	if err != nil || len(then) == 0 {
		return err
	}
	was := then[TotalRow]
	to.Since, to.Keys, to.Bytes = StampOf(was.At), to.Totals.Keys-was.Keys, to.Totals.Bytes-was.Bytes
	for _, r := range union(w.Rows(t, a), then, was.At) {
		old := then[r.Name]
		if !old.At.Equal(was.At) { // of another time: there was nothing of it then
			old = history.Point{}
		}
		c := Changed{Entry: r.Name, Keys: r.Keys - old.Keys, Bytes: r.Bytes - old.Bytes, NewCodes: []string{},
			Gone: []string{}}
		for _, code := range slices.Sorted(maps.Keys(r.Codes)) {
			if old.Violations[code] == 0 && r.Codes[code] > 0 {
				c.NewCodes = append(c.NewCodes, code)
			}
		}
		for _, code := range slices.Sorted(maps.Keys(old.Violations)) {
			if r.Codes[code] == 0 && old.Violations[code] > 0 {
				c.Gone = append(c.Gone, code)
			}
		}
		if c.Keys != 0 || c.Bytes != 0 || len(c.NewCodes)+len(c.Gone) > 0 {
			out = append(out, c)
		}
	}
	size := func(n int64) int64 { return max(n, -n) }
	slices.SortStableFunc(out, func(a, b Changed) int {
		return cmp.Or(cmp.Compare(len(b.NewCodes), len(a.NewCodes)), cmp.Compare(size(b.Bytes), size(a.Bytes)),
			cmp.Compare(size(b.Keys), size(a.Keys)))
	})
	to.Changed = out[:min(len(out), maxChanged)]
	return nil
}
