package document

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/explain"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
)

// EntryPage represents one entry. Its counts, distributions and largest keys are those of all
// its keys together; parts has them apart.
type EntryPage struct {
	explain.Entry
	Construct   string            `json:"construct,omitempty"`
	Declaration string            `json:"declaration"` // YAML, as it is written in the file
	Writers     []string          `json:"writers"`
	Counts      EntryCounts       `json:"counts"`
	TTL         *audit.Spread     `json:"ttl,omitempty"` // of the main key
	TTLs        []Bucket          `json:"ttl_buckets"`   // of keys that expire, by what is left in seconds
	Sizes       []Bucket          `json:"size_buckets"`  // by bytes
	Largest     []audit.LargeKey  `json:"largest"`
	Findings    []finding.Finding `json:"findings"`
	Offending   []Offending       `json:"offending"`
	Parts       []KeyPage         `json:"parts"` // its keys, the main one first
	Measured
}

// EntryCounts holds the figures of some keys.
type EntryCounts struct {
	Keys  int64   `json:"keys"`
	Bytes int64   `json:"bytes"`
	Share float64 `json:"share"` // of all bytes; of all keys where bytes are unknown
	NoTTL int64   `json:"no_ttl"`
}

// KeyPage represents one key of an entry, and what there is of it.
type KeyPage struct {
	Row       EntryRow         `json:"row"`
	TTL       *audit.Spread    `json:"ttl,omitempty"`
	TTLs      []Bucket         `json:"ttl_buckets"`
	Sizes     []Bucket         `json:"size_buckets"`
	Unsized   int64            `json:"unsized"` // keys of unknown size
	Largest   []audit.LargeKey `json:"largest"`
	Offending []Offending      `json:"offending"`
}

// Bucket represents a range of a distribution.
type Bucket struct {
	From int64  `json:"from"`         // above that
	To   *int64 `json:"to,omitempty"` // up to that; absent: without an end
	Keys int64  `json:"keys"`
}

// Offending holds keys that break a rule.
type Offending struct {
	Code  string           `json:"code"`
	Name  string           `json:"name"` // of the rule
	Total int64            `json:"total"`
	Keys  []audit.Offender `json:"keys"` // the first of them
	Cut   bool             `json:"cut"`
}

// Entry returns one entry of a target.
func (w *Writer) Entry(t *observe.Target, st *observe.State, e *keyspace.Entry) EntryPage {
	d := t.Declaration
	out := EntryPage{Entry: explain.EntryOf(d.Keyspace, e, d.Prefix), Construct: string(e.Construct),
		Declaration: written(d.Keyspace, e),
		Writers:     []string{}, TTLs: []Bucket{}, Sizes: []Bucket{}, Largest: []audit.LargeKey{},
		Findings:  []finding.Finding{},
		Offending: []Offending{}, Parts: []KeyPage{}, Measured: w.Measured(t, st)}
	if e.Owner != "" {
		out.Writers = append(out.Writers, e.Owner)
	}
	if a := st.Shown(); a != nil {
		w.fill(&out, t, e, a)
	}
	return out
}

// fill adds what an audit says of the keys of an entry.
func (w *Writer) fill(p *EntryPage, t *observe.Target, e *keyspace.Entry, a *observe.Audit) {
	rows := w.Rows(t, a)
	var all observe.Shape
	for _, k := range e.Keys {
		i := slices.IndexFunc(rows, func(r EntryRow) bool { return r.Kind == "entry" && r.Name == k.Name })
		if i < 0 {
			continue
		}
		page := w.keyPage(rows[i], a)
		p.Parts = append(p.Parts, page)
		p.Counts.Keys, p.Counts.Bytes, p.Counts.NoTTL = p.Counts.Keys+rows[i].Keys, p.Counts.Bytes+rows[i].Bytes,
			p.Counts.NoTTL+rows[i].NoTTL
		p.Largest, p.Offending = append(p.Largest, page.Largest...), append(p.Offending, page.Offending...)
		if shape := a.Shapes[k.Name]; shape != nil {
			all.Merge(shape)
		}
		if k == e.Keys[0] {
			p.TTL = page.TTL
		}
	}
	for _, f := range a.Report.Findings {
		if of, _ := t.Declaration.Lookup(f.Entry); of == e {
			p.Findings = append(p.Findings, f)
		}
	}
	switch total := a.Report.Total; {
	case total.Bytes > 0:
		p.Counts.Share = float64(p.Counts.Bytes) / float64(total.Bytes)
	case total.Keys > 0:
		p.Counts.Share = float64(p.Counts.Keys) / float64(total.Keys)
	}
	slices.SortStableFunc(p.Largest, func(a, b audit.LargeKey) int { return cmp.Compare(b.Bytes, a.Bytes) })
	p.Largest = p.Largest[:min(len(p.Largest), 20)]
	p.TTLs, p.Sizes = bucketsOf(all.TTLs[:]), bucketsOf(all.Sizes[:])
}

// keyPage returns what there is of one key of an entry.
func (w *Writer) keyPage(row EntryRow, a *observe.Audit) KeyPage {
	p := KeyPage{Row: row, TTLs: []Bucket{}, Sizes: []Bucket{}, Largest: []audit.LargeKey{}, Offending: []Offending{}}
	for _, e := range a.Report.Entries {
		if e.Name == row.Name {
			p.TTL = e.TTL
		}
	}
	shape := a.Shapes[row.Name]
	if shape == nil {
		return p
	}
	p.TTLs, p.Sizes, p.Unsized = bucketsOf(shape.TTLs[:]), bucketsOf(shape.Sizes[:]), shape.Unsized
	p.Largest = append(p.Largest, shape.Largest...)
	for _, code := range slices.Sorted(maps.Keys(shape.Offending)) {
		one := Offending{Code: code, Name: w.Rules[code].Name, Keys: shape.Offending[code], Total: row.Codes[code]}
		one.Total = max(one.Total, int64(len(one.Keys)))
		one.Cut = one.Total > int64(len(one.Keys))
		p.Offending = append(p.Offending, one)
	}
	return p
}

// bucketsOf returns the buckets of a distribution that have keys, and those between them.
func bucketsOf(counts []int64) []Bucket {
	out := []Bucket{}
	for i, n := range counts {
		b := Bucket{Keys: n}
		if i > 0 {
			b.From = observe.Ceiling(i - 1)
		}
		if i < len(counts)-1 {
			to := observe.Ceiling(i)
			b.To = &to
		}
		out = append(out, b)
	}
	for len(out) > 0 && out[len(out)-1].Keys == 0 {
		out = out[:len(out)-1]
	}
	for len(out) > 0 && out[0].Keys == 0 {
		out = out[1:]
	}
	return out
}

// written returns an entry as its file has it.
func written(ks *keyspace.Keyspace, e *keyspace.Entry) string {
	i := slices.IndexFunc(ks.Files, func(f keyspace.File) bool { return f.Name == e.Pos.File })
	if i < 0 || e.Pos.Line < 1 {
		return ""
	}
	lines := strings.Split(string(ks.Files[i].Text), "\n")
	if e.Pos.Line > len(lines) {
		return ""
	}
	lines = lines[e.Pos.Line-1:]
	indent := indentOf(lines[0])
	end := 1
	for n, l := range lines[1:] {
		if strings.TrimSpace(l) == "" {
			continue
		}
		if indentOf(l) <= indent {
			break
		}
		end = n + 2
	}
	for n := range lines[:end] {
		lines[n] = lines[n][min(indent, len(lines[n])):]
	}
	return strings.Join(lines[:end], "\n") + "\n"
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
