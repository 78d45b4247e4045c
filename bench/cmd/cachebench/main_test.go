package main

import (
	"testing"

	"github.com/keywright/keywright/bench/harness/harnesstest"
)

// Everybody gets through every race at every number of goroutines.
func TestEverybodyRuns(t *testing.T) {
	harnesstest.Shows(t, benchmark(), "-rounds 1 -slice 10ms", "Hit from the server, per second", "keywright, Local",
		"keywright, otter tier", "go-redis/cache Once", "loads of a cold key")
}

func TestWrongArguments(t *testing.T) {
	harnesstest.Refuses(t, benchmark, nil)
}
