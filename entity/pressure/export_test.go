package pressure

import (
	"testing"

	"github.com/keywright/keywright/internal/lease"
)

// Mutate takes a guard out of the scripts for the length of a test. It fails if
// the guard is not there.
func Mutate(t *testing.T, guard, instead string) {
	t.Helper()
	restore, ok := lease.Mutate(guard, instead)
	t.Cleanup(restore)
	if !ok {
		t.Fatalf("no script has %q any more: the mutation tests nothing", guard)
	}
}
