package entity

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/keywrighttest"
)

// longestScript is how long a script may hold a server, in µs.
const longestScript = 5000

// calibration is a script of known cost, about 2 ms: how much longer it takes now and
// then is what others take of this machine.
const calibration = "local n = 0 for i = 1, 150000 do n = n + i % 7 end return 'calibration ' .. n"

// swift fails if scripts hold a server too long whenever something is done: of five
// times each. What others take of the machine at that time is allowed for.
func swift(t *testing.T, what string, servers []*keywrighttest.Server, do func()) {
	t.Helper()
	said := ""
	for range 5 {
		for _, s := range servers {
			s.Do("CONFIG", "SET", "slowlog-log-slower-than", "500", "slowlog-max-len", "10000")
			s.Do("SLOWLOG", "RESET")
			for range 10 {
				s.Do("EVAL", calibration, "0")
			}
		}
		do()
		said = ""
		for _, s := range servers {
			for range 10 {
				s.Do("EVAL", calibration, "0")
			}
			if longest, bound := slowest(s); longest > bound {
				said = fmt.Sprintf("%s: a script holds the server for %d µs, and %d are allowed for", what, longest, bound)
			}
		}
		if said == "" {
			return
		}
	}
	t.Error(said)
}

// slowest is how long the slowest script took, and what is allowed for.
func slowest(s *keywrighttest.Server) (longest, bound int64) {
	least, most := int64(1<<62), int64(1)
	for _, e := range s.Do("SLOWLOG", "GET", "-1").([]any) {
		took, words := e.([]any)[2].(int64), e.([]any)[3].([]any)
		switch {
		case len(words) > 1 && strings.Contains(fmt.Sprint(words[1]), "calibration"):
			least, most = min(least, took), max(most, took)
		case strings.HasPrefix(strings.ToUpper(fmt.Sprint(words[0])), "EVAL"):
			longest = max(longest, took)
		}
	}
	return longest, longestScript * most / min(least, most)
}

// backlog is many items that were there: in indexes, the ledger, and the expiry zset.
func backlog(s *keywrighttest.Server, notes *Store[string, note], n int, ends int64) {
	record := notes.record(map[string]string{"kind": "k", "context": "c1", "priority+created": "5", "due": "", "updated": ""}, "", true)
	for i := 0; i < n; i += 1000 {
		kind, pri, ledger, expires := []string{"ZADD", "n:idx:kind:k"}, []string{"ZADD", "n:idx:priority:5"}, []string{"HSET", notes.spec.Ledger}, []string{"ZADD", notes.spec.Expires}
		for j := i; j < i+1000; j++ {
			id := fmt.Sprintf("m%06d", j)
			kind, pri = append(kind, "0", id), append(pri, fmt.Sprint(1+j/100), id)
			ledger, expires = append(ledger, id, record), append(expires, fmt.Sprint(ends+int64(j)), id)
		}
		s.Pipe(kind, pri, ledger, expires)
	}
}

