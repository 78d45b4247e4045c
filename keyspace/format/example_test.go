package format_test

import (
	"fmt"

	"github.com/keywright/keywright/keyspace/format"
)

// Format lays a declaration out in one way.
func Example() {
	text, err := format.Format([]byte("keywright:   1\npackage:  shopkeys\n"))
	fmt.Printf("%s%v\n", text, err)
	// Output:
	// keywright: 1
	// package: shopkeys
	// <nil>
}
