package document

import (
	"maps"
	"strings"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/keyspace/finding"
)

// EntryRow represents the keys of one declared key, or of what no entry declares.
type EntryRow struct {
	Kind  string `json:"kind" enum:"entry,legacy,foreign,undeclared"`
	Name  string `json:"name"`
	Entry string `json:"entry,omitempty"` // that declares it
	// for a tree: the words that its pattern begins with, but the last, with : between them
	Group      string           `json:"group"`
	Pattern    string           `json:"pattern,omitempty"`
	Type       string           `json:"type,omitempty"`
	Construct  string           `json:"construct,omitempty"`
	Owner      string           `json:"owner,omitempty"`
	Policy     string           `json:"ttl,omitempty"`
	Keys       int64            `json:"keys"`
	Bytes      int64            `json:"bytes"`
	NoTTL      int64            `json:"no_ttl"`
	Violations int64            `json:"violations"`
	Codes      map[string]int64 `json:"codes"`  // violations, by rule
	Errors     int64            `json:"errors"` // of the violations, those of rules that are errors
}

// Names of the rows that are no entry, also in history: TotalRow is of all keys. No entry can have them.
const (
	undeclaredRow = "(undeclared)"
	foreignPrefix = "(foreign) "
	legacyPrefix  = "(old name) "
	TotalRow      = "(total)"
	memoryRow     = "(memory)" // of all servers together
	queuePrefix   = "(queue) " // and the entry and the instance: jobs, by state as if that were a code
)

// Rows returns all keys of an audit: those of entries, and what no entry declares.
func (w *Writer) Rows(t *observe.Target, a *observe.Audit) []EntryRow {
	r := a.Report
	rows := make([]EntryRow, 0, len(r.Entries)+len(r.Legacy)+len(r.Foreign)+1)
	rest := r.Total
	add := func(row EntryRow, f audit.Figures, codes map[string]int64) {
		rest.Keys, rest.Bytes, rest.NoTTL = rest.Keys-f.Keys, rest.Bytes-f.Bytes, rest.NoTTL-f.NoTTL
		row.Keys, row.Bytes, row.NoTTL, row.Codes = f.Keys, f.Bytes, f.NoTTL, map[string]int64{}
		maps.Copy(row.Codes, codes)
		for code, n := range codes {
			row.Violations += n
			if w.Rules[code].Severity == finding.Error {
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
