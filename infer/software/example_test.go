package software_test

import (
	"fmt"

	"github.com/keywright/keywright/infer/software"
	"github.com/keywright/keywright/source"
)

// Keys of well-known software are recognized by their signs.
func Example() {
	for _, p := range software.Found([]software.Observation{
		{Key: []byte("asynq:queues"), Kind: source.Set},
		{Key: []byte("asynq:{default}:pending"), Kind: source.List},
		{Key: []byte("asynq:servers"), Kind: source.ZSet},
	}) {
		fmt.Println(p.Name)
	}
	// Output: asynq
}
