package entity

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/entity/indexrecord"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/entity/internal/upkeep"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// newIndexes lists those that older programs do not know.
var newIndexes = []string{"priority+created", "updated"}

// versions runs a test with a store that knows all indexes and one that does not, on a
// server and in a cluster over several slots.
func versions(t *testing.T,
	run func(t *testing.T, old, new *Store[string, note], do func(key string, words ...string) any)) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			s.WatchScripts()
			spec := noteSpec("n")
			older(spec)
			run(t, storeOf(open(t, s.URL()), spec), storeOf(open(t, s.URL()), noteSpec("n")),
				func(_ string, words ...string) any { return s.Do(words...) })
		})
	}
	clusters(t, func(t *testing.T, c *keywrighttest.Cluster) {
		for _, node := range c.Nodes {
			node.WatchScripts()
		}
		new, old := spread(t, c.URL(), "n"), spread(t, c.URL(), "n", older)
		new.core.Windows = itemkeys.Windows{Act: 10 * time.Second, Due: 20 * time.Second}
		old.core.Windows = new.core.Windows
		run(t, old, new, func(key string, words ...string) any { return serverOf(c, key).Do(words...) })
	})
}

func serverOf(c *keywrighttest.Cluster, key string) *keywrighttest.Server {
	return c.Nodes[int(slot.Of([]byte(key)))*c.Primaries/16384]
}

// lists returns the ids in an index by a page each, and whether one said that items may be
// missing.
func lists(t *testing.T, s *Store[string, note], priority int64) (out []string, incomplete bool) {
	t.Helper()
	for range 2 { // the second page is answered from the page cache
		p, err := s.List(t.Context(), Query[note]{Of: s.By("priority+created", strconv.FormatInt(priority, 10)), Limit: 1000})
		must(t, err)
		out, incomplete = ids(p), incomplete || p.Incomplete
	}
	slices.Sort(out)
	return out, incomplete
}

// everywhere fails unless the lists of an index are what the items say.
func everywhere(t *testing.T, s *Store[string, note]) {
	t.Helper()
	want := map[int64][]string{}
	for item, err := range s.All(t.Context()) {
		must(t, err)
		want[item.Value.Priority] = append(want[item.Value.Priority], item.ID)
	}
	for priority := int64(1); priority <= 3; priority++ {
		slices.Sort(want[priority])
		got, incomplete := lists(t, s, priority)
		if same(t, fmt.Sprint("priority ", priority), got, slices.Compact(want[priority])); incomplete {
			t.Errorf("the list of priority %d says that items may be missing", priority)
		}
	}
}

func stateIn(r IndexReport, name string) IndexState {
	i := slices.IndexFunc(r.Indexes, func(ix IndexState) bool { return ix.Name == name })
	if i < 0 {
		return IndexState{}
	}
	return r.Indexes[i]
}

