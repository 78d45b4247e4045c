package indexrecord

import (
	"testing"

	"github.com/keywright/keywright/internal/mutation"
)

// TestGuards: with a guard taken out, a test fails by what it asserts.
func TestGuards(t *testing.T) {
	mutation.Run(t, []mutation.Row{
		{"an intent may be in an intent", `name == "!" && depth == 0`, `name == "!"`, "TestMovedEntries"},
	})
}
