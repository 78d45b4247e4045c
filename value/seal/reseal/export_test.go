package reseal

import (
	"testing"

	"github.com/keywright/keywright"
)

// Mutate takes a guard out of the script for the length of a test.
func Mutate(t *testing.T, guard, instead string) {
	t.Helper()
	mutant, n := parts.Mutant("reseal", guard, instead)
	if n == 0 {
		t.Fatalf("the script has no %q any more: the mutation tests nothing", guard)
	}
	old := script
	script = keywright.NewScript("mutated", mutant.Script("reseal"))
	t.Cleanup(func() { script = old })
}
