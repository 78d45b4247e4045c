package failure_test

import (
	"errors"
	"fmt"

	"github.com/keywright/keywright/entity/failure"
)

// Of many items one was changed since it was read.
func Example() {
	err := error(failure.Errors{2: &failure.Conflict{Version: 7, Err: failure.ErrVersion}})
	fmt.Println(err)
	fmt.Println(errors.Is(err, failure.ErrVersion))
	// Output:
	// 1 items failed; the one at 2: the item has another version: 7
	// true
}
