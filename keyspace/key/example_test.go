package key_test

import (
	"fmt"
	"time"

	"github.com/keywright/keywright/keyspace/key"
)

// A date in a key is written and read in the layout of the declaration.
func ExampleDate() {
	day := key.NewDate("YYYY-MM-DD")
	fmt.Println(day.Format(time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)))
	_, ok := day.Parse("2027-02-30")
	fmt.Println(ok)
	// Output:
	// 2027-03-01
	// false
}
