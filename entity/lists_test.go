package entity

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/redis/rueidis"
)

// TestCursorIsNone: a place that no page gave is the caller's error, and is not sent.
func TestCursorIsNone(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, _ *keywrighttest.Server, notes *Store[string, note]) {
		for _, after := range []string{"x", "1", "\x00", "x\x00i1", "(1\x00i1", "nan\x00i1", "1\x00"} {
			_, err := notes.List(t.Context(), Query[note]{Of: notes.By("due", ""), After: after})
			if class, ok := keywright.ClassOf(err); !ok || class != keywright.Invalid {
				t.Errorf("after %q: %v", after, err)
			}
		}
	})
}

// TestCursorIsGone: the item that a page ended with is deleted; the next page
// begins after where it was, among items of the same score too.
func TestCursorIsGone(t *testing.T) {
	t.Parallel()
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
				if of.Index.Score == "" && newest {
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
				if of.Index.Score == "" {
					want = slices.DeleteFunc(want, func(id string) bool { return !slices.Contains(got, id) })
				}
				if newest {
					slices.Reverse(want)
				}
				same(t, of.Key, got, want)
				if of.Index.Score == "" {
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

// TestManyDead: a script looks at a bounded number of ids, and the pages come to an
// end all the same.
func TestManyDead(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		v := a("k", 5)
		due := time.UnixMilli(0)
		v.Due = &due
		_, err := notes.Create(t.Context(), "zlast", v)
		must(t, err)
		fill(s, "n:idx:due", 4500)
		fill(s, "n:idx:kind:k", 4500)
		w := s.RecordScripts()
		both := Query[note]{Of: notes.By("due", ""), And: []Of[note]{notes.By("kind", "k")}, Limit: 10}
		for _, q := range []Query[note]{{Of: notes.By("due", ""), Limit: 10}, {Of: notes.By("kind", "k"), Limit: 10}, both} {
			gone, found := 0, []string{}
			for {
				page, err := notes.List(t.Context(), q)
				must(t, err)
				gone, found = gone+page.Gone, append(found, ids(page)...)
				if q.After = page.Next; q.After == "" {
					break
				}
			}
			if gone != 4500 || len(found) != 1 {
				t.Errorf("%s: %d gone, %s", q.Of.Key, gone, found)
			}
		}
		for _, call := range w.Calls() {
			if n := len(call.Commands); n > 600 {
				t.Errorf("%s: a script of %d commands", call.SHA, n)
			}
		}
	})
}

// TestLargeItems: a script reads a bounded number of bytes, and the page is filled all
// the same.
func TestLargeItems(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		v := a("k", 5)
		v.Text = strings.Repeat("x", 100_000)
		for i := range 100 {
			_, err := notes.Create(t.Context(), fmt.Sprint(i), v)
			must(t, err)
		}
		w := s.RecordScripts()
		page, err := notes.List(t.Context(), Query[note]{Of: notes.By("kind", "k")})
		must(t, err)
		if len(page.Items) != 100 || page.Next != "" {
			t.Errorf("%d items, then %q", len(page.Items), page.Next)
		}
		for _, call := range w.Calls() {
			if n := len(call.Commands); n > 60 {
				t.Errorf("a script reads %d items of 100 kB", n)
			}
		}
	})
}

// TestBoundsAreChecked: bounds in the wrong order, and what is no score, are an error and neither an
// empty page nor an error of the server's.
func TestBoundsAreChecked(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, _ *keywrighttest.Server, notes *Store[string, note]) {
		due := notes.By("due", "")
		for _, b := range [][2]string{{"5", "3"}, {"(5", "3"}, {"+inf", "-inf"}, {"nan", ""}, {"", "NaN"}, {"(nan", "5"},
			{"x", ""},
			{"(", ""}, {"", "5)"}, {"[5", ""}, {"1e999", ""}, {" 1", ""}} {
			for _, newest := range []bool{false, true} {
				_, err := notes.List(t.Context(), Query[note]{Of: due, From: b[0], To: b[1], Newest: newest})
				_, err2 := notes.IDs(t.Context(), Query[note]{Of: due, From: b[0], To: b[1], Newest: newest})
				_, _, err3 := notes.Count(t.Context(), due, b[0], b[1])
				for _, err := range []error{err, err2, err3} {
					if class, _ := keywright.ClassOf(err); class != keywright.Invalid || !strings.Contains(err.Error(), "no") {
						t.Errorf("from %q to %q: %v", b[0], b[1], err)
					}
				}
			}
		}
		for _, b := range [][2]string{{"3", "3"}, {"(3", "(3"}, {"-inf", "(0"}, {"(0", "inf"}, {"1e3", ""}, {"-0.5", "+.5"}} {
			if _, err := notes.List(t.Context(), Query[note]{Of: due, From: b[0], To: b[1]}); err != nil {
				t.Errorf("from %q to %q: %v", b[0], b[1], err)
			}
			if _, _, err := notes.Count(t.Context(), due, b[0], b[1]); err != nil {
				t.Errorf("count from %q to %q: %v", b[0], b[1], err)
			}
		}
		if _, _, err := notes.Count(t.Context(), notes.By("kind", "k"), "1", ""); err == nil {
			t.Error("a count by scores that the index has not")
		}
	})
}

