package cache_test

import (
	"testing"

	"github.com/keywright/keywright/internal/mutation"
)

// TestGuardMutations: with a guard in Go taken out, a test fails by what it asserts.
func TestGuardMutations(t *testing.T) {
	const one, many = "TestByCost", "TestByCostOfMany"
	mutation.Run(t, []mutation.Row{
		{"what a load costs does not count", "i.c.costing(spent)", "i.c.write", one},
		{"a chosen TTL may be none", "max(c.o.ByCost(spent), time.Millisecond)", "c.o.ByCost(spent)",
			"TestByCostOfNothing"},
		{"a chosen TTL may be too short", "ttl = max(ttl, low)", "_ = low", one},
		{"a chosen TTL may be too long", "ttl = min(ttl, high)", "_ = high", one},
		{"each of many costs what all do", "spent := time.Since(began) / time.Duration(len(own))",
			"spent := time.Since(began)", many},
		{"a stale value has a chosen TTL", "o.ByCost != nil && (o.Fresh > 0 || t.Policy != keywright.Expires)",
			"o.ByCost != nil && t.Policy != keywright.Expires", "TestByCostNotWithFresh"},
		{"a server without room counts as one that is away", "!failing(err) || answered(err)", "!failing(err)",
			"TestWhatIsInvalidGoesWhenMemoryIsFull"},
		{"a closed client counts as a server that is away", " && !errors.Is(err, keywright.ErrClosed)", "",
			"TestNoCopyIsServedByAClosedClient"},
		{"what has no TTL gets one", "o.ByCost != nil && (o.Fresh > 0 || t.Policy != keywright.Expires)",
			"o.ByCost != nil && o.Fresh > 0", "TestByCostNotWithFresh"},
	})
}
