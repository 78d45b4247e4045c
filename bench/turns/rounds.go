package turns

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/bench/costs"
	"github.com/keywright/keywright/bench/report"
)

// Runs holds what contestants did in interleaved rounds.
type Runs[R any] struct {
	Names []string
	All   [][]R // by contestant and round
}

// Rounds lets each contestant run once in each round, in turns: another one begins each round.
func Rounds[C fmt.Stringer, R any](rounds int, all []C, run func(C) (R, error)) (*Runs[R], error) {
	r := &Runs[R]{All: make([][]R, len(all))}
	for _, who := range all {
		r.Names = append(r.Names, who.String())
	}
	for round := range rounds {
		for place := range all {
			i := (place + round) % len(all)
			one, err := run(all[i])
			if err != nil {
				return r, fmt.Errorf("%s: %w", r.Names[i], err)
			}
			r.All[i] = append(r.All[i], one)
		}
	}
	return r, nil
}

// Compare lets contestants run in turns, and shows their figures.
func Compare[C fmt.Stringer, R any](out *report.Report, title string, rounds int, all []C, run func(C) (R, error),
	figures ...Figure[R]) error {
	runs, err := Rounds(rounds, all, run)
	if err == nil {
		runs.Show(out, title, "contestant", figures...)
	}
	return err
}

// Figure represents a column of a table: one number for each contestant, made of its runs.
type Figure[R any] struct {
	column, format string
	of             func(R) float64         // of one run
	over           func([]float64) float64 // of those of all runs; nil: all are shown
	by             []R                     // Versus: what is compared with
	goal           report.Goal             // of the first contestant; without What: none
}

// Median returns the median of the runs.
func Median[R any](column, format string, of func(R) float64) Figure[R] {
	return Figure[R]{column: column, format: format, of: of, over: report.Median[float64]}
}

// Most returns the largest of the runs.
func Most[R any](column, format string, of func(R) float64) Figure[R] {
	return Figure[R]{column: column, format: format, of: of, over: slices.Max[[]float64]}
}

// Least returns the smallest of the runs.
func Least[R any](column, format string, of func(R) float64) Figure[R] {
	return Figure[R]{column: column, format: format, of: of, over: slices.Min[[]float64]}
}

// Sum returns the sum of the runs.
func Sum[R any](column, format string, of func(R) float64) Figure[R] {
	return Figure[R]{column: column, format: format, of: of, over: sum}
}

// List shows all runs.
func List[R any](column, format string, of func(R) float64) Figure[R] {
	return Figure[R]{column: column, format: format, of: of}
}

// Versus returns the median of the ratios to the runs of another contestant, within each round.
func Versus[R any](column, format string, of func(R) float64, by []R) Figure[R] {
	f := Median(column, format, of)
	f.by = by
	return f
}

// Ratio returns the median of the rounds' ratios of a to b.
func Ratio[R any](a, b []R, of func(R) float64) float64 { return Versus("", "", of, b).Value(a) }

// AtMost adds a goal for the first contestant.
func (f Figure[R]) AtMost(bound float64, what string) Figure[R] {
	f.goal = report.Goal{What: what, Bound: bound}
	return f
}

// AtLeast adds a goal for the first contestant.
func (f Figure[R]) AtLeast(bound float64, what string) Figure[R] {
	f.goal = report.Goal{What: what, Bound: bound, AtLeast: true}
	return f
}

// Costs returns the figures of what one of n operations of a run costs.
func Costs[R any](n int, of func(R) costs.Costs) (figures []Figure[R]) {
	for _, c := range costs.Columns {
		figures = append(figures, Figure[R]{column: c.Title, format: c.Format,
			of:   func(r R) float64 { return c.Of(of(r)) / float64(n) },
			over: func(values []float64) float64 { return sum(values) / float64(len(values)) }})
	}
	return figures
}

func sum(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum
}

// Value returns the figure of one contestant.
func (f Figure[R]) Value(runs []R) float64 { return f.over(f.values(runs)) }

func (f Figure[R]) values(runs []R) []float64 {
	values := make([]float64, len(runs))
	for i, run := range runs {
		values[i] = f.of(run)
		if f.by != nil {
			values[i] /= f.of(f.by[i])
		}
	}
	return values
}

// cell returns what a table has of the figure of one contestant.
func (f Figure[R]) cell(runs []R) string {
	values := f.values(runs)
	if f.over != nil {
		values = []float64{f.over(values)}
	}
	var texts []string
	for _, v := range values {
		texts = append(texts, fmt.Sprintf(f.format, v))
	}
	return strings.Join(texts, " ")
}

// Show adds a table of the figures, with a row for each contestant, and the goals of the first one. column is the title
// of the names.
func (r *Runs[R]) Show(out *report.Report, title, column string, figures ...Figure[R]) {
	t := out.Table(title, column)
	for _, f := range figures {
		t.Columns = append(t.Columns, f.column)
	}
	for i, name := range r.Names {
		row := []any{name}
		for _, f := range figures {
			row = append(row, f.cell(r.All[i]))
			if i == 0 && f.goal.What != "" {
				f.goal.Value = f.Value(r.All[i])
				out.Goals = append(out.Goals, f.goal)
			}
		}
		t.Add(row...)
	}
}