// TestIncompleteSaysSo: lists of an index that lacks items say so, in every form, until
// it was built; and again when a program has written that does not know it.
func TestIncompleteSaysSo(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, old, new *Store[string, note], do func(string, ...string) any) {
		ctx := t.Context()
		for i := range 6 {
			_, err := old.Create(ctx, fmt.Sprint(i), a("k", int64(1+i%3)))
			must(t, err)
		}
		says := func(when string, want bool) {
			t.Helper()
			if _, got := lists(t, new, 1); got != want {
				t.Errorf("%s: a list says %v", when, got)
			}
			q := Query[note]{Of: new.By("priority+created", "1")}
			page, err := new.IDs(ctx, q)
			must(t, err)
			var last error
			for _, err := range new.Each(ctx, q) {
				last = err
			}
			_, exact, err := new.Count(ctx, q.Of, "", "")
			must(t, err)
			q.Whole = true
			_, refused := new.List(ctx, q)
			_, refusedIDs := new.IDs(ctx, q)
			if page.Incomplete != want || errors.Is(last, ErrIncomplete) != want || errors.Is(refused, ErrIncomplete) != want ||
				errors.Is(refusedIDs, ErrIncomplete) != want || want && exact {
				t.Errorf("%s: ids %v, each %v, list %v, ids %v, count is exact: %v", when, page.Incomplete, last, refused,
					refusedIDs, exact)
			}
			if p, err := new.List(ctx, Query[note]{Of: new.By("kind", "k")}); err != nil || p.Incomplete {
				t.Errorf("%s: an index that both know says %v %v", when, p.Incomplete, err)
			}
			if p, err := new.List(ctx, Query[note]{Of: new.By("kind", "k"), And: []Of[note]{q.Of}}); err != nil ||
				p.Incomplete != want {
				t.Errorf("%s: a list of items in both says %v %v", when, p.Incomplete, err)
			}
		}
		says("written by the old version", true)
		r, err := new.Indexes(ctx, IndexOptions{})
		must(t, err)
		if ix := stateIn(r, "priority+created"); r.Items != 6 || ix.Missing != 6 || ix.Complete ||
			!stateIn(r, "kind").Complete || stateIn(r, "kind").Missing != 0 {
			t.Errorf("plan: %+v", r)
		}
		says("planned", true)
		r, err = new.Indexes(ctx, IndexOptions{Apply: true})
		must(t, err)
		if ix := stateIn(r, "priority+created"); r.Interrupted || ix.Missing != 0 || ix.Done != 6 || !ix.Complete {
			t.Errorf("applied: %+v", r)
		}
		says("built", false)
		everywhere(t, new)
		_, err = new.Update(ctx, "1", setPriority.Set(3))
		must(t, err)
		says("written by the new version", false)
		_, err = old.Update(ctx, "2", setPriority.Set(1))
		must(t, err)
		says("updated by the old version", true)
		if r, err = new.Indexes(ctx, IndexOptions{}); err != nil || stateIn(r, "priority+created").Missing != 1 {
			t.Errorf("what the old version has written is to be looked at: %+v, %v", r, err)
		}
		if r, err = new.Indexes(ctx, IndexOptions{Apply: true}); err != nil || stateIn(r, "priority+created").Done != 1 {
			t.Errorf("and nothing else: %+v, %v", r, err)
		}
		says("built again", false)
		everywhere(t, new)
		do(new.core.Spec.Records, "HDEL", new.core.Spec.Records, "")
		lost := func(when string) {
			t.Helper()
			if p, err := new.List(ctx, Query[note]{Of: new.By("kind", "k")}); err != nil || !p.Incomplete {
				t.Errorf("%s: %v %v", when, p.Incomplete, err)
			}
		}
		lost("what was said is lost")
		_, err = new.Update(ctx, "1", setPriority.Set(2))
		must(t, err)
		lost("what was said is lost, and an item is written")
		_, err = new.Indexes(ctx, IndexOptions{Apply: true})
		must(t, err)
		says("built after that", false)
		for i := range 6 {
			_, err := []*Store[string, note]{old, new}[i%2].Delete(ctx, fmt.Sprint(i))
			must(t, err)
		}
		says("empty", false)
	})
}

// TestIndexWhileBothWrite: an index is built while programs with and without it write:
// no list has an item that does not belong to it; when only those are left that know
// the index it becomes complete, and then each list is right.
func TestIndexWhileBothWrite(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, old, new *Store[string, note], _ func(string, ...string) any) {
		ctx := t.Context()
		for i := range 60 {
			_, err := old.Create(ctx, fmt.Sprint(i), a("k", int64(1+i%3)))
			must(t, err)
		}
		writing, stop := context.WithCancel(ctx)
		deployed, deploy := context.WithCancel(ctx)
		defer stop()
		defer deploy()
		var all sync.WaitGroup
		for n, s := range []*Store[string, note]{old, new} {
			all.Go(func() {
				r := rand.New(rand.NewPCG(uint64(n), 7))
				for writing.Err() == nil && (s == new || deployed.Err() == nil) {
					id, p := fmt.Sprint(r.IntN(60)), 1+r.Int64N(3)
					var err error
					switch r.IntN(4) {
					case 0:
						_, err = s.Put(ctx, id, a("k", p))
					case 1:
						_, err = s.Delete(ctx, id)
					default:
						_, err = s.Update(ctx, id, setPriority.Set(p))
					}
					if err != nil && !errors.Is(err, keywright.ErrNotFound) {
						t.Error(err)
						return
					}
				}
			})
		}
		for range 3 {
			_, err := new.Indexes(ctx, IndexOptions{Apply: true})
			must(t, err)
			got, _ := lists(t, new, 2)
			slices.Sort(got)
			if len(slices.Compact(slices.Clone(got))) != len(got) {
				t.Errorf("an item twice: %s", got)
			}
		}
		deploy()
		eventually(t, "it becomes complete while new programs write", func() bool {
			r, err := new.Indexes(ctx, IndexOptions{Apply: true})
			must(t, err)
			return !r.Interrupted && stateIn(r, "priority+created").Complete
		})
		if _, incomplete := lists(t, new, 1); incomplete {
			t.Error("a new program has left a gap")
		}
		stop()
		all.Wait()
		everywhere(t, new)
		sound(t, new)
	})
}

