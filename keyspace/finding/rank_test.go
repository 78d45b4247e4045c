package finding

import (
	"slices"
	"strings"
	"testing"
)

// TestRank: the gravest first, of these the one about most keys, then by place and code.
func TestRank(t *testing.T) {
	at := func(line int) Position { return Position{File: "k.yaml", Line: line, Column: 1} }
	list := []Finding{
		{Code: "note of many", Severity: Note, Count: 1000, Pos: at(1)},
		{Code: "warning of many", Severity: Warning, Count: 900, Pos: at(1)},
		{Code: "error at 9", Severity: Error, Count: 1, Pos: at(9)},
		{Code: "error at 3", Severity: Error, Count: 1, Pos: at(3)},
		{Code: "error of two", Severity: Error, Count: 2, Pos: at(12)},
		{Code: "warning", Severity: Warning, Count: 0, Pos: at(2)},
	}
	const want = "error of two, error at 3, error at 9, warning of many, warning, note of many"
	for range 6 {
		list = append(list[1:], list[0])
		ranked := slices.Clone(list)
		Rank(ranked)
		var got []string
		for _, f := range ranked {
			got = append(got, f.Code)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q", got)
		}
	}
}
