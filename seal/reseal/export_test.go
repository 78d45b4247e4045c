package reseal

import (
	"strings"
	"testing"

	"github.com/keywright/keywright"
)

// Mutate takes a guard out of the script for the length of a test.
func Mutate(t *testing.T, guard, instead string) {
	t.Helper()
	if !strings.Contains(scriptText, guard) {
		t.Fatalf("the script has no %q any more: the mutation tests nothing", guard)
	}
	old := script
	script = keywright.NewScript("mutated", strings.ReplaceAll(scriptText, guard, instead))
	t.Cleanup(func() { script = old })
}
