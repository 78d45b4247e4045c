package rdb_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
	"github.com/keywright/keywright/source/rdb/dump"
	"github.com/keywright/keywright/source/rdb/write"
)

// A snapshot is written and read.
func Example() {
	var file bytes.Buffer
	w := write.New(&file, dump.VersionOf(false, 7, 0))
	w.Database(0, 1)
	w.Dump([]byte("cache:product:42"), 0, []byte("\x00\x06kettle"))
	if err := w.Close(); err != nil {
		panic(err)
	}
	s := rdb.New(&file, rdb.Options{Name: "dump.rdb", OnlyDB: -1})
	_, err := s.Scan(context.Background(), source.Request{}, func(keys []source.Key) error {
		for _, k := range keys {
			fmt.Printf("%s %s %v\n", k.Name, k.Kind, k.TTL == source.NoTTL)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// cache:product:42 string true
	// <nil>
}
