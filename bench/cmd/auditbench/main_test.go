package main

import (
	"strings"
	"testing"
	"time"
)

// The real audit of 100,000 keys says exactly what was planted, on both
// servers, by the command line and in process: run fails on any difference.
func TestAuditIsExact(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), []string{"-keys", "100000", "-rounds", "1"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"redis-server", "valkey-server", auditCLI, auditChild} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report does not mention %s:\n%s", want, out.String())
		}
	}
}

// Ratios are made within a round, so a slow round for both changes nothing.
func TestRatioIsWithinARound(t *testing.T) {
	runs := func(walls ...time.Duration) *contestant {
		c := &contestant{}
		for _, w := range walls {
			c.samples = append(c.samples, sample{wall: w})
		}
		return c
	}
	slow := runs(2*time.Second, 20*time.Second, 4*time.Second)
	fast := runs(1*time.Second, 10*time.Second, 2*time.Second)
	if got := ratio(slow, fast, wall); got != 2 {
		t.Errorf("ratio %v, want 2", got)
	}
}
