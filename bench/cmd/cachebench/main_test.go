package main

import (
	"strings"
	"testing"
)

// Everybody gets through every race at every number of goroutines.
func TestEverybodyRuns(t *testing.T) {
	var out strings.Builder
	if err := benchmark().Run(t.Context(), []string{"-rounds", "1", "-slice", "10ms"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Hit from the server, per second", "keywright, Local", "keywright, otter tier",
		"go-redis/cache Once", "loads of a cold key"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q:\n%s", want, out.String())
		}
	}
}

func TestWrongArguments(t *testing.T) {
	for want, args := range map[string][]string{"-no-such": {"-no-such"},
		"no-such-server": {"-server", "no-such-server"}} {
		if err := benchmark().Run(t.Context(), args, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
	}
}
