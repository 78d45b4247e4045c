package copier_test

import (
	"context"
	"fmt"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply/copier"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source/server"
)

// The keys of a server are copied to another one, and both are compared until they agree.
func ExampleCopy() {
	ctx := context.Background()
	var clients [2]*keywright.Client
	var sides [2]*server.Reader
	for i := range sides {
		url, stop := keywrighttest.Example()
		defer stop()
		config, err := connect.Parse(url)
		if err != nil {
			panic(err)
		}
		if sides[i], err = server.NewReader(ctx, config, server.Options{OnlyDB: -1}, server.ContentsRequest{}); err != nil {
			panic(err)
		}
		defer sides[i].Close()
		if clients[i], err = keywright.Open(ctx, url, keywright.Options{}); err != nil {
			panic(err)
		}
		defer clients[i].Close()
	}
	raw := clients[0].Raw()
	if err := raw.Do(ctx, raw.B().Set().Key("page:1").Value("x").Build()).Error(); err != nil {
		panic(err)
	}

	report, err := copier.Copy(ctx, sides[0], sides[1], func(int) (*keywright.Client, error) { return clients[1], nil },
		copier.Options{})
	fmt.Println(report.Keys, report.Restored, report.Settled(), err)
	// Output:
	// 1 1 true <nil>
}
