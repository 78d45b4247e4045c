package seal_test

import (
	"fmt"

	"github.com/keywright/keywright/value/seal"
)

// A key ring is made, gets a second key, and the second one becomes active.
func Example() {
	text, first, err := seal.Generate()
	if err != nil {
		panic(err)
	}
	text, second, err := seal.Add(text, false)
	if err != nil {
		panic(err)
	}
	text, err = seal.Activate(text, second)
	if err != nil {
		panic(err)
	}
	ring, err := seal.Parse(text)
	fmt.Println(first != second, err, fmt.Sprint(ring) == "seal.Ring(active "+second+")")
	// Output: true <nil> true
}
