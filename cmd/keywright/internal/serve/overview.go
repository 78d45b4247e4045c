package serve

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/internal/history"
	"github.com/keywright/keywright/keyspace"
)

// Names of the rows that are no entry, also in history. No entry can have them.
const (
	undeclaredRow = "(undeclared)"
	foreignPrefix = "(foreign) "
	legacyPrefix  = "(old name) "
	totalRow      = "(total)"
	memoryRow     = "(memory)" // of all servers together
	queuePrefix   = "(queue) " // and the entry and the instance: jobs, by state as if that were a code
)

func overview(q *request) (any, error) {
	s, d := q.server, q.target.Declaration
	out := Overview{Target: s.row(q.target, q.state), Measured: s.measured(q.target, &q.state),
		Entries: []EntryRow{}, Changed: []Changed{}, Findings: []FindingCount{}, Kept: q.state.Unkept,
		Sources: pagesOf(d.Keyspace)}
	out.Keyspace = About{d.Package, d.Doc, d.Owner, d.File}
	a := q.state.Shown()
	if a == nil {
		return out, nil
	}
	out.Entries, out.Report, out.Summary = s.rows(q.target, a), scopeOf(a.Report), a.Report.Summary
	out.Totals = totalsOf(a.Report, out.Entries)
	out.Findings = s.counts(a.Report.Findings)
	var err error
	if s.History != nil && a.All() {
		err = s.changed(q, a, &out)
	}
	if err != nil {
		out.Kept = cmp.Or(out.Kept, finding.Printable(err.Error()))
	}
	return out, nil
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

func scopeOf(r *audit.Report) *ReportScope {
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

// rows returns all keys of an audit: those of entries, and what no entry declares.
func (s *Server) rows(t *observe.Target, a *observe.Audit) []EntryRow {
	r := a.Report
	rows := make([]EntryRow, 0, len(r.Entries)+len(r.Legacy)+len(r.Foreign)+1)
	rest := r.Total
	add := func(row EntryRow, f audit.Figures, codes map[string]int64) {
		rest.Keys, rest.Bytes, rest.NoTTL = rest.Keys-f.Keys, rest.Bytes-f.Bytes, rest.NoTTL-f.NoTTL
		row.Keys, row.Bytes, row.NoTTL, row.Codes = f.Keys, f.Bytes, f.NoTTL, map[string]int64{}
		maps.Copy(row.Codes, codes)
		for code, n := range codes {
			row.Violations += n
			if s.rules[code].Severity == finding.Error {
				row.Errors += n
			}
		}
		rows = append(rows, row)
	}
	for _, e := range r.Entries {
		row := EntryRow{Kind: "entry", Name: e.Name, Group: groupOf(e.Pattern), Pattern: e.Pattern,
			Type: e.Type, Owner: e.Owner, Policy: e.Policy}
		if entry, _ := t.Declaration.Lookup(e.Name); entry != nil {
			row.Entry, row.Construct = entry.Name, string(entry.Construct)
		}
		add(row, e.Figures, e.Violations)
	}
	for _, e := range r.Legacy {
		if e.Keys > 0 {
			add(EntryRow{Kind: "legacy", Name: legacyPrefix + e.Pattern, Entry: e.Name, Group: groupOf(e.Pattern),
				Pattern: e.Pattern, Type: e.Type, Owner: e.Owner}, e.Figures, e.Violations)
		}
	}
	for _, g := range r.Foreign {
		if g.Keys > 0 {
			add(EntryRow{Kind: "foreign", Name: foreignPrefix + g.Glob, Group: groupOf(strings.TrimRight(g.Glob, "*")),
				Pattern: g.Glob}, g.Figures, nil)
		}
	}
	codes := map[string]int64{}
	for _, f := range r.Findings {
		if f.Entry == "" && f.Count > 0 && (f.Code == "KW501" || f.Code == "KW502") {
			codes[f.Code] += f.Count
		}
	}
	add(EntryRow{Kind: "undeclared", Name: undeclaredRow, Group: undeclaredRow}, rest, codes)
	return rows
}

// groupOf returns the words that a pattern begins with, but the last.
func groupOf(pattern string) string {
	fixed := strings.ReplaceAll(pattern, "{#", "")
	if i := strings.IndexAny(fixed, "{*"); i >= 0 {
		fixed = fixed[:i]
	}
	words := strings.FieldsFunc(fixed, func(r rune) bool { return strings.ContainsRune(":/.|}", r) })
	return strings.Join(words[:max(len(words)-1, min(len(words), 1))], ":")
}

// counts returns the findings by rule, the gravest first.
func (s *Server) counts(all []finding.Finding) []FindingCount {
	by, seen := map[string]*FindingCount{}, map[string]bool{}
	out := []FindingCount{}
	for _, f := range all {
		c := by[f.Code]
		if c == nil {
			c = &FindingCount{Code: f.Code, Title: s.rules[f.Code].Summary, Severity: f.Severity.String()}
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

// Points returns the figures of an audit for the history.
func (s *Server) Points(t *observe.Target, a *observe.Audit) map[string]history.Point {
	out := map[string]history.Point{}
	total := history.Point{At: a.At, Violations: map[string]int64{}}
	for _, r := range s.rows(t, a) {
		if len(out) < history.MaxEntries-2 && len(r.Name) <= history.MaxName { // what is beyond would refuse all of it
			out[r.Name] = history.Point{At: a.At, Keys: r.Keys, Bytes: r.Bytes, Violations: r.Codes}
		}
		total.Keys, total.Bytes = total.Keys+r.Keys, total.Bytes+r.Bytes
		for code, n := range r.Codes {
			total.Violations[code] += n
		}
	}
	out[totalRow] = total
	measureNow(t, a.At, out)
	return out
}

// measureNow adds what is known of the servers' memory and of the jobs of queues by now, where that is not old, as far
// as there is room.
func measureNow(t *observe.Target, at time.Time, out map[string]history.Point) {
	st, now := t.State(), t.Now()
	if v := st.Shards.Value; v != nil && !st.Shards.Stale(st.Began, now) {
		p := history.Point{At: at}
		for _, shard := range *v {
			if shard.Memory != nil {
				p.Bytes += *shard.Memory
			}
		}
		out[memoryRow] = p
	}
	v := st.Queues.Value
	if v == nil || st.Queues.Stale(st.Began, now) {
		return
	}
	for i := range v.Queues {
		q := rowOfQueue(v.Queues[i])
		name := queuePrefix + q.Entry + " " + q.Instance
		if len(out) < history.MaxEntries && len(name) <= history.MaxName {
			out[name] = history.Point{At: at, Keys: q.Jobs, Violations: map[string]int64{"waiting": q.Waiting,
				"running": q.Running + q.Zombies, "delayed": q.Delayed, "dead": q.Dead}}
		}
	}
}

// maxChanged bounds how many changes are reported.
const maxChanged = 50

// union returns rows, with those that are there no more: rows of no key.
func union(rows []EntryRow, then map[string]history.Point, at time.Time) []EntryRow {
	there := map[string]bool{totalRow: true}
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
func (s *Server) firstPoints(q *request, first time.Time) (then map[string]history.Point, err error) {
	for _, step := range []history.Step{history.Raw, history.Hour, history.Day} {
		unit := map[history.Step]time.Duration{history.Hour: time.Hour, history.Day: 24 * time.Hour}[step]
		then, err = s.History.At(q.Context(), q.target.ID, step, first.Add(unit))
		if err != nil || len(then) > 0 {
			break
		}
	}
	return then, err
}

// changed compares an audit with the one a day before it, or with the first there is.
func (s *Server) changed(q *request, a *observe.Audit, to *Overview) error {
	then, err := s.History.At(q.Context(), q.target.ID, history.Raw, a.At.Add(-24*time.Hour))
	if err == nil && len(then) == 0 {
		var first time.Time
		if first, err = s.History.First(q.Context(), q.target.ID); err == nil && first.Before(a.At.Truncate(time.Second)) {
			then, err = s.firstPoints(q, first)
		}
	}
	out := []Changed{}
	if err != nil || len(then) == 0 {
		return err
	}
	was := then[totalRow]
	to.Since, to.Keys, to.Bytes = stampOf(was.At), to.Totals.Keys-was.Keys, to.Totals.Bytes-was.Bytes
	for _, r := range union(s.rows(q.target, a), then, was.At) {
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
