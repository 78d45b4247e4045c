package main

import (
	"os"
	"strings"
	"testing"
)

// Everybody gets through every race at every number of goroutines, and what
// expires is swept.
func TestEverybodyRuns(t *testing.T) {
	var out strings.Builder
	if err := benchmark().Run(t.Context(), []string{"-rounds", "1", "-slice", "5ms", "-items", "200", "-expiries", "1000"},
		&out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"Create, per second", "Create, with an event", "Update of an indexed field",
		"Create and delete", "Get, per second", "Cached get", "List of 10,", "List of 100,", "200 items expire",
		"1000 expiries", "reached  stale ids after one sweep", "Create in a cluster of three"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q:\n%s", want, out.String())
		}
	}
}

func TestWrongArguments(t *testing.T) {
	for want, args := range map[string][]string{"-no-such": {"-no-such"}, "no-such-server": {"-server", "no-such-server"},
		`-what "x"`: {"-cpuprofile", os.DevNull, "-what", "x"}} {
		if err := benchmark().Run(t.Context(), args, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
	}
}
