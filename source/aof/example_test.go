package aof_test

import (
	"fmt"
	"strings"

	"github.com/keywright/keywright/source/aof"
)

// The manifest of an append-only folder names its files, and an increment has so many commands.
func Example() {
	folder, err := aof.Parse(strings.NewReader("file appendonly.aof.1.base.rdb seq 1 type b\n" +
		"file appendonly.aof.1.incr.aof seq 1 type i\n"))
	fmt.Println(folder.Base, folder.Increments, err)
	fmt.Println(aof.Commands(strings.NewReader("*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n")))
	// Output:
	// appendonly.aof.1.base.rdb [appendonly.aof.1.incr.aof] <nil>
	// 1 <nil>
}
