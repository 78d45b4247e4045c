package server

import (
	"fmt"
	"testing"

	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
)

// Connections that break in the middle of a page leave nothing of it: each value that is
// read has the name that it has on the server.
func TestContentsOverConnectionsThatBreak(t *testing.T) {
	s := kt.Start(t, kt.Redis)
	for i := range 3000 {
		s.Do("SET", fmt.Sprint("key", i), fmt.Sprint("value of key", i))
	}
	for cut := range 8 {
		proxy := kt.NewProxy(t, s.Addr(), kt.Rules{CutAfter: int64(40_000 + 9_973*cut), CutTimes: 3})
		seen := map[string]bool{}
		sum, err := New(config(t, "redis://"+proxy.Addr()), Options{OnlyDB: -1}).Contents(t.Context(), ContentsRequest{}, func(batch []source.Content) error {
			for _, k := range batch {
				value := ""
				err := rdb.Elements(k.Payload, k.RDB, 0, func(elements [][]byte, _ bool) error {
					value += string(elements[0])
					return nil
				})
				if err != nil || value != "value of "+string(k.Name) {
					t.Errorf("%q has %q, %v", k.Name, value, err)
				}
				seen[string(k.Name)] = true
			}
			return nil
		})
		if err != nil || len(sum.Incomplete) == 0 && len(seen) != 3000 {
			t.Errorf("%d keys, %v, %+v", len(seen), err, sum)
		}
	}
}
