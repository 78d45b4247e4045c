package main

import (
	"strings"
	"testing"
)

// The audit by snapshot says exactly what was planted, as the one by SCAN does.
func TestSnapshotIsExact(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), []string{"-keys", "50000", "-rounds", "1"}, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "keywright audit --snapshot") {
		t.Error(out.String())
	}
}
