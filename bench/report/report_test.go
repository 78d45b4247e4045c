package report

import (
	"context"
	"fmt"
	"io"
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

func TestParts(t *testing.T) {
	part := func(name string, err error) Part {
		return Part{name, func(context.Context) ([]Table, []Goal, error) { return []Table{{Title: name}}, nil, err }}
	}
	for _, c := range []struct{ only, made, fails string }{
		{"", "abc", ""}, {"c,a", "ac", ""}, {"b", "b", ""}, {"a,d", "", `-only "d": there is a, b, c`},
	} {
		var r Report
		err := r.Run(t.Context(), c.only, part("a", nil), part("b", nil), part("c", nil))
		made := ""
		for _, table := range r.Tables {
			made += table.Title
		}
		if made != c.made || fmt.Sprint(err) != c.fails && (err != nil || c.fails != "") {
			t.Errorf("-only %q: %q, %v", c.only, made, err)
		}
	}
	var r Report
	if err := r.Run(t.Context(), "", part("a", io.EOF), part("b", nil)); err != io.EOF || len(r.Tables) != 1 {
		t.Errorf("%v, %d tables", err, len(r.Tables))
	}
}
