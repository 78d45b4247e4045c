package report

import (
	"strings"
	"testing"
)

func TestPrint(t *testing.T) {
	r := &Report{Title: "Speed", Notes: []string{"two cores"}}
	table := Table{Title: "Rows", Columns: []string{"what", "n"}}
	table.Add("a", 1)
	table.Add("longer", 2.5)
	r.Tables = append(r.Tables, table)
	r.Goals = []Goal{{"wall", 1.1, 1.15, false}, {"rate", 9, 10, true}}
	var out strings.Builder
	if err := r.Print(&out, false); err != nil {
		t.Fatal(err)
	}
	const want = `Speed
  two cores

Rows
  what    n
  a       1
  longer  2.5

Goals
  reached  wall  1.1  at most 1.15
  MISSED   rate  9    at least 10
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestMedian(t *testing.T) {
	if m := Median([]float64{9, 1, 5}); m != 5 {
		t.Errorf("median %v, want 5", m)
	}
	if m := Median([]int64(nil)); m != 0 {
		t.Errorf("median of nothing %v, want 0", m)
	}
}
