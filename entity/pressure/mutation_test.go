package pressure_test

import (
	"testing"

	"github.com/keywright/keywright/internal/mutation"
)

// TestGuardMutations: with a guard in Go taken out, a test fails by what it asserts.
func TestGuardMutations(t *testing.T) {
	mutation.Run(t, []mutation.Row{
		{"a lease at rest is lost", "\tw.lease.Rest()\n", "", "TestALeaseAtRest"},
		{"a lost lease g a page is not told", "Before(r.term.Until) && !r.renew(ctx)",
			"Before(r.term.Until) && false",
			"TestALeaseThatEndsDuringAPage"},
		{"a lease is kept without pressure", "_ = w.lease.Release(ctx)\n", "", "TestShorten"},
		{"a step begins again at once", "time.Now().Before(w.rests[at])", "false", "TestRest"},
	})
}
