package entity

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/entity/internal/paging"
	"github.com/keywright/keywright/entity/internal/upkeep"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// longestScript says how long a script may hold a server.
const longestScript = 5 * time.Millisecond

// swift fails if scripts hold a server too long whenever something is done.
func swift(t *testing.T, what string, servers []*keywrighttest.Server, do func()) {
	t.Helper()
	for _, s := range servers {
		for _, long := range s.Long(longestScript, do) {
			t.Errorf("%s: %s holds the server for more than %v", what, long, longestScript)
		}
	}
}

// on returns a server that has every key.
func on(s *keywrighttest.Server) func(string) *keywrighttest.Server {
	return func(string) *keywrighttest.Server { return s }
}

// backlog is many items that were there: in indexes, the index records, and the expiry zset.
func backlog(of func(key string) *keywrighttest.Server, notes *Store[string, note], n int, ends int64) {
	in := map[string]string{"kind": "k", "context": "c1", "priority+created": "5", "due": "", "updated": ""}
	record := notes.core.RecordOf(in, "", true)
	if notes.core.CrossSlot {
		record = "=#=1:1@=0:~=1:x" + record[1:]
	}
	kinds, priorities := notes.By("kind", "k").Key, notes.By("priority+created", "5").Key
	for i := 0; i < n; i += 1000 {
		kind, pri, records, expires := []string{"ZADD", kinds}, []string{"ZADD", priorities},
			[]string{"HSET", notes.core.Spec.Records}, []string{"ZADD", notes.core.Spec.Expires}
		for j := i; j < i+1000; j++ {
			id := fmt.Sprintf("m%06d", j)
			kind, pri = append(kind, "0", id), append(pri, fmt.Sprint(1+j/100), id)
			records, expires = append(records, id, record), append(expires, fmt.Sprint(ends+int64(j)), id)
		}
		for _, words := range [][]string{kind, pri, records, expires} {
			of(words[1]).Pipe(words)
		}
	}
}

// TestNoScriptIsSlow: whatever has gathered, no script holds the server for more than
// 5 ms.
func TestNoScriptIsSlow(t *testing.T) {
	gate.Skip(t, "100,000 items")
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		ctx := t.Context()
		for i := range 1000 {
			v := a("k", 5)
			v.Text = strings.Repeat("x", i%2000)
			_, err := notes.Create(ctx, fmt.Sprintf("a%04d", i), v)
			must(t, err)
		}
		backlog(on(s), notes, 100_000, time.Now().Add(time.Hour).UnixMilli())
		servers, limit := []*keywrighttest.Server{s}, 1000
		for name, q := range map[string]Query[note]{
			"by id":                    {Of: notes.By("kind", "k"), Limit: limit},
			"after an id":              {Of: notes.By("kind", "k"), Limit: limit, After: "0\x00m050000"},
			"after an id that is gone": {Of: notes.By("kind", "k"), Limit: limit, After: "0\x00m050000x"},
			"by score":                 {Of: notes.By("priority+created", "5"), Limit: limit, Newest: true},
			"from a score":             {Of: notes.By("priority+created", "5"), Limit: limit, From: "500"},
			"in two": {Of: notes.By("kind", "k"),
				And: []Of[note]{notes.By("priority+created", "5"), notes.By("context", "c1")}, Limit: limit},
			"in nothing else": {Of: notes.By("kind", "k"), And: []Of[note]{notes.By("context", "none")}, Limit: limit},
		} {
			swift(t, "a list "+name, servers, func() {
				notes.lister.Cache = paging.PageCache{} // by the script
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
			command := []string{"ZADD", notes.core.Spec.Expires}
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

// TestASweepIsBounded: of items in many indexes a script of the sweep takes fewer.
func TestASweepIsBounded(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
		const items, indexes = 400, 60
		spec := noteSpec("n")
		for i := range indexes - len(spec.Indexes) {
			spec.Indexes = append(spec.Indexes, Index[note]{Name: fmt.Sprint("all", i), Prefix: fmt.Sprint("n:idx:all", i)})
		}
		notes, in := storeOf(open(t, s.URL()), spec), map[string]string{}
		for i := range spec.Indexes {
			in[spec.Indexes[i].Name] = map[bool]string{true: "k"}[spec.Indexes[i].Field != ""]
		}
		for i := range items {
			s.Do("HSET", notes.core.Spec.Records, fmt.Sprint(i), notes.core.RecordOf(in, "", true))
			s.Do("ZADD", notes.core.Spec.Expires, fmt.Sprint(1+i), fmt.Sprint(i))
			s.Do("ZADD", "n:idx:all0", "0", fmt.Sprint(i))
		}
		w := s.RecordScripts()
		done, err := notes.Sweep(t.Context(), SweepOptions{Rate: 1 << 30})
		if must(t, err); done.Gone != items {
			t.Errorf("%+v", done)
		}
		dropped := 0
		for _, call := range w.Calls() {
			n := 0
			for _, command := range call.Commands {
				if strings.EqualFold(command[0], "HDEL") {
					n += len(command) - 2
				}
			}
			if dropped += n; n*indexes > upkeep.MostDropped {
				t.Errorf("a script takes %d items out of %d indexes", n, indexes)
			}
		}
		if dropped < items {
			t.Errorf("%d items were seen", dropped)
		}
	})
}

// TestNoScriptIsSlowUnderIntents: 10,000 open intents, in a cluster.
func TestNoScriptIsSlowUnderIntents(t *testing.T) {
	gate.Skip(t, "10,000 open intents in a cluster")
	t.Parallel()
	clusters(t, func(t *testing.T, c *keywrighttest.Cluster) {
		for name, edits := range map[string][]func(*Spec[string, note]){"n": nil, "f": {forever}} {
			s := spread(t, c.URL(), name, edits...)
			ctx, server, due := t.Context(), home(c, s), s.core.RecordKeys()[0]
			_, err := s.Create(ctx, "x", a("k", 5))
			must(t, err)
			swift(t, name+": a write", []*keywrighttest.Server{server}, func() {
				dues, records := []string{"ZADD", due}, []string{"HSET", s.core.Spec.Records}
				for i := range 10_000 {
					dues = append(dues, "1", fmt.Sprint("old", i))
					records = append(records, fmt.Sprint("old", i),
						fmt.Sprintf("=#=0:@=0:~=1:-!=%d:t=1:to=1:1k=1:wm=0:", len("t=1:to=1:1k=1:wm=0:")))
				}
				server.Pipe(dues, records)
				_, err := s.Put(ctx, "x", a("k", 4))
				must(t, err)
				_, err = s.Sweep(ctx, SweepOptions{Rate: 1 << 30, Batch: 1000})
				must(t, err)
			})
		}
	})
}
