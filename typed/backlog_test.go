package typed_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/typed"
	"github.com/keywright/keywright/value"
)

// kinds lists the collections, by the keys that a hundred thousand elements are in.
var kinds = []string{"map", "set", "list", "zset", "strm"}

// filled makes them.
func filled(s *keywrighttest.Server) {
	var all [][]string
	for i := 0; i < 100_000; i += 100 {
		m, set, list, zset := []string{"HSET", "all:map"}, []string{"SADD", "all:set"}, []string{"RPUSH", "all:list"},
			[]string{"ZADD", "all:zset"}
		for j := i; j < i+100; j++ {
			e := fmt.Sprintf("e%06d", j)
			m, set, list, zset = append(m, e, e), append(set, e), append(list, e), append(zset, fmt.Sprint(j), e)
			all = append(all, []string{"XADD", "all:strm", "*", "a", "b"})
		}
		all = append(all, m, set, list, zset)
	}
	s.Pipe(all...)
}

// TestBacklog: what is asked of some elements of a collection with a hundred thousand,
// or puts others in the place of all of them, holds the server for no time that grows
// with it, with a sliding TTL too. To read or to go through all of them does.
func TestBacklog(t *testing.T) {
	gate.Skip(t, "collections of 100,000 elements")
	t.Parallel()
	worlds(t, func(w world) {
		text, number, anything := value.Text(0), value.IntScore(-1<<50, 1<<50), value.AnyFields()
		filled(w.s)
		for _, policy := range []string{"fixed", "sliding"} {
			keys := map[string]typed.Key{}
			for _, kind := range kinds {
				keys[kind] = w.named(policy, kind)
			}
			fields, set := typed.NewMap(keys["map"].Binding(), &text, &text), typed.NewSet(keys["set"].Binding(), &text)
			list, zset := typed.NewList(keys["list"].Binding(), &text), typed.NewZSet(keys["zset"].Binding(), &text, &number)
			strm := typed.NewStream(keys["strm"].Binding(), &anything, 10) // a tenth of a thousandth of what is there
			group, ctx := typed.NewGroup(strm, "g"), w.Context()
			long := w.s.Long(5*time.Millisecond, func() {
				for _, kind := range kinds {
					w.s.Do("COPY", "all:"+kind, keys[kind].Name(), "REPLACE")
				}
				w.ok(group.Ensure().Do(ctx))
				for name, do := range map[string]func() error{
					"field":    func() error { _, err := fields.Get("e000001").Do(ctx); return err },
					"put":      func() error { _, err := fields.Set("e000001", "x").Do(ctx); return err },
					"fields":   func() error { _, err := fields.Len().Do(ctx); return err },
					"add":      func() error { _, err := set.Add("new").Do(ctx); return err },
					"has":      func() error { _, err := set.Has("e000001").Do(ctx); return err },
					"random":   func() error { _, err := set.Random(100).Do(ctx); return err },
					"pop":      func() error { _, err := set.Pop(100).Do(ctx); return err },
					"push":     func() error { _, err := list.PushRight("new").Do(ctx); return err },
					"range":    func() error { _, err := list.Range(50_000, 50_100).Do(ctx); return err },
					"at":       func() error { _, err := list.At(50_000).Do(ctx); return err },
					"pop left": func() error { _, err := list.PopLeft().Do(ctx); return err },
					"score":    func() error { _, err := zset.Add("new", 50_000).Do(ctx); return err },
					"increase": func() error { _, err := zset.Increase("e000001", 50_000).Do(ctx); return err },
					"rank":     func() error { _, err := zset.RankFromTop("e050000").Do(ctx); return err },
					"top":      func() error { _, err := zset.Top(100).Do(ctx); return err },
					"between":  func() error { _, err := zset.Between(10_000, 90_000, 100).Do(ctx); return err },
					"last":     func() error { _, err := strm.Last(100).Do(ctx); return err },
					"append":   func() error { _, err := strm.Add(map[string]string{"a": "b"}).Do(ctx); return err },
					"claim":    func() error { _, err := group.Claim("c", 0, 100).Do(ctx); return err },
					"count":    func() error { _, err := zset.Count(10_000, 90_000).Do(ctx); return err },
				} {
					if err := do(); err != nil {
						w.Errorf("%s: %v", name, err)
					}
				}
				for range set.Each(ctx, 100) {
					break
				}
				for name, err := range map[string]error{
					"set": set.Replace([]string{"x"}).Do(ctx), "list": list.Replace([]string{"x"}).Do(ctx),
					"zset": zset.Replace([]typed.Scored[string, int64]{{Member: "x", Score: 1}}).Do(ctx),
					"map":  fields.Replace(map[string]string{"x": "y"}).Do(ctx),
				} {
					if err != nil {
						w.Errorf("replace of a %s: %v", name, err)
					}
				}
			})
			if len(long) > 0 {
				w.Errorf("%s: they hold the server for more than 5 ms: %q", policy, long)
			}
		}
	})
}

// named returns a key of an entry with one of the policies.
func (w world) named(policy, name string) typed.Key {
	k := w.key(policy)
	return typed.NewKey(keywright.Binding{Client: w.c, Entry: k.Entry(), Key: k.Name() + ":" + name})
}
