package main

import (
	"strings"
	"testing"
)

// Everybody gets through every operation at every number of goroutines.
func TestEverybodyRuns(t *testing.T) {
	var out strings.Builder
	if err := benchmark().Run(t.Context(), []string{"-rounds", "1", "-slice", "10ms"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"build cache:page:{id}", "Get, operations/s", "Set, operations/s",
		"HGetAll, operations/s", "go-redis", "guarded"} {
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

// TestKeysAllocateNoMoreThanTheyMay is a hard bound, unlike time.
func TestKeysAllocateNoMoreThanTheyMay(t *testing.T) {
	for _, c := range keyCases {
		if n := testing.AllocsPerRun(100, c.run); n > float64(c.may) {
			t.Errorf("%s: %v allocations, at most %d", c.name, n, c.may)
		}
	}
}
