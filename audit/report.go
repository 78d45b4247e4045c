package audit

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/source"
)

// Report is what an audit found. Bytes are as MEMORY USAGE counts them, TTLs are
// seconds. Its JSON names are stable.
type Report struct {
	Verdict    string            `json:"verdict"` // "clean", "accepted" (nothing beyond the baseline), "findings" or "incomplete"
	Complete   bool              `json:"complete"`
	Incomplete []string          `json:"incomplete,omitempty"` // why not
	Server     string            `json:"server"`
	Endpoint   string            `json:"endpoint"`
	Shards     int               `json:"shards"`
	Databases  int               `json:"databases"`
	Seconds    float64           `json:"seconds"`
	Sampled    bool              `json:"sampled,omitempty"`         // figures are of the sample, not of all keys
	Expected   int64             `json:"expected_keys"`             // by DBSIZE at the start
	Gone       int64             `json:"gone_keys"`                 // vanished between SCAN and their facts
	Expired    int64             `json:"expired_keys,omitempty"`    // in a snapshot, but expired when it was made
	Estimated  bool              `json:"estimated_bytes,omitempty"` // bytes are computed from a snapshot
	MaxRepeats int64             `json:"max_repeats"`               // at most so many keys may be counted twice, if none was deleted meanwhile
	Filtered   int64             `json:"filtered_keys,omitempty"`
	Notes      []string          `json:"notes,omitempty"`
	Total      Figures           `json:"total"`
	Values     *Coverage         `json:"values,omitempty"` // of all entries; absent: no value was looked at
	Entries    []EntryRow        `json:"entries"`
	Foreign    []GlobRow         `json:"foreign,omitempty"`
	Undeclared Undeclared        `json:"undeclared"`
	Largest    []LargeKey        `json:"largest,omitempty"`
	Accepted   *Accepted         `json:"accepted,omitempty"` // what a baseline lets be; not among Findings
	Findings   []finding.Finding `json:"findings"`
	Summary    finding.Counts    `json:"summary"`
}

// Accepted is what a baseline lets be.
type Accepted struct {
	Findings int   `json:"findings"`
	Keys     int64 `json:"keys"`
}

// Figures are the counts of any group of keys.
type Figures struct {
	Keys  int64   `json:"keys"`
	Bytes int64   `json:"bytes"`
	Share float64 `json:"share"` // of all bytes; of all keys where bytes are unknown
	TTL   *Spread `json:"ttl,omitempty"`
	NoTTL int64   `json:"no_ttl"`
}

// Spread is how the remaining TTLs lie, in seconds; the quantiles are right to
// an eighth.
type Spread struct {
	Min float64 `json:"min"`
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	Max float64 `json:"max"`
}

// EntryRow is one declared key.
type EntryRow struct {
	Name       string           `json:"name"`
	Pattern    string           `json:"pattern"`
	Type       string           `json:"type"`
	Policy     string           `json:"policy"` // its ttl, as declared
	Owner      string           `json:"owner,omitempty"`
	Violations map[string]int64 `json:"violations,omitempty"` // by code
	Values     *Coverage        `json:"values,omitempty"`     // absent: none was looked at, or none is declared
	Figures
}

// GlobRow is a glob of `foreign`.
type GlobRow struct {
	Glob string `json:"glob"`
	Figures
}

// Undeclared is everything no entry declares and foreign does not cover.
type Undeclared struct {
	Owned       int64        `json:"owned"` // under owns
	Other       int64        `json:"other"`
	Bytes       int64        `json:"bytes"`
	Suggestions []Suggestion `json:"suggestions,omitempty"`
}

// Suggestion is a group of undeclared keys and the pattern that would declare
// them.
type Suggestion struct {
	Pattern string           `json:"pattern"`
	Types   map[string]int64 `json:"types"`
	Example finding.JSONKey  `json:"example"`
	Near    string           `json:"near,omitempty"` // a declared pattern it may be a misspelling of
	Figures
}

// LargeKey is one of the largest keys.
type LargeKey struct {
	Key   finding.JSONKey `json:"key"`
	DB    int             `json:"db"`
	Type  string          `json:"type"`
	Bytes int64           `json:"bytes"`
	Entry string          `json:"entry,omitempty"`
	TTL   *float64        `json:"ttl,omitempty"` // seconds that are left; absent: never expires
	*Facts
}