// TestNoScriptIsSlow: whatever has gathered, no script holds the server for more than
// 5 ms.
func TestNoScriptIsSlow(t *testing.T) {
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		ctx := t.Context()
		for i := range 1000 {
			v := a("k", 5)
			v.Text = strings.Repeat("x", i%2000)
			_, err := notes.Create(ctx, fmt.Sprintf("a%04d", i), v)
			must(t, err)
		}
		backlog(s, notes, 100_000, time.Now().Add(time.Hour).UnixMilli())
		servers, limit := []*keywrighttest.Server{s}, 1000
		for name, q := range map[string]Query[note]{
			"by id":                    {Of: notes.By("kind", "k"), Limit: limit},
			"after an id":              {Of: notes.By("kind", "k"), Limit: limit, After: "0\x00m050000"},
			"after an id that is gone": {Of: notes.By("kind", "k"), Limit: limit, After: "0\x00m050000x"},
			"by score":                 {Of: notes.By("priority+created", "5"), Limit: limit, Newest: true},
			"from a score":             {Of: notes.By("priority+created", "5"), Limit: limit, From: "500"},
			"in two":                   {Of: notes.By("kind", "k"), And: []Of[note]{notes.By("priority+created", "5"), notes.By("context", "c1")}, Limit: limit},
			"in nothing else":          {Of: notes.By("kind", "k"), And: []Of[note]{notes.By("context", "none")}, Limit: limit},
		} {
			swift(t, "a list "+name, servers, func() {
				notes.seen = foresight{} // by the script
				_, err := notes.List(ctx, q)
				must(t, err)
				_, err = notes.IDs(ctx, q)
				must(t, err)
			})
		}
		var some []string
		for i := range 500 {
			some = append(some, fmt.Sprintf("a%04d", i))
		}
		swift(t, "making room when memory is short", servers, func() {
			going := notes.Going("priority+created")
			_, next, err := going.Page(ctx, "5", "", 1000) // of items that have gone
			must(t, err)
			_, _, err = going.Page(ctx, "5", next, 1000)
			must(t, err)
			_, err = going.Shorten(ctx, "5", some, time.Minute)
			must(t, err)
			_, err = going.Release(ctx, "5", some[:250])
			must(t, err)
		})
		for i := 0; i < 100_000; i += 1000 { // they have expired
			command := []string{"ZADD", notes.spec.Expires}
			for j := i; j < i+1000; j++ {
				command = append(command, fmt.Sprint(1+j), fmt.Sprintf("m%06d", j))
			}
			s.Do(command...)
		}
		swift(t, "a count", servers, func() {
			_, _, err := notes.Count(ctx, notes.By("kind", "k"), "", "")
			must(t, err)
			_, _, err = notes.Count(ctx, notes.By("priority+created", "5"), "(1", "900")
			must(t, err)
		})
		swift(t, "a write", servers, func() {
			_, err := notes.Put(ctx, "m000007", a("k", 4))
			must(t, err)
			_, err = notes.Delete(ctx, "m000007")
			must(t, err)
		})
		swift(t, "a sweep at full speed", servers, func() {
			part, stop := context.WithCancel(ctx)
			n := 0
			_, err := notes.Sweep(part, SweepOptions{Rate: 1 << 30, Batch: 1000, Swept: func(Swept) {
				if n++; n == 60 {
					stop()
				}
			}})
			if stop(); err != nil && part.Err() == nil {
				t.Fatal(err)
			}
		})
	})
}

// TestNoScriptIsSlowOfManyIndexes: building and removing an index of many items either.
func TestNoScriptIsSlowOfManyIndexes(t *testing.T) {
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		ctx := t.Context()
		spec := noteSpec("n")
		older(spec)
		old := New(open(t, s.URL()), spec, nil)
		_, err := notes.Create(ctx, "1", a("k", 5))
		must(t, err)
		const items = 20_000
		swift(t, "removing", []*keywrighttest.Server{s}, func() {
			backlog(s, notes, items, time.Now().Add(time.Hour).UnixMilli())
			s.Do("SLOWLOG", "RESET")
			for range 10 {
				s.Do("EVAL", calibration, "0")
			}
			r, err := old.Indexes(ctx, IndexOptions{Remove: newIndexes, Rate: 1 << 30})
			if must(t, err); stateIn(r, "priority+created").Done < items {
				t.Errorf("%+v", r)
			}
		})
	})
}

// TestNoScriptIsSlowUnderIntents: 10,000 open intents, in a cluster.
func TestNoScriptIsSlowUnderIntents(t *testing.T) {
	clusters(t, func(t *testing.T, c *keywrighttest.Cluster) {
		for name, edits := range map[string][]func(*Spec[string, note]){"n": nil, "f": {forever}} {
			s := spread(t, c.URL(), name, edits...)
			ctx, server, due := t.Context(), home(c, s), s.bookKeys()[0]
			_, err := s.Create(ctx, "x", a("k", 5))
			must(t, err)
			swift(t, name+": a write", []*keywrighttest.Server{server}, func() {
				dues, ledger := []string{"ZADD", due}, []string{"HSET", s.spec.Ledger}
				for i := range 10_000 {
					dues = append(dues, "1", fmt.Sprint("old", i))
					ledger = append(ledger, fmt.Sprint("old", i), fmt.Sprintf("=#=0:@=0:~=1:-!=%d:t=1:to=1:1k=1:wm=0:", len("t=1:to=1:1k=1:wm=0:")))
				}
				server.Pipe(dues, ledger)
				_, err := s.Put(ctx, "x", a("k", 4))
				must(t, err)
				_, err = s.Sweep(ctx, SweepOptions{Rate: 1 << 30, Batch: 1000})
				must(t, err)
			})
		}
	})
}
