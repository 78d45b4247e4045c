package main

import (
	"os"
	"testing"

	"github.com/keywright/keywright/bench/harness/harnesstest"
)

// Everybody gets through every race at every number of goroutines, and what
// expires is swept.
func TestEverybodyRuns(t *testing.T) {
	harnesstest.Shows(t, benchmark(), "-rounds 1 -slice 5ms -items 200 -expiries 1000", "Create, per second",
		"Create, with an event", "Update of an indexed field", "Create and delete", "Get, per second", "Cached get",
		"List of 10,", "List of 100,", "200 items expire", "1000 expiries", "reached  stale ids after one sweep",
		"Create in a cluster of three")
}

func TestWrongArguments(t *testing.T) {
	harnesstest.Refuses(t, benchmark, map[string]string{`-what "x"`: "-cpuprofile " + os.DevNull + " -what x"})
}
