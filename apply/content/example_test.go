package content_test

import (
	"bytes"
	"fmt"

	"github.com/keywright/keywright/apply/content"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/source"
)

// The members of a sorted set that name keys get the names that these keys have now.
func ExampleRename() {
	value := &source.Content{Name: []byte("recent"), Kind: source.ZSet,
		Elements: [][]byte{[]byte("page:1"), []byte("17"), []byte("other"), []byte("18")}}
	how := &plan.Content{Member: func(name []byte) ([]byte, bool) {
		rest, ok := bytes.CutPrefix(name, []byte("page:"))
		return append([]byte("site:page:"), rest...), ok
	}}
	err := content.Rename(value, how, func(c *source.Content) error {
		fmt.Printf("%s\n", bytes.Join(c.Elements, []byte(" ")))
		return nil
	})
	fmt.Println(err)
	// Output:
	// site:page:1 17 other 18
	// <nil>
}
