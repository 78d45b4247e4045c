package kernel_test

import (
	"errors"
	"fmt"

	"github.com/keywright/keywright/kernel"
)

// The class of an error says what a failed call has done.
func Example() {
	err := error(&kernel.Error{Class: kernel.UnknownOutcome, Op: "set", Entry: "stock"})
	class, ok := kernel.ClassOf(fmt.Errorf("order 7: %w", err))
	fmt.Println(class == kernel.UnknownOutcome, ok)
	_, ok = kernel.ClassOf(errors.New("of another package"))
	fmt.Println(ok)
	// Output:
	// true true
	// false
}
