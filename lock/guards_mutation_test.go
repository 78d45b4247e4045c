package lock_test

import (
	"testing"

	"github.com/keywright/keywright/internal/mutation"
)

// TestGuardMutations: with a guard in Go taken out, a test fails by what it asserts.
func TestGuardMutations(t *testing.T) {
	mutation.Run(t, []mutation.Row{
		{"what is held with others is detached", "handover.go", "if lease.kind != alone {", `if lease.token == "" {`, "TestDetachNeedsALease"},
		{"a detached lock is given back", "handover.go", "lf.detached = true", "lf.detached = false", "TestHandOver"},
		{"a resumed lease has another fencing token", "handover.go", "reply{fence: h.Fence, ", "reply{fence: h.Fence + 1, ", "TestHandOver"},
	})
}
