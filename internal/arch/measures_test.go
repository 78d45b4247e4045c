package arch

import (
	"slices"
	"strings"
	"testing"
)

// TestMeasuresThatHold: a goal that was reached stays reached. `make measures` prints the others.
func TestMeasuresThatHold(t *testing.T) {
	hold := []string{"upward imports", "exported names with a comment", "packages with a comment", "test : code, runtime",
		"lines of a file", "packages", "lines above 120 columns"}
	seen := 0
	for _, m := range Measures(load(t)) {
		t.Logf("%s: %s (goal %s)", m.Name, m.Is, m.Goal)
		if slices.Contains(hold, m.Name) {
			if seen++; m.Missed {
				t.Errorf("%s: %s, and the goal is %s:\n%s", m.Name, m.Is, m.Goal, strings.Join(m.Beyond, "\n"))
			}
		}
	}
	if seen != len(hold) {
		t.Errorf("%d of %d measures were found", seen, len(hold))
	}
}

// TestFunctionsAreShort: a long function is rare, and then a table or a story. The goals are lower: when the figures
// are, put these down.
func TestFunctionsAreShort(t *testing.T) {
	n := bodies(slices.DeleteFunc(slices.Clone(load(t)), File.Generated))
	if median, p90 := quantile(n, 50), quantile(n, 90); len(n) < 1000 || median > 10 || p90 > 27 {
		t.Errorf("of %d functions half have more than %d lines (10 at most), a tenth more than %d (27 at most)", len(n),
			median, p90)
	}
}
