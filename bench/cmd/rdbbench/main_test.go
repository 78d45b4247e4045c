package main

import (
	"strings"
	"testing"
)

// The audit of a file says exactly what was planted, with and without the
// checksum, and the estimates hold on both servers: run fails on any difference.
func TestFileIsExact(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), []string{"-keys", "50000", "-rounds", "1"}, &out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, "MISSED") && (strings.Contains(line, "exact estimates") || strings.Contains(line, "error of the estimate")) {
			t.Error(line)
		}
	}
}
