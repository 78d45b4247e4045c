package main

import (
	"testing"

	"github.com/keywright/keywright/bench/harness/harnesstest"
)

// Everybody gets through every operation at every number of goroutines.
func TestEverybodyRuns(t *testing.T) {
	harnesstest.Shows(t, benchmark(), "-rounds 1 -slice 10ms", "build cache:page:{id}", "Get, operations/s",
		"Set, operations/s", "HGetAll, operations/s", "go-redis", "guarded")
}

func TestWrongArguments(t *testing.T) {
	harnesstest.Refuses(t, benchmark, nil)
}

// TestKeysAllocateNoMoreThanTheyMay is a hard bound, unlike time.
func TestKeysAllocateNoMoreThanTheyMay(t *testing.T) {
	for _, c := range keyCases {
		if n := testing.AllocsPerRun(100, c.run); n > float64(c.may) {
			t.Errorf("%s: %v allocations, at most %d", c.name, n, c.may)
		}
	}
}
