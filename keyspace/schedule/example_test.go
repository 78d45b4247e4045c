package schedule_test

import (
	"fmt"
	"time"

	"github.com/keywright/keywright/keyspace/schedule"
)

// A schedule says when something is done next.
func Example() {
	nightly, err := schedule.Cron("30 3 * * *", "UTC")
	if err != nil {
		panic(err)
	}
	next, ok := nightly.Next(time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC), time.UTC)
	fmt.Println(next.Format(time.RFC3339), ok)
	// Output: 2027-02-01T03:30:00Z true
}
