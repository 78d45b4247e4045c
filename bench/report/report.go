// Package report gathers the parts of what a benchmark measured and prints them: a
// table for people, or JSON with the same rows. It computes medians and nothing cleverer.
package report

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Report represents everything one benchmark command has to say.
type Report struct {
	Title  string   `json:"title"`
	Notes  []string `json:"notes,omitempty"`
	Tables []*Table `json:"tables"`
	Goals  []Goal   `json:"goals"`
}

// Table represents a heading, column names and rows of the same width.
type Table struct {
	Title   string     `json:"title"`
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// Goal represents one figure the project wants to reach.
type Goal struct {
	What    string  `json:"what"`
	Value   float64 `json:"value"`
	Bound   float64 `json:"bound"`
	AtLeast bool    `json:"at_least"` // else at most
}

// Reached says whether the value is on the right side of the bound.
func (g Goal) Reached() bool {
	if g.AtLeast {
		return g.Value >= g.Bound
	}
	return g.Value <= g.Bound
}

// Add appends a row of values printed with %v.
func (t *Table) Add(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = fmt.Sprint(cell)
	}
	t.Rows = append(t.Rows, row)
}

// Print writes the report as text, or as JSON.
func (r *Report) Print(w io.Writer, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	fmt.Fprintf(w, "%s\n", r.Title)
	for _, note := range r.Notes {
		fmt.Fprintf(w, "  %s\n", note)
	}
	for _, t := range r.Tables {
		t.print(w)
	}
	return r.printGoals(w)
}

func (t *Table) print(w io.Writer) {
	fmt.Fprintf(w, "\n%s\n", t.Title)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range slices.Concat([][]string{t.Columns}, t.Rows) {
		fmt.Fprintln(tw, "  "+strings.Join(row, "\t"))
	}
	tw.Flush()
}

func (r *Report) printGoals(w io.Writer) error {
	fmt.Fprintln(w, "\nGoals")
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, g := range r.Goals {
		verdict, relation := "MISSED", "at most"
		if g.Reached() {
			verdict = "reached"
		}
		if g.AtLeast {
			relation = "at least"
		}
		fmt.Fprintf(tw, "  %s\t%s\t%.4g\t%s %.4g\n", verdict, g.What, g.Value, relation, g.Bound)
	}
	return tw.Flush()
}

// Median of values, which it sorts; 0 of none.
func Median[T int64 | float64 | time.Duration](values []T) T {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// Table adds an empty table, and returns it for its rows.
func (r *Report) Table(title string, columns ...string) *Table {
	t := &Table{Title: title, Columns: columns}
	r.Tables = append(r.Tables, t)
	return t
}

// AtLeast adds a goal whose value must not be below its bound.
func (r *Report) AtLeast(bound, value float64, what string, args ...any) {
	r.Goals = append(r.Goals, Goal{fmt.Sprintf(what, args...), value, bound, true})
}

// AtMost adds a goal whose value must not be above its bound.
func (r *Report) AtMost(bound, value float64, what string, args ...any) {
	r.Goals = append(r.Goals, Goal{fmt.Sprintf(what, args...), value, bound, false})
}

// Part represents some tables and goals of a program, which can be had without the others.
type Part struct {
	Name string
	Run  func(context.Context, *Report) error
}

// Names lists those of parts.
func Names(parts []Part) (names []string) {
	for _, p := range parts {
		names = append(names, p.Name)
	}
	return names
}

// Select returns the parts that only names, separated by commas; "": all of them. A name that no part has is an error.
func Select(parts []Part, only string) (selected []Part, err error) {
	if only == "" {
		return parts, nil
	}
	wanted, names := strings.Split(only, ","), Names(parts)
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("-only %q: there is %s", name, strings.Join(names, ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return !slices.Contains(wanted, p.Name) }), nil
}
