package pressure

import (
	"strings"
	"testing"

	"github.com/keywright/keywright"
)

// Mutate takes a guard out of the scripts for the length of a test. It fails if
// the guard is not there.
func Mutate(t *testing.T, guard, instead string) {
	t.Helper()
	found := false
	for _, s := range []struct {
		script **keywright.Script
		text   string
	}{{&leaseScript, leaseText}, {&freeScript, freeText}} {
		if !strings.Contains(s.text, guard) {
			continue
		}
		found = true
		old := *s.script
		*s.script = keywright.NewScript("mutated", strings.ReplaceAll(s.text, guard, instead))
		t.Cleanup(func() { *s.script = old })
	}
	if !found {
		t.Fatalf("no script has %q any more: the mutation tests nothing", guard)
	}
}

// Owned is owned.
var Owned = owned
