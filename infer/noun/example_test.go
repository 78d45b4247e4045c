package noun_test

import (
	"fmt"

	"github.com/keywright/keywright/infer/noun"
)

func ExampleSingular() {
	fmt.Println(noun.Singular("categories"), noun.Singular("sessions"))
	// Output: category session
}
