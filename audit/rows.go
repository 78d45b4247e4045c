package audit

import (
	"fmt"
	"slices"
	"strconv"
)

// Rows returns the table of entries, and of what is not declared, with its head: its rows add up to all
// keys. Without sizes the cells of bytes are empty. Who prints it as CSV has to keep a spreadsheet from taking a cell
// for a formula (finding.Cell).
func (r *Report) Rows() [][]string {
	rows := [][]string{{"name", "pattern", "type", "ttl", "owner", "keys", "bytes", "share", "no_ttl", "ttl_min_s",
		"ttl_p50_s", "ttl_p90_s", "ttl_max_s", "violations"}}
	for _, e := range r.Entries {
		var violations int64
		for _, n := range e.Violations {
			violations += n
		}
		row := []string{e.Name, e.Pattern, e.Type, e.Policy, e.Owner}
		rows = append(rows, append(append(row, e.cells()...), strconv.FormatInt(violations, 10)))
	}
	for _, e := range r.Legacy {
		rows = append(rows,
			append(append([]string{e.Name, e.Pattern, "legacy", "", e.Owner}, e.cells()...), strconv.FormatInt(e.Keys, 10)))
	}
	for _, g := range r.Foreign {
		rows = append(rows, append(append([]string{"", g.Glob, "foreign", "", ""}, g.cells()...), "0"))
	}
	for _, s := range r.Undeclared.Suggestions {
		rows = append(rows,
			append(append([]string{"", s.Pattern, "undeclared", "", ""}, s.cells()...), strconv.FormatInt(s.Keys, 10)))
	}
	if rest := r.Undeclared.Rest; rest != nil {
		f := Figures{Keys: rest.Keys, Bytes: rest.Bytes, NoTTL: rest.NoTTL, Share: r.Total.share(rest.Keys, rest.Bytes)}
		row := []string{"", fmt.Sprintf("%d more groups", rest.Groups), "undeclared", "", ""}
		rows = append(rows, append(append(row, f.cells()...), strconv.FormatInt(rest.Keys, 10)))
	}
	if r.NoBytes {
		for _, row := range rows[1:] {
			row[slices.Index(rows[0], "bytes")] = ""
		}
	}
	return rows
}

func (f Figures) cells() []string {
	out := []string{strconv.FormatInt(f.Keys, 10), strconv.FormatInt(f.Bytes, 10),
		strconv.FormatFloat(f.Share, 'f', 4, 64), strconv.FormatInt(f.NoTTL, 10)}
	if f.TTL == nil {
		return append(out, "", "", "", "")
	}
	for _, v := range []float64{f.TTL.Min, f.TTL.P50, f.TTL.P90, f.TTL.Max} {
		out = append(out, strconv.FormatFloat(v, 'f', 0, 64))
	}
	return out
}
