package source_test

import (
	"fmt"

	"github.com/keywright/keywright/source"
)

// A glob matches names as SCAN MATCH does.
func Example() {
	fmt.Println(source.Glob([]byte("user:?*"), []byte("user:7")), source.Glob([]byte("user:[a-c]"), []byte("user:d")))
	fmt.Println(source.TTL(1500))
	// Output:
	// true false
	// 1.5s
}