// Facts are what a snapshot alone tells of a key.
type Facts struct {
	Encoding string `json:"encoding"`
	Elements int64  `json:"elements"`     // -1: unknown
	Stored   int64  `json:"stored_bytes"` // in the snapshot
	Idle     int64  `json:"idle_seconds"` // since the last access; -1: the snapshot does not tell
}

func largeKey(k *topKey, entry string) LargeKey {
	out := LargeKey{Key: k.Name, DB: k.DB, Type: k.Kind.String(), Bytes: k.Bytes, Entry: entry}
	if k.TTL != source.NoTTL {
		left := k.TTL.Seconds()
		out.TTL = &left
	}
	if f := k.facts; f.Stored >= 0 {
		out.Facts = &Facts{f.Encoding, f.Elements, f.Stored, f.Idle}
	}
	return out
}

// maxSuggestions bounds the groups of undeclared keys in a report.
const maxSuggestions = 50

// Report sums up what has been added so far.
func (a *Audit) Report(sum source.Summary, sampled bool) *Report {
	r := &Report{
		Complete: len(sum.Incomplete) == 0, Incomplete: sum.Incomplete, Server: sum.Server, Endpoint: sum.Endpoint, Shards: sum.Shards, Databases: sum.Databases,
		Seconds: sum.Elapsed.Seconds(), Sampled: sampled, Expected: sum.Expected, Gone: sum.Gone, Expired: sum.Expired, Estimated: sum.Estimated, MaxRepeats: sum.MaxRepeats, Filtered: a.skipped,
		Notes: append(slices.Clone(sum.Notes), a.notes...), Total: a.figures(&a.total), Entries: []EntryRow{}, Findings: []finding.Finding{},
	}
	if !a.filter.all && a.total.keys == 0 && a.skipped > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("what is included and not excluded matches none of the %d keys: is the glob right?", a.skipped))
	}
	var values Coverage
	for i, t := range a.targets {
		s := a.stats[i]
		values.add(s.values)
		switch {
		case t.Key != nil:
			r.Entries = append(r.Entries, a.entryRow(t.Key, s))
			r.Findings = append(r.Findings, a.keyFindings(t.Key, s)...)
		case t.Foreign != nil:
			r.Foreign = append(r.Foreign, GlobRow{t.Foreign.Text, a.figures(&s.figures)})
		case t.Legacy != nil:
			r.Findings = append(r.Findings, a.legacy(t.Legacy, s)...)
		case t.Owned != nil:
			r.Undeclared.Owned += s.keys
			r.Undeclared.Bytes += s.bytes
			r.Findings = append(r.Findings, undeclared(s, ownedKey, t.Owned.Pos, "keys under "+t.Owned.Text+" are declared by no entry")...)
		}
	}
	if a.opt.Values {
		r.Values = values.shared()
	}
	r.Undeclared.Other, r.Undeclared.Bytes = a.stray.keys, r.Undeclared.Bytes+a.stray.bytes
	r.Findings = append(r.Findings, undeclared(&a.stray, undeclaredKey, finding.Position{}, "keys are declared by no entry, and lie under neither owns nor foreign")...)
	r.Undeclared.Suggestions = a.suggestions()
	for _, k := range a.top.list {
		r.Largest = append(r.Largest, largeKey(&k, a.itemName(k.item)))
	}
	r.Findings = append(r.Findings, a.tooFew(r)...)
	finding.Sort(r.Findings)
	r.Judge()
	return r
}

// tooFew: an audit of nothing finds nothing wrong, and is not clean for that.
func (a *Audit) tooFew(r *Report) []finding.Finding {
	if seen := r.Total.Keys + r.Filtered; seen < a.opt.MinKeys && r.Complete {
		return []finding.Finding{{Code: "KW513", Severity: severityOf("KW513"), Message: fmt.Sprintf("there are fewer than %d keys, %d", a.opt.MinKeys, seen)}}
	}
	return nil
}

