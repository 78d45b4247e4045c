package write_test

import (
	"bytes"
	"fmt"

	"github.com/keywright/keywright/source/rdb/dump"
	"github.com/keywright/keywright/source/rdb/write"
)

// A snapshot for Redis 7.0 has one key, whose value is as DUMP returned it.
func Example() {
	var file bytes.Buffer
	w := write.New(&file, dump.VersionOf(false, 7, 0))
	w.Database(0, 1)
	w.Dump([]byte("cache:product:42"), 0, []byte("\x00\x06kettle"))
	fmt.Println(w.Close())
	fmt.Printf("%.9s\n", file.Bytes())
	// Output:
	// <nil>
	// REDIS0010
}
