package health_test

import (
	"context"
	"fmt"

	"github.com/keywright/keywright/kernel/health"
)

// A server says how it is.
func Example() {
	ask := func(_ context.Context, words ...string) (any, error) {
		if words[0] == "PING" {
			return "PONG", nil
		}
		return "# Memory\r\nused_memory:800\r\nmaxmemory:1000\r\nmaxmemory_policy:noeviction\r\n", nil
	}
	s := health.Check(context.Background(), ask)
	fmt.Println(s.Memory, s.MaxMemory, s.Policy, s.Err)
	// Output: 800 1000 noeviction <nil>
}
