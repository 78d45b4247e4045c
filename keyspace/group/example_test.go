package group_test

import (
	"fmt"

	"github.com/keywright/keywright/keyspace/group"
)

// Names lose their identifiers, and a name that a program put together by mistake is reported.
func Example() {
	fmt.Println(group.Mask([]byte("user:ann@example.com:7")))
	fmt.Println(group.Slip([]byte("user:null:cart")))
	// Output:
	// user:{text}:{int}
	// null
}
