package value_test

import (
	"fmt"

	"github.com/keywright/keywright/value"
)

// A codec writes a value and reads it back; what does not fit is not written.
func ExampleCodec() {
	rating := value.Int(1, 5)
	text, err := rating.Encode(4)
	fmt.Println(text, err)
	_, err = rating.Encode(6)
	fmt.Println(err != nil)
	// Output:
	// 4 <nil>
	// true
}
