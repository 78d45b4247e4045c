package infer_test

import (
	"fmt"
	"time"

	"github.com/keywright/keywright/infer"
	"github.com/keywright/keywright/source"
)

// A draft of a declaration is made of facts of keys.
func Example() {
	in, err := infer.New(infer.Options{Package: "shopkeys"})
	if err != nil {
		panic(err)
	}
	for id := range 20 {
		name := fmt.Appendf(nil, "cache:product:%d", id)
		in.Add([]source.Key{{Name: name, Kind: source.String, TTL: 10 * time.Minute, Bytes: 64}})
	}
	for _, e := range in.Draft().Entries {
		fmt.Println(e.Pattern, e.Type, e.Keys)
	}
	// Output: cache:product:{product_id} cache 20
}