// TestIDsByTheirBytes: a page begins after where the one before ended, in the order of
// bytes.
func TestIDsByTheirBytes(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			notes := storeOf(open(t, s.URL()), noteSpec("n"))
			want := []string{"A", "B\x00", "B\x00b", "Z", "a", "b", "\xc3", "é", "\xff"}
			for _, id := range want {
				_, err := notes.Create(t.Context(), id, a("k", 5))
				must(t, err)
			}
			for i, gone := range want {
				_, err := notes.Delete(t.Context(), gone)
				must(t, err)
				same(t, fmt.Sprintf("after %q", gone),
					notes.listed(t, Query[note]{Of: notes.By("kind", "k"), After: "0\x00" + gone}), want[i+1:])
				_, err = notes.Create(t.Context(), gone, a("k", 5))
				must(t, err)
			}
		})
	}
}

// TestLargeIndex: a page of a large index looks at no more ids than it gives, whether
// the item that the page before ended with is there or not, and each item is given once.
func TestLargeIndex(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		const most = 100_000
		fill(s, "n:idx:kind:k", most)
		for _, id := range []string{"m00000", "m50000", "m99999"} {
			_, err := notes.Create(t.Context(), id, a("k", 5))
			must(t, err)
		}
		for _, at := range []int{0, 49_985, 99_985} { // as these are there, a page of 10 ends after 10
			for i := at; i < min(at+30, most); i++ {
				s.Do("HSET", fmt.Sprintf("n:item:m%05d", i), "kind", "k")
			}
		}
		w := s.RecordScripts()
		for _, last := range []string{"m00000", "m00000x", "m49999", "m49999x", "m50000", "m99998", "m99999x"} {
			for _, newest := range []bool{false, true} {
				q := Query[note]{Of: notes.By("kind", "k"), Limit: 10, After: "0\x00" + last, Newest: newest}
				// so that it can be read downwards, too
				q.Of.Index = &itemkeys.Index{Name: "kind", Score: "any", Prefix: "n:idx:kind:k"}
				_, err := notes.lister.List(t.Context(), q.plain(), notes.core.Names)
				must(t, err)
			}
		}
		for _, call := range w.Calls() {
			if n := len(call.Commands); n > 50 {
				t.Errorf("a page of 10 takes %d commands", n)
			}
		}
		for _, at := range []int{0, 49_985, 99_985} {
			for i := at; i < min(at+30, most); i++ {
				if i != 0 && i != 50_000 && i != 99_999 {
					s.Do("DEL", fmt.Sprintf("n:item:m%05d", i))
				}
			}
		}
		ids, next := []string(nil), ""
		for {
			page, err := notes.List(t.Context(), Query[note]{Of: notes.By("kind", "k"), Limit: 1000, After: next})
			must(t, err)
			for _, item := range page.Items {
				ids = append(ids, item.ID)
			}
			if next = page.Next; next == "" {
				break
			}
		}
		same(t, "all of them", ids, []string{"m00000", "m50000", "m99999"})
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
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		var b *between
		c := servertest.Open(t, s.URL(),
			keywright.Options{Wrap: func(raw rueidis.Client) rueidis.Client { b = &between{Client: raw}; return b }})
		watched := storeOf(c, noteSpec("n"))
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

// fill puts ids without items into an index: m00000, m00001 …
func fill(s *keywrighttest.Server, key string, n int) {
	for i := 0; i < n; i += 1000 {
		command := []string{"ZADD", key}
		for j := i; j < min(i+1000, n); j++ {
			command = append(command, "0", fmt.Sprintf("m%05d", j))
		}
		s.Do(command...)
	}
}
