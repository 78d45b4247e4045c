package serve

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
)

func entryPage(q *request) (any, error) {
	d := q.target.Declaration
	e, _ := d.Lookup(q.PathValue("name"))
	if e == nil {
		return nil, problem(http.StatusNotFound, "no-such-entry", "the declaration has no such entry",
			"the overview lists them")
	}
	out := EntryPage{Entry: answer.EntryOf(d.Keyspace, e, d.Prefix), Construct: string(e.Construct),
		Declaration: written(d.Keyspace, e),
		Writers:     []string{}, TTLs: []Bucket{}, Sizes: []Bucket{}, Largest: []audit.LargeKey{},
		Findings:  []finding.Finding{},
		Offending: []Offending{}, Parts: []KeyPage{}, Measured: q.server.measured(q.target, &q.state)}
	if e.Owner != "" {
		out.Writers = append(out.Writers, e.Owner)
	}
	if a := q.state.Shown(); a != nil {
		out.fill(q, e, a)
	}
	return out, nil
}

// fill adds what an audit says of the keys of an entry.
func (p *EntryPage) fill(q *request, e *keyspace.Entry, a *observe.Audit) {
	rows := q.server.rows(q.target, a)
	var all observe.Shape
	for _, k := range e.Keys {
		i := slices.IndexFunc(rows, func(r EntryRow) bool { return r.Kind == "entry" && r.Name == k.Name })
		if i < 0 {
			continue
		}
		page := q.server.keyPage(rows[i], a)
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
		if of, _ := q.target.Declaration.Lookup(f.Entry); of == e {
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
func (s *Server) keyPage(row EntryRow, a *observe.Audit) KeyPage {
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
		one := Offending{Code: code, Name: s.rules[code].Name, Keys: shape.Offending[code], Total: row.Codes[code]}
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
