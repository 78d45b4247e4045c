package entity

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/redis/rueidis"
)

// TestCursorIsGone: the item that a page ended with is deleted; the next page
// begins behind where it was, among items of the same score too.
func TestCursorIsGone(t *testing.T) {
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		for _, newest := range []bool{false, true} {
			for i := range 9 {
				v := a("k", 5)
				due := time.UnixMilli(int64(1 + i/5)) // five of one score, four of the next
				v.Due = &due
				_, err := notes.Put(t.Context(), fmt.Sprint("i", i), v)
				must(t, err)
			}
			for _, of := range []Of[note]{notes.By("due", ""), notes.By("context", "c1")} {
				if of.index.Score == "" && newest {
					continue
				}
				var got []string
				q := Query[note]{Of: of, Newest: newest, Limit: 2}
				for {
					page, err := notes.List(t.Context(), q)
					must(t, err)
					got = append(got, ids(page)...)
					if q.After = page.Next; q.After == "" {
						break
					}
					_, err = notes.Delete(t.Context(), got[len(got)-1])
					must(t, err)
				}
				want := []string{"i0", "i1", "i2", "i3", "i4", "i5", "i6", "i7", "i8"}
				if of.index.Score == "" {
					want = slices.DeleteFunc(want, func(id string) bool { return !slices.Contains(got, id) })
				}
				if newest {
					slices.Reverse(want)
				}
				same(t, of.key, got, want)
				if of.index.Score == "" {
					for _, id := range notes.listed(t, Query[note]{Of: of}) {
						if !slices.Contains(got, id) {
							t.Errorf("%s was there all the time, and not given", id)
						}
					}
				}
			}
		}
	})
}

// TestManyDead: a page looks at a bounded number of ids, and the pages come to an
// end all the same.
func TestManyDead(t *testing.T) {
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		v := a("k", 5)
		due := time.UnixMilli(1)
		v.Due = &due
		_, err := notes.Create(t.Context(), "zlast", v)
		must(t, err)
		for i := 0; i < 4500; i += 500 {
			zadd, sadd := []string{"ZADD", "n:idx:due"}, []string{"SADD", "n:idx:kind:k"}
			for j := range 500 {
				id := fmt.Sprint("dead", i+j)
				zadd, sadd = append(zadd, "1", id), append(sadd, id)
			}
			s.Do(zadd...)
			s.Do(sadd...)
		}
		for _, of := range []Of[note]{notes.By("due", ""), notes.By("kind", "k")} {
			q, gone, pages, found := Query[note]{Of: of, Limit: 10}, 0, 0, []string{}
			for {
				page, err := notes.List(t.Context(), q)
				must(t, err)
				if page.Gone > mostLooked {
					t.Errorf("a page looked at %d ids", page.Gone)
				}
				gone, pages, found = gone+page.Gone, pages+1, append(found, ids(page)...)
				if q.After = page.Next; q.After == "" {
					break
				}
			}
			if gone != 4500 || pages != 3 || len(found) != 1 {
				t.Errorf("%s: %d gone, %d pages, %s", of.key, gone, pages, found)
			}
		}
	})
}

// TestLargeSet: a set too large to be sorted is given in the server's order, each
// item once, and no call looks at all of it.
func TestLargeSet(t *testing.T) {
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		want := map[string]bool{}
		for i := range 20 {
			id := fmt.Sprint("alive", i)
			_, err := notes.Create(t.Context(), id, a("k", 5))
			must(t, err)
			want[id] = true
		}
		for i := 0; i < 6000; i += 500 {
			sadd := []string{"SADD", "n:idx:kind:k"}
			for j := range 500 {
				sadd = append(sadd, fmt.Sprint("dead", i+j))
			}
			s.Do(sadd...)
		}
		q, pages := Query[note]{Of: notes.By("kind", "k"), Limit: 100}, 0
		for ; ; pages++ {
			page, err := notes.List(t.Context(), q)
			must(t, err)
			if page.Gone > 500 {
				t.Errorf("a page looked at %d ids", page.Gone)
			}
			for _, id := range ids(page) {
				if !want[id] {
					t.Errorf("%s a second time", id)
				}
				delete(want, id)
			}
			if q.After = page.Next; q.After == "" {
				break
			}
		}
		if len(want) > 0 || pages < 20 {
			t.Errorf("in %d pages %v were not given", pages, want)
		}
	})
}

// between does something after the first command of a pipeline.
type between struct {
	rueidis.Client
	do func()
}

func (b *between) DoMulti(ctx context.Context, all ...rueidis.Completed) []rueidis.RedisResult {
	if b.do == nil || len(all) < 2 {
		return b.Client.DoMulti(ctx, all...)
	}
	out := []rueidis.RedisResult{b.Client.Do(ctx, all[0])}
	do := b.do
	b.do = nil
	do()
	return append(out, b.Client.DoMulti(ctx, all[1:]...)...)
}

// TestCursorOfOneMoment: an item moves while its page is read: it is given where it
// is, and those to which nothing happens once.
func TestCursorOfOneMoment(t *testing.T) {
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		var b *between
		c, err := keywright.Open(t.Context(), s.URL(), keywright.Options{Wrap: func(raw rueidis.Client) rueidis.Client { b = &between{Client: raw}; return b }})
		must(t, err)
		t.Cleanup(c.Close)
		watched := New(c, noteSpec("n"), nil)
		for i := range 6 {
			v := a("k", 5)
			due := time.UnixMilli(int64(i))
			v.Due = &due
			_, err := notes.Create(t.Context(), fmt.Sprint(i), v)
			must(t, err)
		}
		q := Query[note]{Of: watched.By("due", ""), Newest: true, Limit: 3}
		same(t, "first", watched.listed(t, q), []string{"5", "4", "3"})
		b.do = func() {
			_, err := notes.Update(t.Context(), "3", setDue.Set(time.UnixMilli(100)))
			must(t, err)
		}
		var got []string
		for item, err := range watched.Each(t.Context(), q) {
			must(t, err)
			got = append(got, item.ID)
		}
		same(t, "each", got, []string{"3", "5", "4", "2", "1", "0"})
	})
}
