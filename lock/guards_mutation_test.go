package lock_test

import (
	"testing"

	"github.com/keywright/keywright/internal/mutation"
)

// TestGuardMutations: with a guard in Go taken out, a test fails by what it asserts.
func TestGuardMutations(t *testing.T) {
	mutation.Run(t, []mutation.Row{
		{"what is held with others is detached", "if lease.kind != alone {", `if lease.token == "" {`,
			"TestDetachNeedsALease"},
		{"a detached lock is given back", "lf.detached = lf.holders > 0 && lf.ends(cause)\n\treturn lf.detached",
			"return lf.holders > 0 && lf.ends(cause)", "TestHandOver"},
		{"a lease that is being given back is detached", "lf.holders > 0 && lf.ends(cause)", "lf.ends(cause)",
			"TestDetachWhileItEnds"},
		{"a resumed lease has another fencing token", "reply{fence: h.Fence, ", "reply{fence: h.Fence + 1, ",
			"TestHandOver"},
	})
}
