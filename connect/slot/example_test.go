package slot_test

import (
	"fmt"

	"github.com/keywright/keywright/connect/slot"
)

// Keys with the same hash tag are in one slot, so that one script may have both.
func Example() {
	fmt.Println(slot.Of([]byte("coupon:{42}:stock")) == slot.Of([]byte("coupon:{42}:issued")))
	tag, ok := slot.Tag([]byte("coupon:{42}:stock"))
	fmt.Printf("%s %t\n", tag, ok)
	// Output:
	// true
	// 42 true
}
