package command

import (
	"slices"
	"testing"

	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
)

// TestPartsThatLackSomething: what the server lacks for any part is said, once, also where the last
// part lacks nothing.
func TestPartsThatLackSomething(t *testing.T) {
	lacks := func(what ...string) migrate.PartStatus { return migrate.PartStatus{Facts: phase.Facts{Unfit: what}} }
	if got := unfitOf([]migrate.PartStatus{lacks("a"), lacks("b", "a"), lacks()}); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%q", got)
	}
}