// Judge sets the verdict and the counts from the findings, after some of them
// were silenced.
func (r *Report) Judge() {
	r.Summary = finding.Count(r.Findings)
	switch {
	case !r.Complete:
		r.Verdict = "incomplete"
	case len(r.Findings) > 0:
		r.Verdict = "findings"
	case r.Accepted != nil && r.Accepted.Findings > 0:
		r.Verdict = "accepted"
	default:
		r.Verdict = "clean"
	}
}

func (a *Audit) figures(f *figures) Figures {
	out := Figures{Keys: f.keys, Bytes: f.bytes, NoTTL: f.noTTL}
	switch {
	case a.total.bytes > 0:
		out.Share = float64(f.bytes) / float64(a.total.bytes)
	case a.total.keys > 0:
		out.Share = float64(f.keys) / float64(a.total.keys)
	}
	if h := &f.ttls; h.n > 0 {
		out.TTL = &Spread{h.min.Seconds(), h.quantile(0.5).Seconds(), h.quantile(0.9).Seconds(), h.max.Seconds()}
	}
	return out
}

func (a *Audit) entryRow(k *keyspace.Key, s *stat) EntryRow {
	row := EntryRow{Name: k.Name, Pattern: k.Pattern.String(), Type: string(k.Kind), Policy: k.TTL.Text, Owner: k.Entry.Owner, Figures: a.figures(&s.figures)}
	if a.opt.Values && declaresValue(k) {
		row.Values = s.values.shared()
	}
	count := func(code string, n int64) {
		if n > 0 {
			if row.Violations == nil {
				row.Violations = map[string]int64{}
			}
			row.Violations[code] += n
		}
	}
	for v, m := range s.marks {
		count(codes[v], m.count)
	}
	for _, f := range s.value {
		count(f.code, f.count)
	}
	return row
}

// keyFindings are the findings about one declared key, at its line.
func (a *Audit) keyFindings(k *keyspace.Key, s *stat) []finding.Finding {
	var out []finding.Finding
	add := func(code string, m mark, pos finding.Position, message string) {
		if m.count > 0 {
			out = append(out, finding.Finding{Code: code, Severity: severityOf(code), Pos: pos, Entry: k.Name, Message: message, Count: m.count, Examples: slices.Clone(m.examples)})
		}
	}
	ttl := k.TTL.Pos
	if ttl.File == "" {
		ttl = k.Pos
	}
	add("KW504", s.marks[wrongType], typePos(k), fmt.Sprintf("%s is declared as %s, but some keys are %s", k.Name, k.Kind, s.wrongKinds()))
	add("KW505", s.marks[ttlMissing], ttl, fmt.Sprintf("%s must expire (ttl %s), but some keys never will", k.Name, k.TTL.Text))
	add("KW506", s.marks[ttlTooLong], ttl, fmt.Sprintf("%s may live %s at most, but some keys live longer", k.Name, keyspace.FormatDuration(k.TTL.LiveMax())))
	add("KW507", s.marks[ttlUnexpected], ttl, fmt.Sprintf("%s must never expire (ttl none), but some keys will", k.Name))
	add("KW514", s.marks[streamTooLong], cmp.Or(k.Entry.At["maxlen"], k.Entry.At["durable.maxlen"], k.Pos), fmt.Sprintf("%s may have about %d entries (maxlen), but some streams have more", k.Name, s.long))
	for _, f := range s.value {
		add(f.code, f.mark, k.Pos, k.Name+": "+f.message)
	}
	return out
}

func typePos(k *keyspace.Key) finding.Position {
	if p, ok := k.Entry.At["type"]; ok && k.Role == "" {
		return p
	}
	return k.Pos
}

func (s *stat) wrongKinds() string {
	var out []string
	for kind, n := range s.wrong {
		if n > 0 {
			out = append(out, source.Kind(kind).String())
		}
	}
	return strings.Join(out, ", ")
}

func (a *Audit) legacy(e *keyspace.Entry, s *stat) []finding.Finding {
	m := s.marks[legacyKey]
	if m.count == 0 {
		return nil
	}
	return []finding.Finding{{Code: "KW503", Severity: severityOf("KW503"), Pos: e.At["was"], Entry: e.Name, Message: "keys still have an old name of " + e.Name, Count: m.count, Examples: slices.Clone(m.examples)}}
}

