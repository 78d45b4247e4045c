package scalar_test

import (
	"fmt"

	"github.com/keywright/keywright/keyspace/scalar"
)

// A type says which texts are values of it.
func Example() {
	rating, err := scalar.Parse("int 1..5", nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(rating, rating.Is([]byte("4")), rating.Is([]byte("6")))
	// Output: int 1..5 true false
}
