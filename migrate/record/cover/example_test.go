package cover_test

import (
	"fmt"

	"github.com/keywright/keywright/migrate/record/cover"
)

// Whole says whether the moves read all that is not ignored.
func Example() {
	all := cover.Coverage{Values: 12, Ignored: cover.Amount{Values: 2, Bytes: 40}}
	some := cover.Coverage{Values: 12, Unread: cover.Amount{Values: 1, Bytes: 9}}
	fmt.Println(all.Whole(), some.Whole())
	// Output: true false
}
