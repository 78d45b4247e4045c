package limit_test

import (
	"context"
	"fmt"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/limit"
)

// Two at once, then one every half a minute.
func Example() {
	url, stop := keywrighttest.Example()
	defer stop()
	ctx := context.Background()
	client, err := keywright.Open(ctx, url, keywright.Options{})
	if err != nil {
		panic(err)
	}
	defer client.Close()

	entry := keywright.Entry{Name: "login", Pattern: "login:{user}", Type: "string",
		TTL: keywright.TTL{Policy: keywright.Expires, Default: 5 * time.Minute, Min: 5 * time.Minute, Max: 5 * time.Minute}}
	logins := limit.New(keywright.Binding{Client: client, Entry: &entry}, limit.GCRA(2, time.Minute, 2))
	for range 3 {
		answer, err := logins.Of("login:ann", nil).Allow(ctx)
		fmt.Println(answer.Allowed, answer.Remaining, err)
	}
	// Output:
	// true 1 <nil>
	// true 0 <nil>
	// false 0 <nil>
}
