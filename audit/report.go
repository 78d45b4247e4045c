package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/source"
)

// Report describes what an audit found. Bytes are as MEMORY USAGE counts them, TTLs are
// seconds. The keys and bytes of entries, legacy, foreign and undeclared are together
// those of the total. Its JSON names are stable.
type Report struct {
	// accepted: nothing beyond the baseline
	Verdict    string         `json:"verdict" enum:"clean,accepted,findings,incomplete"`
	Complete   bool           `json:"complete"`
	Incomplete source.Reasons `json:"incomplete,omitempty"` // why not
	Server     string         `json:"server"`
	Endpoint   string         `json:"endpoint"`
	// Declaration is the file that says what is expected, as the caller of the audit names it.
	Declaration string  `json:"declaration,omitempty"`
	Shards      int     `json:"shards"`
	Databases   int     `json:"databases"`
	Seconds     float64 `json:"seconds"`
	Sampled     bool    `json:"sampled,omitempty"`         // figures are of the sample, not of all keys
	Expected    int64   `json:"expected_keys"`             // by DBSIZE at the start
	Gone        int64   `json:"gone_keys"`                 // vanished between SCAN and their facts
	Expired     int64   `json:"expired_keys,omitempty"`    // in a snapshot, but expired when it was made
	Estimated   bool    `json:"estimated_bytes,omitempty"` // bytes are computed from a snapshot
	// sizes are not known, not asked for or not permitted: all bytes are 0
	NoBytes bool `json:"no_bytes,omitempty"`
	// at most so many keys may be counted twice, if none was deleted meanwhile
	MaxRepeats int64             `json:"max_repeats"`
	Filtered   int64             `json:"filtered_keys,omitempty"`
	Notes      []string          `json:"notes,omitempty"`
	Total      Figures           `json:"total"`
	Values     *Coverage         `json:"values,omitempty"`   // of all entries; absent: no value was looked at
	Findings   []finding.Finding `json:"findings"`           // the gravest first
	Summary    finding.Counts    `json:"summary"`            // of the findings
	Baseline   *finding.Balance  `json:"baseline,omitempty"` // what a baseline lets be; not among the findings
	Undeclared Undeclared        `json:"undeclared"`
	Entries    []EntryRow        `json:"entries"`
	Legacy     []EntryRow        `json:"legacy,omitempty"` // keys that still have an old name of their entry
	Foreign    []GlobRow         `json:"foreign,omitempty"`
	Largest    []LargeKey        `json:"largest,omitempty"`
}

// Figures holds the counts of any group of keys.
type Figures struct {
	Keys  int64   `json:"keys"`
	Bytes int64   `json:"bytes"`
	Share float64 `json:"share"` // of all bytes; of all keys where bytes are unknown
	TTL   *Spread `json:"ttl,omitempty"`
	NoTTL int64   `json:"no_ttl"`
}

// Spread describes how the remaining TTLs lie, in seconds; the quantiles are right to
// an eighth.
type Spread struct {
	Min float64 `json:"min"`
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	Max float64 `json:"max"`
}

// EntryRow represents one declared key, or an old name of one.
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

// GlobRow represents a glob of `foreign`.
type GlobRow struct {
	Glob string `json:"glob"`
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

// Facts describes what a snapshot alone tells of a key.
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

// Report sums up what has been added so far.
func (a *Audit) Report(sum source.Summary, sampled bool) *Report {
	r := &Report{
		Complete: len(sum.Incomplete) == 0, Incomplete: sum.Incomplete, Server: sum.Server, Endpoint: sum.Endpoint,
		Shards: sum.Shards, Databases: sum.Databases,
		Seconds: sum.Elapsed.Seconds(), Sampled: sampled, Expected: sum.Expected, Gone: sum.Gone, Expired: sum.Expired,
		Estimated: sum.Estimated, NoBytes: a.total.keys > 0 && a.total.bytes == 0, MaxRepeats: sum.MaxRepeats,
		Filtered: a.skipped,
		Notes:    append(slices.Clone(sum.Notes), a.notes...), Total: a.figures(&a.total), Entries: []EntryRow{},
		Findings: []finding.Finding{},
	}
	if !a.filter.all && a.total.keys == 0 && a.skipped > 0 {
		r.Notes = append(r.Notes,
			fmt.Sprintf("what is included and not excluded matches none of the %d keys: is the glob right?", a.skipped))
	}
	var values Coverage
	var notes []string
	groups := a.sketch.compare(maxCompared)
	r.Undeclared.Suggestions, r.Undeclared.Rest, notes = a.suggestions(groups)
	r.Notes = append(r.Notes, notes...)
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
			r.Legacy = append(r.Legacy, a.legacyRow(&t, i, s))
			r.Findings = append(r.Findings, a.legacy(&t, i, s)...)
		case t.Owned != nil:
			r.Undeclared.Owned += s.keys
			r.Undeclared.Bytes += s.bytes
			r.Findings = append(r.Findings,
				undeclared(s, ownedKey, t.Owned.Pos, "keys under "+t.Owned.Text, " are declared by no entry", groups.of(i))...)
		}
	}
	if a.opt.Values {
		r.Values = values.shared()
	}
	r.Undeclared.Other, r.Undeclared.Bytes = a.stray.keys, r.Undeclared.Bytes+a.stray.bytes
	r.Findings = append(r.Findings,
		undeclared(&a.stray, undeclaredKey, finding.Position{}, "keys",
			" are declared by no entry, and are under neither owns nor foreign", groups.of(match.None))...)
	for _, k := range a.top.list {
		r.Largest = append(r.Largest, largeKey(&k, a.itemName(k.item)))
	}
	r.Findings = append(r.Findings, a.tooFew(r)...)
	finding.Rank(r.Findings)
	r.Judge()
	return r
}

