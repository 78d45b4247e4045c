package rdb_test

import (
	"fmt"
	"testing"

	"github.com/keywright/keywright/source"
)

// A sample of a file is of all its databases, and as large as it is to be, whatever the
// file says of its sizes.
func TestSampleOfDatabases(t *testing.T) {
	t.Parallel()
	type database struct{ told, keys int }
	for name, c := range map[string]struct {
		sample int64
		dbs    []database
		want   []int
	}{
		"fewer than the sample": {100, []database{{40, 40}, {50, 50}}, []int{40, 50}},
		"as many":               {90, []database{{40, 40}, {50, 50}}, []int{40, 50}},
		"the first is large":    {100, []database{{1000, 1000}, {1000, 1000}, {1, 1}}, []int{100, 50, 1}},
		"the first is small":    {100, []database{{1, 1}, {2000, 2000}}, []int{1, 100}},
		"not a multiple":        {100, []database{{150, 150}}, []int{100}},
		"too little is told":    {10, []database{{11, 500}, {20, 500}}, []int{10, 7}},
		"too much is told":      {10, []database{{1 << 39, 500}, {100, 100}}, []int{1, 1}},
		"nothing is told":       {10, []database{{-1, 500}, {-1, 100}}, []int{10, 0}},
	} {
		p := snapshot("REDIS0011")
		for db, d := range c.dbs {
			if p.db(uint64(db)); d.told >= 0 {
				p.raw(251).len(uint64(d.told)).len(0)
			}
			for i := range d.keys {
				p.key(0, fmt.Sprint("key:", i)).str("v")
			}
		}
		got, met := make([]int, len(c.dbs)), map[string]bool{}
		sum, err := read(p.end()).Scan(t.Context(), source.Request{Sample: c.sample}, func(keys []source.Key) error {
			for _, k := range keys {
				got[k.DB]++
				met[fmt.Sprint(k.DB, " ", string(k.Name))] = true
			}
			return nil
		})
		if err != nil || sum.Keys != int64(len(met)) {
			t.Errorf("%s: %d keys of %d, %v", name, len(met), sum.Keys, err)
		}
		for db, n := range got {
			if n != c.want[db] {
				t.Errorf("%s: %v keys of the databases, not %v", name, got, c.want)
			}
		}
	}
}
