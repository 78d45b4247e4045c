package phase_test

import (
	"fmt"

	"github.com/keywright/keywright/migrate/phase"
)

// A part goes one phase forward when no gate is closed.
func Example() {
	rule := phase.Of(phase.Live)
	fmt.Println(rule.Name, rule.Authority == phase.Redis, rule.Also == phase.Files)
	for _, closed := range phase.Check(phase.Backfill, phase.Shadow, phase.Limits{}, phase.Facts{Imported: true}) {
		fmt.Println(closed.Gate)
	}
	// Output:
	// live true true
	// verified
}
