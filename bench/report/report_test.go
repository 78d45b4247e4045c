package report

import (
	"fmt"
	"strings"
	"testing"
)

func TestPrint(t *testing.T) {
	r := &Report{Title: "Speed", Notes: []string{"two cores"}}
	table := r.Table("Rows", "what", "n")
	table.Add("a", 1)
	table.Add("longer", 2.5)
	r.AtMost(1.15, 1.1, "wall")
	r.AtLeast(10, 9, "ra%s", "te")
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

func TestSelect(t *testing.T) {
	parts := []Part{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	for _, c := range []struct{ only, selected, fails string }{
		{"", "abc", ""}, {"c,a", "ac", ""}, {"b", "b", ""}, {"a,d", "", `-only "d": there is a, b, c`},
	} {
		selected, err := Select(parts, c.only)
		if got := strings.Join(Names(selected), ""); got != c.selected ||
			fmt.Sprint(err) != c.fails && (err != nil || c.fails != "") {
			t.Errorf("-only %q: %q, %v", c.only, got, err)
		}
	}
}
