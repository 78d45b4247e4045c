package maintenance_test

import (
	"fmt"

	"github.com/keywright/keywright/entity/maintenance"
)

// The options of a sweep, as Store.Sweeper takes them: each batch is reported.
func Example() {
	options := maintenance.SweepOptions{Rate: 1000, Swept: func(done maintenance.Swept) {
		fmt.Println(done.Gone, "items were taken out of their indexes")
	}}
	options.Swept(maintenance.Swept{Gone: 3}) // a sweep does that
	// Output: 3 items were taken out of their indexes
}
