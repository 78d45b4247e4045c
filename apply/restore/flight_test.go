package restore_test

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/apply/restore"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source/archive"
)

// TestBytesOnTheirWay: what was read and is not written yet has a bound, however many writers and databases there are.
// A value that is larger than it goes alone.
func TestBytesOnTheirWay(t *testing.T) {
	t.Parallel()
	to := kt.Start(t, kt.Redis)
	to.Do("CONFIG", "SET", "rdbcompression", "no")
	to.Do("SET", "v", string(bytes.Repeat([]byte("v"), 200<<10)))
	payload, version := applytest.Payload(to.Do("DUMP", "v").(string))
	to.Do("SET", "v", string(bytes.Repeat([]byte("v"), 7<<20)))
	large, _ := applytest.Payload(to.Do("DUMP", "v").(string))
	var wrote atomic.Int64
	most := int64(0)
	all := func(yield func(*archive.Record, error) bool) {
		given := int64(0)
		for i := range 200 {
			p := payload
			if i%50 == 49 {
				p = large
			}
			given += int64(len(p))
			if i%50 != 49 {
				most = max(most, given-wrote.Load())
			}
			r := &archive.Record{Entry: archive.Undeclared, DB: i % 8, Key: fmt.Append(nil, i), Form: archive.Dump, RDB: version,
				Payload: p}
			if !yield(r, nil) {
				return
			}
		}
	}
	sizes := func(key []byte) int64 {
		if bytes.HasSuffix(key, []byte("49")) || bytes.HasSuffix(key, []byte("99")) {
			return int64(len(large))
		}
		return int64(len(payload))
	}
	r, err := restore.Restore(t.Context(), applytest.Open(t, to.URL()), all, restore.Options{Writers: 32,
		Wrote: func(_ int, key []byte) { wrote.Add(sizes(key)) }})
	must(t, err)
	if bound := int64(restore.MaxFlight + len(large) + len(payload)); r.Restored != 200 || most > bound {
		t.Errorf("%d bytes were on their way, %d at most: %+v", most, bound, r.Counts)
	}
}
