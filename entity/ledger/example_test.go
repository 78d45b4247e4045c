package ledger_test

import (
	"fmt"

	"github.com/keywright/keywright/entity/ledger"
)

// A record says in which indexes an item is, by the text around the value in their keys.
func Example() {
	fmt.Println(string(ledger.Record(
		ledger.Place{Index: "kind", Prefix: "note:idx:kind:", Value: "fact"},
		ledger.Place{Index: "all", Prefix: "note:idx:all", All: true},
	)))
	// Output: =kind|note:idx:kind:|=4:factall|note:idx:all=0:
}
