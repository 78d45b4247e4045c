package main

import (
	"testing"

	"github.com/keywright/keywright/bench/harness/harnesstest"
)

// The benchmark runs small, and has a row for each thing that it measures.
func TestSmall(t *testing.T) {
	harnesstest.Shows(t, benchmark(), "-records 600 -rounds 1 -slice 20ms -only import,write,read", "strings", "hashes",
		"both sides", "not compared")
}