func undeclared(s *stat, v violation, pos finding.Position, message string) []finding.Finding {
	m := s.marks[v]
	if m.count == 0 {
		return nil
	}
	return []finding.Finding{{Code: codes[v], Severity: severityOf(codes[v]), Pos: pos, Message: message, Count: m.count, Examples: slices.Clone(m.examples)}}
}

func (a *Audit) suggestions() []Suggestion {
	var out []Suggestion
	for _, g := range a.sketch.suggestions() {
		s := Suggestion{Pattern: g.pattern, Types: map[string]int64{}, Example: slices.Clone(g.example), Near: g.near, Figures: a.figures(&g.figures)}
		for kind, n := range g.kinds {
			if n > 0 {
				s.Types[source.Kind(kind).String()] = n
			}
		}
		out = append(out, s)
	}
	return out
}

func (a *Audit) itemName(id int) string {
	if id < 0 {
		return ""
	}
	switch t := a.targets[id]; {
	case t.Key != nil:
		return t.Key.Name
	case t.Legacy != nil:
		return t.Legacy.Name + " (old name)"
	case t.Foreign != nil:
		return "foreign " + t.Foreign.Text
	}
	return ""
}

// JSON prints the report as one document.
func (r *Report) JSON(w io.Writer) error {
	return finding.WriteJSON(w, r, "  ")
}

// JSONLines prints one row per entry, glob, suggestion, large key and finding,
// each with a "kind", and the summary last.
func (r *Report) JSONLines(w io.Writer) error {
	line := func(kind string, v any) error { return finding.WriteJSON(w, map[string]any{"kind": kind, kind: v}, "") }
	var err error
	each := func(kind string, v any) {
		if err == nil {
			err = line(kind, v)
		}
	}
	for _, v := range r.Entries {
		each("entry", v)
	}
	for _, v := range r.Foreign {
		each("foreign", v)
	}
	for _, v := range r.Undeclared.Suggestions {
		each("suggestion", v)
	}
	for _, v := range r.Largest {
		each("large_key", v)
	}
	for _, v := range r.Findings {
		each("finding", v)
	}
	short := *r
	short.Entries, short.Foreign, short.Largest, short.Findings, short.Undeclared.Suggestions = []EntryRow{}, nil, nil, []finding.Finding{}, nil
	each("report", short)
	return err
}

// CSV prints the table of entries. A cell that a spreadsheet would take for a
// formula is prefixed with an apostrophe (finding.Cell).
func (r *Report) CSV(w io.Writer) error {
	c := csv.NewWriter(w)
	rows := [][]string{{"name", "pattern", "type", "ttl", "owner", "keys", "bytes", "share", "no_ttl", "ttl_min_s", "ttl_p50_s", "ttl_p90_s", "ttl_max_s", "violations"}}
	for _, e := range r.Entries {
		var violations int64
		for _, n := range e.Violations {
			violations += n
		}
		row := []string{e.Name, e.Pattern, e.Type, e.Policy, e.Owner}
		rows = append(rows, append(append(row, e.cells()...), strconv.FormatInt(violations, 10)))
	}
	for _, g := range r.Foreign {
		rows = append(rows, append(append([]string{"", g.Glob, "foreign", "", ""}, g.cells()...), "0"))
	}
	for _, s := range r.Undeclared.Suggestions {
		rows = append(rows, append(append([]string{"", s.Pattern, "undeclared", "", ""}, s.cells()...), strconv.FormatInt(s.Keys, 10)))
	}
	for _, row := range rows {
		for i, cell := range row {
			row[i] = finding.Cell(cell)
		}
		if err := c.Write(row); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

func (f Figures) cells() []string {
	out := []string{strconv.FormatInt(f.Keys, 10), strconv.FormatInt(f.Bytes, 10), strconv.FormatFloat(f.Share, 'f', 4, 64), strconv.FormatInt(f.NoTTL, 10)}
	if f.TTL == nil {
		return append(out, "", "", "", "")
	}
	for _, v := range []float64{f.TTL.Min, f.TTL.P50, f.TTL.P90, f.TTL.Max} {
		out = append(out, strconv.FormatFloat(v, 'f', 0, 64))
	}
	return out
}

// Duration is a count of seconds as a time.Duration.
func Duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
