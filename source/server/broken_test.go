package server

import (
	"fmt"
	"testing"

	"github.com/keywright/keywright/internal/servertest"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb/dump"
)

// Keys of a page that was handed over in part before its connection broke are given once.
func TestPagesThatAreReadAgain(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis)
	s.Do("EVAL", `for i = 1, 300 do redis.call('SET', 'key'..i, string.rep('x', 30000)) end
		for i = 1, 40000 do redis.call('HSET', 'large', 'f'..i, string.rep('x', 50)) end`, "0")
	for cut := range 4 {
		proxy := kt.NewProxy(t, s.Addr(), kt.Rules{CutAfter: int64(1_000_000 + 701_973*cut), CutTimes: 3})
		given := map[string]int{}
		sum, err := New(servertest.Config(t, "redis://"+proxy.Addr()), Options{OnlyDB: -1}).Contents(t.Context(),
			ContentsRequest{},
			func(batch []source.Content) error {
				for _, k := range batch {
					if !k.More {
						given[string(k.Name)]++
					}
				}
				return nil
			})
		twice := 0
		for _, n := range given {
			twice += n - 1
		}
		if err != nil || len(sum.Incomplete) > 0 || len(given) != 301 || twice > 1 || sum.Keys != int64(len(given)+twice) {
			t.Errorf("cut %d: %d keys, %d again, %+v, %v", cut, len(given), twice, sum, err)
		}
	}
}

// Connections that break in the middle of a page leave nothing of it: each value that is
// read has the name that it has on the server.
func TestContentsOverConnectionsThatBreak(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis)
	for i := range 3000 {
		s.Do("SET", fmt.Sprint("key", i), fmt.Sprint("value of key", i))
	}
	for cut := range 8 {
		proxy := kt.NewProxy(t, s.Addr(), kt.Rules{CutAfter: int64(40_000 + 9_973*cut), CutTimes: 3})
		seen, given := map[string]bool{}, 0
		sum, err := New(servertest.Config(t, "redis://"+proxy.Addr()), Options{OnlyDB: -1}).Contents(t.Context(),
			ContentsRequest{},
			func(batch []source.Content) error {
				for _, k := range batch {
					value := ""
					err := dump.Elements(k.Payload, k.RDB, 0, func(elements [][]byte, _ bool) error {
						value += string(elements[0])
						return nil
					})
					if err != nil || value != "value of "+string(k.Name) {
						t.Errorf("%q has %q, %v", k.Name, value, err)
					}
					seen[string(k.Name)] = true
					given++
				}
				return nil
			})
		if given != len(seen) {
			t.Errorf("cut %d: %d keys were given %d times", cut, len(seen), given)
		}
		if err != nil || len(sum.Incomplete) == 0 && len(seen) != 3000 {
			t.Errorf("%d keys, %v, %+v", len(seen), err, sum)
		}
	}
}

// A sample over connections that break has as many keys as one over a connection that holds:
// names that were read and not delivered are not taken for keys of the sample.
func TestSampleOverConnectionsThatBreak(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis)
	s.Do("EVAL", `for i = 1, 30000 do redis.call('SET', 'key'..i, 'x') end`, "0")
	for cut := range 4 {
		proxy := kt.NewProxy(t, s.Addr(), kt.Rules{CutAfter: int64(60_000 + 9_973*cut), CutTimes: 3})
		got, sum, err := scanned(t, servertest.Config(t, "redis://"+proxy.Addr()), Options{Count: 100},
			source.Request{Sample: 10_000})
		if err != nil || len(sum.Incomplete) > 0 || len(got) < 10_000 {
			t.Errorf("cut %d: %d keys, %+v, %v", cut, len(got), sum, err)
		}
	}
}
