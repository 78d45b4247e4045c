//go:build !race

package rdb_test

import (
	"bytes"
	"context"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
)

// TestABatchIsBounded: values that expand are handed over when there are 8 MiB of them,
// however many keys a batch may have.
func TestABatchIsBounded(t *testing.T) {
	t.Parallel()
	const keys, each = 100, 1 << 20
	c := snapshot("REDIS0011").db(0)
	for i := range keys {
		c.key(0, "k"+strconv.Itoa(i))
		c.b = append(c.b, blown("v", each)...)
	}
	n, most := 0, 0
	_, err := rdb.New(bytes.NewReader(c.end()), rdb.Options{OnlyDB: -1}).Scan(context.Background(),
		source.Request{Values: everything}, func(batch []source.Key) error {
			held := 0
			for _, k := range batch {
				n++
				if k.Value == nil || len(k.Value.Str) != each {
					t.Errorf("%s has another value", k.Name)
					continue
				}
				held += len(k.Value.Str)
			}
			most = max(most, held)
			return nil
		})
	if err != nil || n != keys || most > 8<<20+2*each {
		t.Errorf("%d keys, %d bytes of values at once, %v", n, most, err)
	}
}

// TestATemplateOfItsOwnIsBounded: the field names that a hash brings with it are no more than
// 16 MiB, whatever it says, and what is read of them is not made more than twice.
func TestATemplateOfItsOwnIsBounded(t *testing.T) {
	const names = 128
	in := append(snapshot("REDIS0015").db(0).key(29, "h").len(names).b, bytes.Repeat(blown("", 1<<20), names)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := rdb.New(bytes.NewReader(in), rdb.Options{OnlyDB: -1, NoCRC: true}).Scan(context.Background(),
		source.Request{Values: everything}, func([]source.Key) error { return nil })
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "a hash template of more than 16777216 bytes") {
		t.Error(err)
	}
	if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 96 {
		t.Errorf("%d MiB were made", made)
	}
}
