package copier_test

import (
	"testing"

	"github.com/keywright/keywright/internal/mutation"
)

// copyGuards lists the guards of a copy.
var copyGuards = []mutation.Row{
	{Name: "what was there before is left", Guard: "case left && c.before.has(c.hash(d.AtB.DB, d.AtB.Name)):",
		Instead: "case left && false:",
		Test:    "TestCopyOntoKeys"},
	{Name: "keys that were left are not mended", Guard: "r.Checked.Differ() == r.Kept && r.Refused == 0",
		Instead: "r.Checked.Differ() == 0 && r.Refused == 0", Test: "TestCopyOntoKeys"},
}

// TestGuards: with a guard taken out, a test fails by what it asserts.
func TestGuards(t *testing.T) { mutation.Run(t, copyGuards) }
