package pattern_test

import (
	"fmt"

	"github.com/keywright/keywright/keyspace/pattern"
)

// A pattern builds keys and reads them: each is the inverse of the other.
func Example() {
	p, err := pattern.Parse("cache:product:{id}", nil)
	if err != nil {
		panic(err)
	}
	key, err := p.Build("42")
	fmt.Printf("%s %v\n", key, err)
	values, ok := p.Match(key)
	fmt.Println(values, ok)
	_, err = p.Build("4:2")
	fmt.Println(err != nil)
	// Output:
	// cache:product:42 <nil>
	// [42] true
	// true
}

// Two patterns overlap when a key matches both: there is a key that shows it.
func ExampleOverlap() {
	a, b := pattern.MustParse("user:{id}", nil), pattern.MustParse("user:{name}", nil)
	_, overlap := pattern.Overlap(a, b)
	fmt.Println(overlap)
	_, overlap = pattern.Overlap(a, pattern.MustParse("order:{id}", nil))
	fmt.Println(overlap)
	// Output:
	// true
	// false
}
