package main

import (
	"testing"

	"github.com/keywright/keywright/bench/harness/harnesstest"
)

// Everybody gets through every measurement, small.
func TestEverybodyRuns(t *testing.T) {
	harnesstest.Shows(t, benchmark(), "-rounds 1 -builds 1 -days 3 -members 2000 -slice 10ms", "Building a window",
		"cached window, commands sent per read", "Allow, questions/s", "Sliding")
}

func TestWrongArguments(t *testing.T) {
	harnesstest.Refuses(t, benchmark, nil)
}
