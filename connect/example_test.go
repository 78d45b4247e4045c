package connect_test

import (
	"fmt"

	"github.com/keywright/keywright/connect"
)

// A URL names a server, and its password is never shown.
func Example() {
	c, err := connect.Parse("redis://app:secret@cache.example:6380/2")
	if err != nil {
		panic(err)
	}
	fmt.Println(c.Addresses, c.DB, c.User)
	fmt.Printf("%v %v\n", c.Password, c.Password.Reveal() == "secret")
	_, err = connect.Parse("redis://h:secret/0")
	fmt.Println(err != nil)
	// Output:
	// [cache.example:6380] 2 app
	// *** true
	// true
}
