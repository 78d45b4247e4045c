package dataset_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/keywright/keywright/bench/dataset"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
)

// A million keys make a snapshot of about 260 MB, in which every encoding
// occurs, and lists and streams of several nodes.
func TestSnapshot(t *testing.T) {
	server := start(t, "redis-server")
	const keys = 50_000
	if _, err := dataset.Load(t.Context(), server.Addr, dataset.Options{Keys: keys, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	if err := server.Do("SAVE"); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(server.Dir, "dump.rdb"))
	if err != nil {
		t.Fatal(err)
	}
	if perKey := len(file) / keys; perKey < 250 || perKey > 270 {
		t.Errorf("a key takes %d bytes, so a million make as many MB", perKey)
	}
	found := map[string]int{}
	_, err = rdb.New(bytes.NewReader(file), rdb.Options{OnlyDB: -1}).Scan(t.Context(), source.Request{Bytes: true},
		func(batch []source.Key) error {
			for _, k := range batch {
				found[k.Kind.String()+" "+k.Facts.Encoding]++
				for what, is := range map[string]bool{
					"list of several nodes":   k.Kind == source.List && k.Bytes > 9<<10, // a node is 8 KiB
					"stream of several nodes": k.Kind == source.Stream && k.Facts.Elements > 100,
				} {
					if is {
						found[what]++
					}
				}
			}
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"string int", "string embstr", "string raw", "hash listpack", "hash hashtable",
		"list quicklist", "set intset",
		"set hashtable", "zset listpack", "zset skiplist", "stream stream", "list of several nodes",
		"stream of several nodes"} {
		if found[what] < 20 {
			t.Errorf("%s: %d keys of %d", what, found[what], keys)
		}
	}
}
