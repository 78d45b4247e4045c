package entity_test

import (
	"context"
	"fmt"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/internal/everykeys"
	"github.com/keywright/keywright/keywrighttest"
)

// Items are found by their index, which is in step with every write.
func Example() {
	url, stop := keywrighttest.Example()
	defer stop()
	ctx := context.Background()
	client, err := keywright.Open(ctx, url, keywright.Options{})
	if err != nil {
		panic(err)
	}
	defer client.Close()

	items := everykeys.New(client).KeptStore() // generated from a declaration
	for id, v := range map[int64]everykeys.KeptValue{1: {Pri: 5, Name: "milk"}, 2: {Pri: 1, Name: "tea"}} {
		if _, err := items.Create(ctx, id, v); err != nil {
			panic(err)
		}
	}
	page, err := items.List(ctx, entity.Query[everykeys.KeptValue]{Of: items.ByPri(), Limit: 10})
	for _, item := range page.Items {
		fmt.Println(item.Value.Pri, item.Value.Name)
	}
	fmt.Println(err)
	// Output:
	// 1 tea
	// 5 milk
	// <nil>
}
