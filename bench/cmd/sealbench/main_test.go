package main

import (
	"strings"
	"testing"
)

// TestEverybodyRuns: each contestant gets through, and each value is sealed again.
func TestEverybodyRuns(t *testing.T) {
	var out strings.Builder
	if err := benchmark().Run(t.Context(), []string{"-rounds", "1", "-slice", "5ms", "-values", "300"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"Texts of 100 bytes", "Texts of 65536 bytes", "rotate", "adopt"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q:\n%s", want, out.String())
		}
	}
}
