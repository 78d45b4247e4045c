package main

import (
	"testing"
	"time"

	"github.com/keywright/keywright/bench/contest"
	"github.com/keywright/keywright/bench/harness/harnesstest"
	"github.com/keywright/keywright/bench/report"
)

// The audit by snapshot says exactly what was planted, as the one by SCAN does.
func TestSnapshotIsExact(t *testing.T) {
	harnesstest.Shows(t, benchmark(), "-keys 50000 -rounds 1", "keywright audit --snapshot", "redis-server, diskless",
		"redis-server, from disk", "valkey-server, diskless", "valkey-server, from disk")
}

func TestWrongArguments(t *testing.T) {
	harnesstest.Refuses(t, benchmark, nil)
}

// Time is judged by redis-cli, the main thread by the SCAN audit.
func TestGoals(t *testing.T) {
	runs := func(wall, server time.Duration) *contest.Contestant {
		return &contest.Contestant{Samples: []contest.Sample{{Wall: wall, Server: server}}}
	}
	for _, tc := range []struct {
		snapshot *contest.Contestant
		reached  [2]bool
	}{
		{runs(110, 19), [2]bool{true, true}},
		{runs(130, 19), [2]bool{false, true}},
		{runs(110, 21), [2]bool{true, false}},
	} {
		var out report.Report
		field{snapshot: tc.snapshot, dump: runs(100, 300), scan: runs(900, 100)}.goals(&out, "server")
		if got := [2]bool{out.Goals[0].Reached(), out.Goals[1].Reached()}; got != tc.reached {
			t.Errorf("%+v: %v, want %v", tc.snapshot.Samples, got, tc.reached)
		}
	}
}
