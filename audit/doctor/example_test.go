package doctor_test

import (
	"context"
	"fmt"
	"time"

	"github.com/keywright/keywright/audit/doctor"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source/server/examine"
)

// A server is examined, and what is dangerous about it is judged.
func Example() {
	url, stop := keywrighttest.Example()
	defer stop()
	config, err := connect.Parse(url)
	if err != nil {
		panic(err)
	}
	examined, err := examine.Examine(context.Background(), config, time.Now)
	if err != nil {
		panic(err)
	}
	for _, f := range doctor.Of(examined).Findings {
		if f.Code == "KW705" {
			fmt.Println(f.Message)
		}
	}
	// Output: nothing is written to disk
}
