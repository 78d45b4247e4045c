package step_test

import (
	"fmt"

	"github.com/keywright/keywright/migrate/record"
	"github.com/keywright/keywright/migrate/step"
)

// A plan, as Migration.Plan returns it, says whether a part can be imported without loss.
func Example() {
	plan := step.PlanReport{Part: "users", Files: 2, Records: 40, RoundTrip: true, Coverage: step.Coverage{
		Sources: record.Coverages{"users": {Unread: record.Amount{Values: 3, Bytes: 60}}},
	}}
	fmt.Println(plan.RoundTrip, plan.Covered(), step.UnreadOf(&plan.Coverage).Values)
	// Output: true false 3
}
