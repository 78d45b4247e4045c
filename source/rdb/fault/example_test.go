package fault_test

import (
	"errors"
	"fmt"

	"github.com/keywright/keywright/source/rdb/fault"
)

// A snapshot that ends in the middle of a value.
func Example() {
	err := error(&fault.Error{Offset: 90, Key: []byte("user:7"), Err: fault.ErrTruncated})
	fmt.Println(err)
	fmt.Println(errors.Is(err, fault.ErrTruncated))
	// Output:
	// byte 90, in the value of "user:7": the snapshot ends in the middle: it was cut, or is still being written
	// true
}
