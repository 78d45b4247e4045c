package main

import (
	"testing"

	"github.com/keywright/keywright/bench/harness/harnesstest"
)

// TestEverybodyRuns: each contestant gets through, and each value is sealed again.
func TestEverybodyRuns(t *testing.T) {
	harnesstest.Shows(t, benchmark(), "-rounds 1 -slice 5ms -values 300", "Texts of 100 bytes", "Texts of 65536 bytes",
		"rotate", "adopt")
}
