package examine_test

import (
	"context"
	"fmt"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source/server/examine"
)

// A server is asked what it says of itself.
func Example() {
	url, stop := keywrighttest.Example()
	defer stop()
	config, err := connect.Parse(url)
	if err != nil {
		panic(err)
	}
	got, err := examine.Examine(context.Background(), config, time.Now)
	if err != nil {
		panic(err)
	}
	for _, f := range got.Facts() {
		if f.Name == "topology" || f.Name == "missing permissions" {
			fmt.Println(f.Name+":", f.Value)
		}
	}
	fmt.Println(len(got.Unknown()))
	// Output:
	// topology: primary with 0 replicas (0 in step)
	// missing permissions: none of those that were tried
	// 0
}
