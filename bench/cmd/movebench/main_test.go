package main

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/keywright/keywright/bench/harness/harnesstest"
)

// TestMain runs a bare loop, if this process is one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-child" {
		if err := benchmark().Run(context.Background(), os.Args[1:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// All contestants run to their end, and every part has its goals.
func TestMoves(t *testing.T) {
	harnesstest.Shows(t, benchmark(), "-keys 5000 -rounds 1 -servers valkey-server", "backup by SCAN",
		"backup by snapshot", "÷ redis-cli --rdb", "restore into an empty server", "copy to an empty server",
		"verify two servers", "speed of verify ÷ bare loop", "speed of rename ÷ bare loop", "redis-cli --pipe",
		"redis-benchmark SET")
}

func TestWrongArguments(t *testing.T) {
	harnesstest.Refuses(t, benchmark, map[string]string{"-child": "-child other"})
}