// TestBuildersDoNotEndEachOther: an index is not complete if an old program has written
// after its building began, though another has begun to build it since.
func TestBuildersDoNotEndEachOther(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, old, new *Store[string, note], _ func(string, ...string) any) {
		ctx := t.Context()
		_, err := old.Create(ctx, "1", a("k", 1))
		must(t, err)
		first := &upkeep.Indexing{Store: new.core, Options: IndexOptions{Apply: true}, Builder: "aaaaaaaa"}
		must(t, first.Begin(ctx))
		first.Again()
		must(t, first.Pass(ctx))
		_, err = old.Update(ctx, "1", setPriority.Set(2))
		must(t, err)
		second := &upkeep.Indexing{Store: new.core, Options: IndexOptions{Apply: true}, Builder: "bbbbbbbb"}
		must(t, second.Begin(ctx))
		if must(t, first.End(ctx)); !first.Report.Interrupted {
			t.Error("the first says that it is complete")
		}
		if _, incomplete := lists(t, new, 2); !incomplete {
			t.Error("a list does not say that items may be missing")
		}
		second.Again()
		must(t, second.Pass(ctx))
		if must(t, second.End(ctx)); second.Report.Interrupted && !new.core.CrossSlot {
			t.Errorf("%+v", second.Report)
		}
		_, err = new.Indexes(ctx, IndexOptions{Apply: true})
		must(t, err)
		everywhere(t, new)
	})
}

// TestRemovedIndex: an index that is no longer declared is taken off the server, and
// nothing else; programs that know it still say that items may be missing.
func TestRemovedIndex(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, old, new *Store[string, note], do func(string, ...string) any) {
		ctx := t.Context()
		for i := range 250 {
			_, err := new.Create(ctx, fmt.Sprint(i), a("k", int64(1+i%3)))
			must(t, err)
		}
		plan, err := old.Indexes(ctx, IndexOptions{})
		must(t, err)
		if ix := stateIn(plan, "priority+created"); ix.Declared || ix.Items != 250 ||
			!strings.HasPrefix(ix.Pattern, "n:idx:priority:{") {
			t.Errorf("plan: %+v", plan)
		}
		if got := do("n:idx:updated", "ZCARD", "n:idx:updated"); got != int64(250) {
			t.Errorf("a plan leaves %v of 250 entries", got)
		}
		if _, err = old.Indexes(ctx, IndexOptions{Remove: []string{"kind", "nothing"}}); err != nil {
			t.Error(err)
		}
		everywhere(t, new) // what is declared cannot be removed
		r, err := old.Indexes(ctx, IndexOptions{Remove: newIndexes})
		must(t, err)
		for _, name := range newIndexes {
			if ix := stateIn(r, name); ix.Items != 0 || ix.Done != 250 {
				t.Errorf("removed: %+v", ix)
			}
		}
		for _, key := range []string{"n:idx:priority:1", "n:idx:priority:2", "n:idx:priority:3", "n:idx:updated"} {
			if n := do(key, "EXISTS", key); n != int64(0) {
				t.Errorf("%s is left", key)
			}
		}
		sound(t, old)
		if r, err = old.Indexes(ctx, IndexOptions{}); err != nil || len(r.Indexes) != 3 {
			t.Errorf("what was removed is still known: %+v, %v", r, err)
		}
		if _, incomplete := lists(t, new, 1); !incomplete {
			t.Error("a program that knows the index is not told")
		}
		if n, _, err := old.Count(ctx, old.By("kind", "k"), "", ""); err != nil || n != 250 {
			t.Errorf("%d of kind k, %v", n, err)
		}
	})
}

// TestRemovedIndexSharesItsKeys: an index that has another name by now and the same keys
// keeps its entries.
func TestRemovedIndexSharesItsKeys(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, was *Store[string, note]) {
		ctx := t.Context()
		_, err := was.Create(ctx, "1", a("k", 1))
		must(t, err)
		spec := noteSpec("n")
		for i := range spec.Indexes {
			if spec.Indexes[i].Name == "kind" {
				spec.Indexes[i].Name = "sort"
			}
		}
		is := storeOf(open(t, s.URL()), spec)
		_, err = is.Indexes(ctx, IndexOptions{Apply: true, Remove: []string{"kind"}})
		must(t, err)
		same(t, "by sort", is.listed(t, Query[note]{Of: is.By("sort", "k"), Whole: true}), []string{"1"})
		sound(t, is)
	})
}

