package pressure_test

import (
	"context"
	"fmt"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/pressure"
	"github.com/keywright/keywright/keywrighttest"
)

// A watcher looks at a server that has no limit of its own.
func Example() {
	url, stop := keywrighttest.Example()
	defer stop()
	ctx := context.Background()
	client, err := keywright.Open(ctx, url, keywright.Options{})
	if err != nil {
		panic(err)
	}
	defer client.Close()

	entry := keywright.Entry{Name: "item.pressure", Type: "string"}
	watcher := pressure.New(keywright.Binding{Client: client, Entry: &entry, Key: "item:pressure"},
		[]pressure.Step{{At: 0.9, To: 0.8, Entry: "item"}}, pressure.Options{
			Limit: 1 << 40,
			Look:  func(r pressure.Reading) { fmt.Println(r.Used > 0, r.Limit == 1<<40) },
		})
	reports, err := watcher.Once(ctx)
	fmt.Println(len(reports), err)
	// Output:
	// true true
	// 0 <nil>
}
