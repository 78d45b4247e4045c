package entity

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/entity/indexrecord"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// some does the first so many items of a build or a removal.
func some(ctx context.Context, t *testing.T, s *Store[string, note], items int, o IndexOptions) {
	t.Helper()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	passed := 0
	o.Rate, o.Passed = 1<<30, func(n int) {
		if passed += n; passed >= items {
			stop()
		}
	}
	if _, err := s.Indexes(ctx, o); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if passed < items {
		t.Errorf("%d of %d items were passed", passed, items)
	}
}

// lacking takes the indexes that older programs do not know out of the index records.
func lacking(of func(key string) *keywrighttest.Server, notes *Store[string, note], n int) {
	record := "=" + string(indexrecord.Encode(indexrecord.Place{Index: "kind", Prefix: notes.core.Spec.Prefix, Value: "k"})[1:])
	if notes.core.CrossSlot {
		record = "=#=1:1@=0:~=1:x"
	}
	for i := 0; i < n; i += 1000 {
		records := []string{"HSET", notes.core.Spec.Records}
		for j := i; j < i+1000; j++ {
			records = append(records, fmt.Sprintf("m%06d", j), record)
		}
		of(notes.core.Spec.Records).Pipe(records)
	}
}

// TestNoScriptIsSlowOfManyIndexes: building and removing an index of 100,000 items either.
func TestNoScriptIsSlowOfManyIndexes(t *testing.T) {
	gate.Skip(t, "100,000 items in each index")
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		ctx, spec := t.Context(), noteSpec("n")
		older(spec)
		old := storeOf(open(t, s.URL()), spec)
		_, err := notes.Create(ctx, "1", a("k", 5))
		must(t, err)
		backlog(on(s), notes, 100_000, time.Now().Add(time.Hour).UnixMilli())
		servers := []*keywrighttest.Server{s}
		swift(t, "removing", servers, func() { some(ctx, t, old, 5000, IndexOptions{Remove: newIndexes}) })
		lacking(on(s), notes, 100_000)
		swift(t, "building", servers, func() { some(ctx, t, notes, 3000, IndexOptions{Apply: true}) })
	})
}

// TestNoScriptIsSlowApart: nor in a cluster, over its slots: at 100,000 ids in an index, as
// many items that have expired, and as many to be put into an index.
func TestNoScriptIsSlowApart(t *testing.T) {
	gate.Skip(t, "100,000 items in a cluster")
	t.Parallel()
	clusters(t, func(t *testing.T, c *keywrighttest.Cluster) {
		ctx, notes, old := t.Context(), spread(t, c.URL(), "n"), spread(t, c.URL(), "n", older)
		of := func(key string) *keywrighttest.Server { return serverOf(c, key) }
		var items []Item[string, note]
		for i := range 1000 {
			items = append(items,
				Item[string, note]{ID: fmt.Sprintf("a%04d", i),
					Value: note{Kind: "k", Context: "c1", Priority: 5, Text: strings.Repeat("x", i)}})
		}
		_, err := notes.CreateAll(ctx, items)
		must(t, err)
		backlog(of, notes, 100_000, time.Now().Add(time.Hour).UnixMilli())
		for what, q := range map[string]Query[note]{
			"a list by id":     {Of: notes.By("kind", "k"), Limit: 500},
			"a list by score":  {Of: notes.By("priority+created", "5"), Limit: 500, Newest: true},
			"a list in two":    {Of: notes.By("kind", "k"), And: []Of[note]{notes.By("context", "c1")}, Limit: 500},
			"a list after one": {Of: notes.By("kind", "k"), Limit: 500, After: "0\x00m050000"},
		} {
			swift(t, what, c.Nodes, func() {
				_, err := notes.List(ctx, q)
				must(t, err)
				_, _, err = notes.Count(ctx, q.Of, "", "")
				must(t, err)
			})
		}
		swift(t, "a write", c.Nodes, func() {
			_, err := notes.Put(ctx, "a0001", items[1].Value)
			must(t, err)
			_, err = notes.Delete(ctx, "m099999")
			must(t, err)
		})
		swift(t, "removing", c.Nodes, func() { some(ctx, t, old, 1000, IndexOptions{Remove: newIndexes}) })
		lacking(of, notes, 100_000)
		swift(t, "building", c.Nodes, func() { some(ctx, t, notes, 1000, IndexOptions{Apply: true}) })
		backlog(of, notes, 100_000, 1)
		swift(t, "a sweep at full speed", c.Nodes, func() {
			first, stop := context.WithCancel(ctx)
			defer stop()
			n := 0
			_, err := notes.Sweep(first, SweepOptions{Rate: 1 << 30, Batch: 1000, Swept: func(done Swept) {
				if n += done.Gone + done.Lives; n > 1000 {
					stop()
				}
			}})
			if err != nil && first.Err() == nil {
				t.Fatal(err)
			}
		})
	})
}