// TestRemovedWhileWritten: an item that is written while an index is removed keeps what
// its writer has said, and is looked at again; a key of another type is left alone.
func TestRemovedWhileWritten(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, new *Store[string, note]) {
		ctx, spec := t.Context(), noteSpec("n")
		older(spec)
		old := storeOf(open(t, s.URL()), spec)
		for _, id := range []string{"1", "2"} {
			_, err := new.Create(ctx, id, a("k", 1))
			must(t, err)
		}
		b := &upkeep.Indexing{Store: old.core, Options: IndexOptions{Remove: newIndexes}}
		must(t, b.Begin(ctx))
		b.Again()
		var page []itemkeys.Registration
		for some, err := range old.core.ScanRecords(ctx) {
			must(t, err)
			page = append(page, some...)
		}
		_, err := new.Update(ctx, "1", setKind.Set("other"))
		must(t, err)
		s.Do("DEL", "n:idx:updated")
		s.Do("SET", "n:idx:updated", "in the way")
		must(t, b.RemoveSome(ctx, page))
		if b.Left != 1 {
			t.Errorf("%d items are left, not 1", b.Left)
		}
		s.Do("DEL", "n:idx:updated")
		_, err = old.Indexes(ctx, IndexOptions{Remove: newIndexes})
		must(t, err)
		sound(t, old)
		same(t, "kind other", old.listed(t, Query[note]{Of: old.By("kind", "other")}), []string{"1"})
		same(t, "keys", keysOf(s, "n:idx:priority"), nil)
	})
}

// TestIncompleteAfterPut: whole items that a program writes which does not know an index
// are gaps in it.
func TestIncompleteAfterPut(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, old, new *Store[string, note], _ func(string, ...string) any) {
		ctx := t.Context()
		for round, write := range []func() error{
			func() error { _, err := old.Put(ctx, "1", a("k", 1)); return err },
			func() error { _, err := old.Create(ctx, "2", a("k", 1)); return err },
		} {
			_, err := new.Put(ctx, "0", a("k", 2))
			must(t, err)
			_, err = new.Indexes(ctx, IndexOptions{Apply: true})
			must(t, err)
			if _, incomplete := lists(t, new, 1); incomplete {
				t.Errorf("%d: not complete before", round)
			}
			old.core.AgreedTo(strings.Repeat(" ", indexrecord.TokenSize)) // a process that begins
			if must(t, write()); true {
				if _, incomplete := lists(t, new, 1); !incomplete {
					t.Errorf("%d: complete after", round)
				}
			}
		}
	})
}

// TestPutTypes: a write of a whole item that a key of another type, or a channel that is
// forbidden, stops changes nothing, not for a moment.
func TestPutTypes(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		ctx := t.Context()
		spec := noteSpec("n")
		spec.OnCreate = []Event{{Mode: Publish, Channel: "n:made"}}
		_, err := notes.Create(ctx, "1", a("k", 5))
		must(t, err)
		w := s.RecordScripts()
		wrote := func() (out []string) {
			for _, call := range w.Calls() {
				for _, command := range call.Commands {
					if name := strings.ToUpper(command[0]); slices.Contains([]string{"HSET", "ZADD", "ZREM", "HDEL", "UNLINK",
						"PEXPIRE"}, name) {
						out = append(out, name)
					}
				}
			}
			return out
		}
		before := len(wrote())
		for _, key := range []string{"n:idx:kind:new", "n:idx:priority:7", "n:idx:due"} {
			s.Do("SET", key, "in the way")
			v := a("new", 7)
			due := time.UnixMilli(1)
			v.Due = &due
			for _, id := range []string{"1", "2"} {
				if _, err := notes.Put(ctx, id, v); err == nil {
					t.Errorf("%s is no obstacle", key)
				}
			}
			s.Do("DEL", key)
		}
		limited := storeOf(open(t, forbidden(s, "resetchannels")), spec)
		if _, err := limited.Create(ctx, "3", a("k", 5)); err == nil {
			t.Error("a channel that is forbidden is no obstacle")
		}
		if n := len(wrote()) - before; n > 0 {
			t.Errorf("%d commands that write were sent by writes that were refused", n)
		}
		sound(t, notes)
	})
}

// TestManyAtOnceLeaveNoGap: nor does one script that makes many items.
func TestManyAtOnceLeaveNoGap(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, new *Store[string, note]) {
		_, err := new.Create(t.Context(), "0", a("k", 1))
		must(t, err)
		spec := noteSpec("n")
		older(spec)
		old := storeOf(open(t, s.URL()), spec)
		same(t, "answers", atOnceIn(t, s, old, made{"1", a("k", 1)}, made{"2", a("k", 1)}), []string{"indexes", "indexes"})
		if n := s.Do("HLEN", "n:ledger").(int64); n != 2 {
			t.Errorf("%d index records", n)
		}
	})
}
