package bind

import (
	"fmt"
	"testing"
	"testing/fstest"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/ranking"
)

// TestRoomForInstances: as many as there is room for are all of them; one more is said,
// and one that is known is no more.
func TestRoomForInstances(t *testing.T) {
	t.Parallel()
	s := search{seen: map[string]Values{}, most: 2}
	for _, id := range []string{"a", "b", "a"} {
		if s.add(Values{"n": id}); s.more {
			t.Fatalf("%s is more than two", id)
		}
	}
	if s.add(Values{"n": "c"}); !s.more || len(s.seen) != 2 {
		t.Errorf("%t, %d held", s.more, len(s.seen))
	}
}

const boards = `keywright: 1
package: p
owner: o
vars: {day: date YYYY-MM-DD, team: slug}
keys:
  sales: {doc: d, key: "sales:{team}:{day}", type: ranking, member: text, score: float, ttl: 7d, cached: 1m}
  race: {doc: d, key: "race:{day}", type: ranking, member: text, score: int, ties: first, ttl: 7d}
  all: {doc: d, key: "all", type: ranking, member: text, ttl: none}
`

// TestRankings: the rankings of an entry are found by key, with the kept windows, on a server
// and on all servers of a cluster; what is left out is said; scores are those that were given.
func TestRankings(t *testing.T) {
	t.Parallel()
	ks, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte(boards)}}, "k.yaml")
	if len(found) > 0 {
		t.Fatal(found[0].Message)
	}
	check := func(t *testing.T, url string) {
		c := servertest.Open(t, url)
		do := func(command, key string, args ...string) {
			t.Helper()
			if err := c.Raw().Do(t.Context(), c.Raw().B().Arbitrary(command).Keys(key).Args(args...).Build()).
				Error(); err != nil {
				t.Fatal(err)
			}
		}
		for _, key := range []string{"sales:a:2025-01-15", "sales:b:2025-01-15", "sales:a:2025-01-16",
			"{sales:a}:window:2025-01-16T00-2"} {
			do("ZADD", key, "2.5", "x", "2.5", "\xff")
		}
		do("ZADD", "sales:a:today", "1", "no day")
		do("SET", "sales:c:2025-01-15", "of another type")
		var names []string
		all, more, err := Rankings(t.Context(), c, ks, ks.Entries[0])
		for _, r := range all {
			names = append(names, r.Of.Name+" "+r.Name())
		}
		want := "[sales sales:a:2025-01-15 sales sales:a:2025-01-16 sales sales:b:2025-01-15 sales sales:c:2025-01-15 sales.window " +
			"{sales:a}:window:2025-01-16T00-2]"
		if err != nil || more || fmt.Sprint(names) != want {
			t.Errorf("%v %v %v", names, more, err)
		}
		top, err := all[0].Top(t.Context(), 9)
		if err != nil || len(top) != 2 || top[0].Member != "x" || top[0].Score != 2.5 || top[1].Member != "\xff" ||
			top[1].Rank != 2 {
			t.Errorf("%v %v", top, err)
		}
		keys, more, err := keysOf(t.Context(), c, ks.Entries[0].Keys[0], 2)
		if err != nil || !more || len(keys) != 2 {
			t.Errorf("of two: %v %v %v", keys, more, err)
		}
		if keys, more, err = keysOf(t.Context(), c, ks.Entries[0].Keys[0], 4); err != nil || more || len(keys) != 4 {
			t.Errorf("of four: %v %v %v", keys, more, err)
		}
		if all, _, err = Rankings(t.Context(), c, ks, ks.Entries[2]); err != nil || len(all) != 1 || all[0].Name() != "all" {
			t.Errorf("one without placeholders: %v %v", all, err)
		}
		race(t, c, ks)
	}
	t.Run("server", func(t *testing.T) {
		check(t, keywrighttest.Start(t, keywrighttest.Redis).URL())
	})
	t.Run("cluster", func(t *testing.T) {
		check(t, keywrighttest.StartCluster(t, keywrighttest.Valkey, 3, 0).URL())
	})
}

// race is a ranking whose scores are stored with the time that they were reached at.
func race(t *testing.T, c *keywright.Client, ks *keyspace.Keyspace) {
	t.Helper()
	e := ks.Entries[1]
	b, err := ranking.New(keywright.Binding{Client: c, Entry: Entry(ks, e.Keys[0])},
		ranking.Config[string, int64]{Step: ranking.Day,
			Member: &words, Score: &wholes,
			Ties: ranking.FirstToReach,
			Key:  func(at time.Time) (string, error) { return "race:" + at.Format(time.DateOnly), nil }})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if _, err := b.Increase(t.Context(), now, "me", 3); err != nil {
		t.Fatal(err)
	}
	all, _, err := Rankings(t.Context(), c, ks, e)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	row, err := all[0].Rank(t.Context(), "me")
	if err != nil || row.Score != 3 || row.Rank != 1 {
		t.Errorf("%+v %v", row, err)
	}
	if rows, err := all[0].Around(t.Context(), "me", 1); err != nil || len(rows) != 1 || rows[0].Score != 3 {
		t.Errorf("%+v %v", rows, err)
	}
	if _, err := all[0].Rank(t.Context(), "you"); err != keywright.ErrNotFound {
		t.Error(err)
	}
}
