package main

import (
	"bytes"
	"strings"
	"testing"
)

// The benchmark runs small, and has a row for each thing that it measures.
func TestSmall(t *testing.T) {
	var out bytes.Buffer
	if err := benchmark().Run(t.Context(), []string{"-records", "600", "-rounds", "1", "-slice", "20ms", "-only", "import,write,read"},
		&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"strings", "hashes", "both sides", "not compared"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
}
