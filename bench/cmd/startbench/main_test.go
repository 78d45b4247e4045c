package main

import (
	"strings"
	"testing"
)

// The generated file is clean: a run with findings would measure their printing.
func TestShortRun(t *testing.T) {
	var out strings.Builder
	if err := benchmark().Run(t.Context(), []string{"-runs", "1"}, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "keywright lint, 100 entries") {
		t.Errorf("no row for lint:\n%s", out.String())
	}
}
