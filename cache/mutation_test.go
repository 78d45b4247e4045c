package cache_test

import (
	"testing"

	"github.com/keywright/keywright/internal/mutation"
)

// TestGuardMutations: with a guard in Go taken out, a test fails by what it asserts.
func TestGuardMutations(t *testing.T) {
	const one, many = "TestByCost", "TestByCostOfMany"
	mutation.Run(t, []mutation.Row{
		{"what a load costs does not count", "script.go", "i.c.costing(spent)", "i.c.write", one},
		{"a chosen TTL may be none", "cache.go", "max(c.o.ByCost(spent), time.Millisecond)", "c.o.ByCost(spent)",
			"TestByCostOfNothing"},
		{"a chosen TTL may be too short", "cache.go", "ttl = max(ttl, low)", "_ = low", one},
		{"a chosen TTL may be too long", "cache.go", "ttl = min(ttl, high)", "_ = high", one},
		{"each of many costs what all do", "many.go", "spent := time.Since(began) / time.Duration(len(own))",
			"spent := time.Since(began)", many},
		{"a stale value has a chosen TTL", "cache.go",
			"o.ByCost != nil && (o.Fresh > 0 || t.Policy != keywright.Expires)",
			"o.ByCost != nil && t.Policy != keywright.Expires", "TestByCostNotWithFresh"},
		{"a server without room counts as one that is away", "down.go", "!failing(err) || answered(err)", "!failing(err)",
			"TestWhatIsInvalidGoesWhenMemoryIsFull"},
		{"what has no TTL gets one", "cache.go", "o.ByCost != nil && (o.Fresh > 0 || t.Policy != keywright.Expires)",
			"o.ByCost != nil && o.Fresh > 0", "TestByCostNotWithFresh"},
	})
}
