package lock

import (
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
)

// Mutate takes a guard out of a script for the length of a test. It fails if the
// guard is not there.
func Mutate(t *testing.T, guard, instead string) {
	t.Helper()
	found := false
	edit := func(text string) string {
		found = found || strings.Contains(text, guard)
		return strings.ReplaceAll(text, guard, instead)
	}
	old, oldGate := script, gateScript
	script, gateScript = newScripts(edit), keywright.NewScript("gate", edit(gateText))
	if !found {
		t.Fatalf("no script has %q any more: the mutation tests nothing", guard)
	}
	t.Cleanup(func() { script, gateScript = old, oldGate })
}

// MutateMargin makes holders believe that a lease lasts longer than it does.
func MutateMargin(t *testing.T) {
	old := margin
	margin = func(lease time.Duration) time.Duration { return -lease }
	t.Cleanup(func() { margin = old })
}
