package main

import (
	"strings"
	"testing"
)

// TestRun: the command prints each figure, and a program that imports the matcher, the audit or the runtime links no
// more modules than the goal says.
func TestRun(t *testing.T) {
	t.Chdir("../../..")
	var out strings.Builder
	if err := run(&out, true); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "modules linked by ") {
			if seen++; !strings.Contains(line, " yes ") {
				t.Error(line)
			}
		}
	}
	if seen != 3 || !strings.Contains(out.String(), "goals are reached") {
		t.Errorf("%d lines of modules:\n%s", seen, out.String())
	}
}
