package lease_test

import (
	"testing"

	"github.com/keywright/keywright/internal/mutation"
)

// TestGuardMutations: with a guard in Go taken out, a test fails by what it asserts.
func TestGuardMutations(t *testing.T) {
	const heard, hold = "TestALossIsHeard", "TestHold"
	mutation.Run(t, []mutation.Row{
		{"a loss is told again", "case !held:\n\t\tl.since = time.Time{}", "case false:", heard},
		{"a loss without work is told", "if held || since.IsZero() {", "if held {", heard},
		{"work begins again with each renewal", "case since.IsZero():", "case held:", "TestWorkIsOnePiece"},
		{"a lease at rest counts as at work", "defer l.mu.Unlock()\n\tl.since = time.Time{}", "l.mu.Unlock()",
			heard},
		{"what is given back counts as at work", "l.Rest()\n\t_, err := oneAtATime", "_, err := oneAtATime", heard},
		{"another's lease is not told", "l.Took(ctx, false)\n\t\treturn Term{}, busy", "return Term{}, busy",
			heard},
		{"a renewal that is refused is not told", "if !held {\n\t\tl.Took(ctx, false)", "if !held {", heard},
		{"a silent server is not told", "if !time.Now().Before(t.Until) {\n\t\t\tl.Took(ctx, false)",
			"if false {\n\t\t\tl.Took(ctx, false)", heard},
		{"a lease outlives its renewals", "case errors.Is(err, ErrLost), !time.Now().Before(t.Until):",
			"case errors.Is(err, ErrLost):", hold},
		{"a lease counts from its answer", "began.Add(l.ttl - l.ttl/100)",
			"time.Now().Add(l.ttl - l.ttl/100)", "TestAnEndByTheLocalClock"},
	})
}
