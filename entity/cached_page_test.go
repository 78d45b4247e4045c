package entity

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value"
)

// walk gives the ids of all pages of a query.
func walk(t *testing.T, s *Store[string, note], q Query[note]) (out []string) {
	t.Helper()
	for range 1000 {
		p, err := s.List(t.Context(), q)
		must(t, err)
		for _, item := range p.Items {
			if item.Value.Text != "text of "+item.ID {
				t.Fatalf("%s has %q", item.ID, item.Value.Text)
			}
			out = append(out, item.ID)
		}
		if q.After = p.Next; p.Next == "" {
			return out
		}
	}
	t.Fatal("pages without end")
	return nil
}

// TestForesight: whatever a store remembers of pages, it lists what a store
// lists that remembers nothing.
func TestForesight(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		ctx, random := t.Context(), rand.New(rand.NewPCG(1, 2))
		var queries []Query[note]
		for _, limit := range []int{1, 3, 40} {
			queries = append(queries, Query[note]{Of: notes.By("kind", "k1"), Limit: limit},
				Query[note]{Of: notes.By("priority+created", "1"), Limit: limit},
				Query[note]{Of: notes.By("due", ""), Limit: limit},
				Query[note]{Of: notes.By("due", ""), Limit: limit, Newest: true},
				Query[note]{Of: notes.By("due", ""), Limit: limit, From: "20", To: "(70"},
				Query[note]{Of: notes.By("due", ""), Limit: limit, From: "(20", To: "70", Newest: true})
		}
		for step := range 60 {
			for range random.IntN(4) {
				id := fmt.Sprint(random.IntN(30))
				due := time.UnixMilli(int64(random.IntN(10) * 10))
				switch random.IntN(5) {
				case 0:
					_, err := notes.Delete(ctx, id)
					must(t, err)
				case 1:
					s.Do("DEL", "n:item:"+id) // its entries stay
				default:
					n := note{Kind: fmt.Sprint("k", random.IntN(2)), Context: "c", Priority: int64(1 + random.IntN(2)),
						Text: "text of " + id, Due: &due}
					_, err := notes.Put(ctx, id, n, keywright.ExpiresIn(time.Hour))
					must(t, err)
				}
			}
			fresh := storeOf(notes.core.Client, notes.typed)
			for i, q := range queries {
				got, want := walk(t, notes, q), walk(t, fresh, q)
				if q.Of.Index.Score == "" {
					slices.Sort(got)
					slices.Sort(want)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("step %d, query %d: %v, not %v", step, i, got, want)
				}
			}
		}
	})
}

// TestForeseenRoundTrips: a page that has not changed is one pipeline of plain
// commands, one with new items two.
func TestForeseenRoundTrips(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		ctx := t.Context()
		for i := range 5 {
			_, err := notes.Create(ctx, fmt.Sprint(i), a("fact", 5))
			must(t, err)
		}
		q := Query[note]{Of: notes.By("kind", "fact")}
		notes.listed(t, q)
		s.Do("CONFIG", "RESETSTAT")
		same(t, "foreseen", notes.listed(t, q), []string{"0", "1", "2", "3", "4"})
		stats := fmt.Sprint(s.Do("INFO", "commandstats"))
		if strings.Contains(stats, "evalsha") || !strings.Contains(stats, "cmdstat_hmget:calls=5,") ||
			!strings.Contains(stats, "cmdstat_zrange:calls=1,") {
			t.Errorf("%s", stats)
		}
		_, err := notes.Create(ctx, "5", a("fact", 5))
		must(t, err)
		s.Do("CONFIG", "RESETSTAT")
		same(t, "with a new one", notes.listed(t, q), []string{"0", "1", "2", "3", "4", "5"})
		if stats := fmt.Sprint(s.Do("INFO", "commandstats")); strings.Contains(stats, "evalsha") ||
			!strings.Contains(stats, "cmdstat_hmget:calls=6,") {
			t.Errorf("%s", stats)
		}
	})
}

