package fault_test

import (
	"errors"
	"fmt"

	"github.com/keywright/keywright/migrate/record/fault"
)

// An error says where it is; errors.Is tells what is wrong.
func Example() {
	var err error = &fault.Error{At: fault.Position{File: "scores.json", Line: 3, Column: 7},
		Message: "'}' where a value should be", Err: fault.ErrSyntax}
	fmt.Println(err)
	fmt.Println(errors.Is(err, fault.ErrSyntax))
	// Output:
	// scores.json:3:7: '}' where a value should be
	// true
}
