package compare_test

import (
	"fmt"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/compare"
)

// Two values are equal whatever the order of what has none.
func Example() {
	set := func(members string) *source.Content { // as DUMP gives it: the type, how many, and each with its length
		return &source.Content{Name: []byte("tags"), Kind: source.Set, RDB: 10, Payload: []byte("\x02\x02" + members)}
	}
	fmt.Println(compare.Equal(set("\x01a\x01b"), set("\x01b\x01a")), compare.Equal(set("\x01a\x01b"), set("\x01a\x01c")))
	// Output: true false
}
