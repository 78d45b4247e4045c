package pressure_test

import (
	"testing"

	"github.com/keywright/keywright/internal/mutation"
)

// TestGuardMutations: with a guard in Go taken out, a test fails by what it asserts.
func TestGuardMutations(t *testing.T) {
	mutation.Run(t, []mutation.Row{
		{"a lease at rest is lost", "pressure.go", "\tw.lease.Rest()\n", "", "TestALeaseAtRest"},
		{"a lost lease goes on", "run.go", "errors.Is(err, lease.ErrLost) {\n\t\treturn r.stop(Lost)",
			"errors.Is(err, lease.ErrLost) {\n\t\treturn true", "TestLost"},
		{"a lease that ends during a page is not told", "run.go", "Before(r.term.Until) && !r.renew(ctx)",
			"Before(r.term.Until) && false",
			"TestALeaseThatEndsDuringAPage"},
		{"a lease is kept without pressure", "pressure.go", "_ = w.lease.Release(ctx)\n", "", "TestShorten"},
		{"a step begins again at once", "run.go", "time.Now().Before(w.rests[at])", "false", "TestRest"},
	})
}