// tooFew finds that there are fewer keys than there must be, or that none of them was looked at: an audit of nothing
// finds nothing wrong, and is not clean for that.
func (a *Audit) tooFew(r *Report) []finding.Finding {
	seen, message := r.Total.Keys+r.Filtered, ""
	switch {
	case !r.Complete || a.opt.MinKeys == 0:
	case seen == 0:
		message = "there is no key"
	case r.Total.Keys == 0:
		message = fmt.Sprintf("no key was looked at: include and exclude leave out all of them, %d", seen)
	case seen < a.opt.MinKeys:
		message = fmt.Sprintf("keys: %d, of at least %d", seen, a.opt.MinKeys)
	}
	if message == "" {
		return nil
	}
	return []finding.Finding{{Code: "KW513", Severity: severityOf("KW513"), Message: message}}
}

// Judge sets the verdict and the counts from the findings, after some of them
// were silenced.
func (r *Report) Judge() {
	if r.Findings == nil {
		r.Findings = []finding.Finding{} // a list in JSON, also when it is empty
	}
	r.Summary = finding.Count(r.Findings)
	switch {
	case !r.Complete:
		r.Verdict = "incomplete"
	case len(r.Findings) > 0:
		r.Verdict = "findings"
	case r.Baseline != nil && r.Baseline.Accepted+r.Baseline.NotLooked > 0:
		r.Verdict = "accepted"
	default:
		r.Verdict = "clean"
	}
}

func (a *Audit) figures(f *figures) Figures {
	out := Figures{Keys: f.keys, Bytes: f.bytes, NoTTL: f.noTTL}
	out.Share = (Figures{Keys: a.total.keys, Bytes: a.total.bytes}).share(f.keys, f.bytes)
	if h := &f.ttls; h.n > 0 {
		out.TTL = &Spread{h.min.Seconds(), h.quantile(0.5).Seconds(), h.quantile(0.9).Seconds(), h.max.Seconds()}
	}
	return out
}

// share returns how much of the whole this is.
func (f Figures) share(keys, bytes int64) float64 {
	switch {
	case f.Bytes > 0:
		return float64(bytes) / float64(f.Bytes)
	case f.Keys > 0:
		return float64(keys) / float64(f.Keys)
	}
	return 0
}

func (a *Audit) entryRow(k *keyspace.Key, s *stat) EntryRow {
	row := EntryRow{Name: k.Name, Pattern: k.Pattern.String(), Type: string(k.Kind), Policy: k.TTL.Text,
		Owner: k.Entry.Owner, Figures: a.figures(&s.figures)}
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

// keyFindings returns the findings about one declared key, at its line.
func (a *Audit) keyFindings(k *keyspace.Key, s *stat) []finding.Finding {
	var out []finding.Finding
	add := func(code string, m mark, pos finding.Position, message string) {
		if m.count > 0 {
			out = append(out, finding.Finding{Code: code, Severity: severityOf(code), Pos: pos, Entry: k.Name, Message: message,
				Count: m.count, Examples: slices.Clone(m.examples)})
		}
	}
	ttl := k.TTL.Pos
	if ttl.File == "" {
		ttl = k.Pos
	}
	add("KW504", s.marks[wrongType], typePos(k),
		fmt.Sprintf("%s is declared as %s, but some keys are %s", k.Name, k.Kind, s.wrongKinds()))
	add("KW505", s.marks[ttlMissing], ttl,
		fmt.Sprintf("%s must expire (ttl %s), but some keys never will", k.Name, k.TTL.Text))
	add("KW506", s.marks[ttlTooLong], ttl,
		fmt.Sprintf("%s may live %s at most, but some keys live longer", k.Name, keyspace.FormatDuration(k.TTL.LiveMax())))
	add("KW507", s.marks[ttlUnexpected], ttl, fmt.Sprintf("%s must never expire (ttl none), but some keys will", k.Name))
	add("KW514", s.marks[streamTooLong], cmp.Or(k.Entry.At["maxlen"], k.Entry.At["durable.maxlen"], k.Pos),
		fmt.Sprintf("%s may have about %d entries (maxlen), but some streams have more", k.Name, s.long))
	for _, f := range s.value {
		add(f.code, f.mark, cmp.Or(f.pos, k.Pos), k.Name+": "+f.message)
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

func (a *Audit) legacyRow(t *keyspace.Target, item int, s *stat) EntryRow {
	row := EntryRow{Name: t.Was.Name, Type: string(t.Was.Kind), Pattern: a.items[item].Pattern.String(),
		Policy: t.Was.TTL.Text,
		Owner:  t.Legacy.Owner, Figures: a.figures(&s.figures)}
	if s.keys > 0 {
		row.Violations = map[string]int64{"KW503": s.keys}
	}
	return row
}

func (a *Audit) legacy(t *keyspace.Target, item int, s *stat) []finding.Finding {
	m := s.marks[legacyKey]
	if m.count == 0 {
		return nil
	}
	return []finding.Finding{{Code: "KW503", Severity: severityOf("KW503"), Pos: t.Legacy.At["was"], Entry: t.Legacy.Name,
		Message: fmt.Sprintf("keys still have an old name of %s, %s", t.Was.Name, a.items[item].Pattern), Count: m.count,
		Examples: slices.Clone(m.examples)}}
}

// Duration returns a count of seconds as a time.Duration, source.MaxTTL at most.
func Duration(seconds float64) time.Duration {
	if seconds >= source.MaxTTL.Seconds() {
		return source.MaxTTL
	}
	return time.Duration(seconds * float64(time.Second))
}
