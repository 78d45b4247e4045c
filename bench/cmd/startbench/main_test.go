package main

import (
	"strings"
	"testing"

	"github.com/keywright/keywright/bench/harness/harnesstest"
)

// The generated file is clean: a run with findings would measure their printing.
func TestShortRun(t *testing.T) {
	out := harnesstest.Shows(t, benchmark(), "-runs 1")
	if !strings.Contains(out, "keywright lint, 100 entries") {
		t.Errorf("no row for lint:\n%s", out)
	}
}
