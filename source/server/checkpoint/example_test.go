package checkpoint_test

import (
	"encoding/json"
	"fmt"

	"github.com/keywright/keywright/source/server/checkpoint"
)

// A position is kept as JSON, with what was made of the keys by then. The next scan goes on there.
func Example() {
	var kept []byte
	points := checkpoint.Checkpoints{
		Due:  func() bool { return true },
		Save: func(p checkpoint.Position) (err error) { kept, err = json.Marshal(p); return err },
	}
	err := points.Save(checkpoint.Position{Keys: 500, Shards: []checkpoint.ShardPosition{}}) // a scan does that
	next := checkpoint.Checkpoints{From: new(checkpoint.Position)}
	fmt.Println(err, json.Unmarshal(kept, next.From), next.From.Keys)
	// Output: <nil> <nil> 500
}
