package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/keywright/keywright/bench/harness/harnesstest"
	"github.com/keywright/keywright/bench/report"
)

// The benchmark runs, and its only hard gate holds: no allocation per key.
func TestShortRun(t *testing.T) {
	out := harnesstest.Shows(t, benchmark(), "-rounds 1 -slice 1ms -json")
	var r report.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	gates := 0
	for _, g := range r.Goals {
		if strings.Contains(g.What, "allocations") {
			gates++
			if !g.Reached() {
				t.Errorf("%s: %v", g.What, g.Value)
			}
		}
	}
	if gates != 3 {
		t.Errorf("%d goals about allocations, want one for each of three sizes", gates)
	}
}
