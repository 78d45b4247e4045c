package page_test

import (
	"fmt"

	"github.com/keywright/keywright/infer/page"
)

// Read tells which keys a page of a wiki names.
func ExampleRead() {
	page := page.Read([]byte("| Key | Type | TTL |\n|---|---|---|\n| `user:{id}:posts` | list | 7d |\n"))
	for _, k := range page.Keys {
		fmt.Println(k.Pattern, k.Type, k.TTL)
	}
	// Output: user:{id}:posts list 7d
}