// TestForeseenWhileItMoves: an item that is changed between the reading of an
// index and of the items is not listed where it is no longer.
func TestForeseenWhileItMoves(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		ctx, other := t.Context(), storeOf(open(t, s.URL()), notes.typed)
		due := time.UnixMilli(50)
		for _, id := range []string{"1", "2"} {
			n := a("fact", 5)
			n.Due = &due
			_, err := notes.Create(ctx, id, n)
			must(t, err)
		}
		for i, q := range []Query[note]{{Of: notes.By("kind", "fact")}, {Of: notes.By("due", "")}} {
			same(t, "at first", notes.listed(t, q), []string{"1", "2"})
			asked := q.plain()
			had := notes.lister.Cache.Get(asked.Page())
			act := notes.core.Action("list", keywright.Reads, q.Of.Key, nil)
			members, _, _, err := notes.lister.ReadCachedPage(ctx, &act, asked.Page(), had, q.Of.Index.Score != "")
			must(t, err)
			change := []Change[note]{setKind.Set("else"), setDue.Set(time.UnixMilli(60))}[i]
			_, err = other.Update(ctx, "1", change)
			must(t, err)
			_, texts, _, err := notes.lister.ReadCachedPage(ctx, &act, asked.Page(), had, q.Of.Index.Score != "")
			must(t, err)
			rows, _ := notes.lister.Living(had.Keys, texts)
			if !notes.lister.Moving(q.Of.IndexKey, members, rows) {
				t.Errorf("query %d lists an item where it is no longer", i)
			}
		}
		same(t, "behind it", notes.listed(t, Query[note]{Of: notes.By("kind", "fact")}), []string{"2"})
		same(t, "behind it", notes.listed(t, Query[note]{Of: notes.By("due", "")}), []string{"2", "1"})
	})
}

// TestForeseenLargeScores: a page after a score that servers write with an
// exponent gives nothing twice.
func TestForeseenLargeScores(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
		spec, fields := noteSpec("n"), noteFields
		fields.Columns = slices.Clone(fields.Columns)
		fields.Columns[2] = value.Required("priority", value.Int(1, 1<<62), func(n *note) *int64 { return &n.Priority })
		spec.Fields = &fields
		spec.Indexes = append(spec.Indexes, Index[note]{Name: "priority", Score: "priority", Prefix: "n:idx:all"})
		notes := storeOf(open(t, s.URL()), spec)
		for i := range 4 {
			_, err := notes.Create(t.Context(), fmt.Sprint(i),
				note{Kind: "k", Context: "c", Priority: 200_000_000_000_000_000, Text: fmt.Sprint("text of ", i)})
			must(t, err)
		}
		q := Query[note]{Of: notes.By("priority", ""), Limit: 2}
		for _, what := range []string{"by the script", "foreseen"} {
			same(t, what, walk(t, notes, q), []string{"0", "1", "2", "3"})
		}
	})
}

// TestForeseenWithoutScores: of an index without scores a page is asked for without them. Where it grows beyond its
// limit the next page begins after the score in the index, which is another one where the index had scores before.
func TestForeseenWithoutScores(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		ctx := t.Context()
		create := func(id string) {
			n := a("fact", 5)
			n.Text = "text of " + id
			_, err := notes.Create(ctx, id, n)
			must(t, err)
		}
		create("1")
		create("2")
		q := Query[note]{Of: notes.By("kind", "fact"), Limit: 2}
		same(t, "at first", walk(t, notes, q), []string{"1", "2"})
		create("3")
		for i := range 3 { // from before the index had none
			s.Do("ZADD", q.Of.Key, fmt.Sprint(7*i), fmt.Sprint(i+1))
		}
		for range 3 { // by the script, and as it was remembered
			same(t, "with a next page", walk(t, notes, q), []string{"1", "2", "3"})
		}
		s.Do("CONFIG", "RESETSTAT")
		page, err := notes.List(ctx, q)
		must(t, err)
		if stats := fmt.Sprint(s.Do("INFO", "commandstats")); page.Next == "" || strings.Contains(stats, "evalsha") {
			t.Errorf("a page that had a next one is not foreseen: %q, %s", page.Next, stats)
		}
		_, err = notes.Delete(ctx, "3")
		must(t, err)
		for range 2 {
			same(t, "without one", walk(t, notes, q), []string{"1", "2"})
		}
	})
}
