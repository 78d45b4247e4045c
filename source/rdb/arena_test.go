//go:build !race

package rdb_test

import (
	"bytes"
	"context"
	"strconv"
	"testing"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
)

// TestABatchIsBounded: values that expand are handed over when there are 8 MiB of them,
// however many keys a batch may have.
func TestABatchIsBounded(t *testing.T) {
	const keys, each = 100, 1 << 20
	c := snapshot("REDIS0011").db(0)
	for i := range keys {
		c.key(0, "k"+strconv.Itoa(i))
		c.b = append(c.b, blown("v", each)...)
	}
	n, most := 0, 0
	_, err := rdb.New(bytes.NewReader(c.end()), rdb.Options{OnlyDB: -1}).Scan(context.Background(), source.Request{Values: everything}, func(batch []source.Key) error {
		held := 0
		for _, k := range batch {
			n++
			if k.Value == nil || len(k.Value.Elements) != 1 || len(k.Value.Elements[0]) != each {
				t.Errorf("%s has another value", k.Name)
				continue
			}
			held += len(k.Value.Elements[0])
		}
		most = max(most, held)
		return nil
	})
	if err != nil || n != keys || most > 8<<20+2*each {
		t.Errorf("%d keys, %d bytes of values at once, %v", n, most, err)
	}
}
