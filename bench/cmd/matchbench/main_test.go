package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/keywright/keywright/bench/report"
)

// The benchmark runs, and its only hard gate holds: no allocation per key.
func TestShortRun(t *testing.T) {
	var out strings.Builder
	if err := benchmark().Run(t.Context(), []string{"-rounds", "1", "-slice", "1ms", "-json"}, &out); err != nil {
		t.Fatal(err)
	}
	var r report.Report
	if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
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
