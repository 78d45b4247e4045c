package indexrecord_test

import (
	"fmt"

	"github.com/keywright/keywright/entity/indexrecord"
)

// A record says in which indexes an item is, by the text around the value in their keys.
func Example() {
	fmt.Println(string(indexrecord.Encode(
		indexrecord.Place{Index: "kind", Prefix: "note:idx:kind:", Value: "fact"},
		indexrecord.Place{Index: "all", Prefix: "note:idx:all", All: true},
	)))
	// Output: =kind|note:idx:kind:|=4:factall|note:idx:all=0:
}
