package topology_test

import (
	"fmt"

	"github.com/keywright/keywright/connect/topology"
)

// ParseInfo reads what a server says of itself.
func ExampleParseInfo() {
	info := topology.ParseInfo("# Server\r\nredis_version:7.2.4\r\n# Memory\r\nused_memory:1048576\r\n")
	fmt.Println(info.Brand())
	fmt.Println(info.Int("used_memory"))
	// Output:
	// redis 7.2.4
	// 1048576
}
