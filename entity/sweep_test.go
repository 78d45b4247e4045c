package entity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/entity/internal/upkeep"
	"github.com/keywright/keywright/keywrighttest"
)

// TestSweepOnce: what a sweep has in hand may change before it comes to it. It is
// announced once, and nothing is taken from an item that lives.
func TestSweepOnce(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
		for name, meanwhile := range map[string]func(*Store[string, note]) error{
			"nothing": func(*Store[string, note]) error { return nil },
			"swept by another": func(n *Store[string, note]) error {
				_, err := n.Sweep(t.Context(),
					SweepOptions{})
				return err
			},
			"made again": func(n *Store[string, note]) error {
				_, err := n.Create(t.Context(), "1",
					a("k", 5))
				return err
			},
			"made again as else": func(n *Store[string, note]) error {
				_, err := n.Create(t.Context(), "1",
					a("else", 6))
				return err
			},
			"made again, gone by hand": func(n *Store[string, note]) error {
				_, err := n.Create(t.Context(), "1", a("k", 5))
				s.Do("DEL", n.core.Key("1"))
				return err
			},
			"made again as else, expired": func(n *Store[string, note]) error {
				_, err := n.Create(t.Context(), "1", a("else", 6))
				expire(t, s, n, "1")
				return err
			},
		} {
			prefix := strings.NewReplacer(" ", "", ",", "").Replace(name)
			notes := storeOf(open(t, s.URL()), announcing(prefix))
			_, err := notes.Create(t.Context(), "1", a("k", 5))
			must(t, err)
			expire(t, s, notes, "1")
			turn := upkeep.Turn(notes.core, SweepOptions{})
			due, _, _, err := upkeep.Due(t.Context(), notes.core, turn, 200, &itemkeys.PassedOver{})
			if must(t, err); len(due.Items) != 1 {
				t.Fatalf("%s: %v is due", name, due)
			}
			must(t, turn.Release(t.Context()))
			must(t, meanwhile(notes))
			before := contents(s, prefix+":")
			done, err := upkeep.SweepRecords(t.Context(), notes.core, due.Items)
			must(t, err)
			if (name == "nothing") != (done.Gone == 1) {
				t.Errorf("%s: %+v", name, done)
			}
			if name != "nothing" {
				same(t, name, contents(s, prefix+":"), before)
			}
			if strings.HasSuffix(name, "by hand") {
				expire(t, s, notes, "1")
			}
			_, err = notes.Sweep(t.Context(), SweepOptions{})
			must(t, err)
			sound(t, notes)
			expired := slices.DeleteFunc(logged(s, prefix+":log"),
				func(e string) bool { return !strings.Contains(e, "expired") })
			want := []string{`{"id":"1","kind":"k","expired":5}`}
			switch {
			case strings.HasSuffix(name, "expired"):
				want = append(want, `{"id":"1","kind":"else","expired":6}`)
			case strings.HasSuffix(name, "by hand"):
				want = append(want, want[0])
			}
			same(t, name, expired, want)
		}
	})
}

// TestProlongedByHand: an item whose hash lives longer than is known stays, and
// when it ends is learnt.
func TestProlongedByHand(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
		notes := storeOf(open(t, s.URL()), announcing("n"))
		for _, id := range []string{"1", "2"} {
			_, err := notes.Create(t.Context(), id, a("k", 5))
			must(t, err)
			s.Do("ZADD", notes.core.Spec.Expires, "1", id)
		}
		s.Do("PERSIST", notes.core.Key("2"))
		turn := upkeep.Turn(notes.core, SweepOptions{})
		due, _, _, err := upkeep.Due(t.Context(), notes.core, turn, 200, &itemkeys.PassedOver{})
		must(t, err)
		done, err := upkeep.SweepRecords(t.Context(), notes.core, due.Items)
		if must(t, err); done.Gone != 0 || done.Lives != 2 {
			t.Errorf("%+v", done)
		}
		if due, _, _, err = upkeep.Due(t.Context(), notes.core, turn, 200,
			&itemkeys.PassedOver{}); err != nil || len(due.Items) != 0 {
			t.Errorf("still due: %v %v", due, err)
		}
		if at := fmt.Sprint(s.Do("ZSCORE", notes.core.Spec.Expires, "2")); at != "inf" {
			t.Errorf("an item that never ends, ends at %s", at)
		}
		if got := notes.listed(t, Query[note]{Of: notes.By("kind", "k")}); len(got) != 2 {
			t.Errorf("%s", got)
		}
	})
}

// TestSweepBatch: a script takes no more than a batch, and what it has swept is
// out of everything.
func TestSweepBatch(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		for i := range 7 {
			_, err := notes.Create(t.Context(), fmt.Sprint(i), a(fmt.Sprint("k", i%2), 5))
			must(t, err)
			expire(t, s, notes, fmt.Sprint(i))
		}
		turn := upkeep.Turn(notes.core, SweepOptions{})
		due, _, _, err := upkeep.Due(t.Context(), notes.core, turn, 3, &itemkeys.PassedOver{})
		if must(t, err); len(due.Items) != 3 {
			t.Fatalf("%d are due at once", len(due.Items))
		}
		done, err := upkeep.SweepRecords(t.Context(), notes.core, due.Items)
		if must(t, err); done.Gone != 3 {
			t.Errorf("%+v", done)
		}
		if c := sound(t, notes); c.Expired != 4 {
			t.Errorf("%+v", c)
		}
		for _, key := range []string{notes.core.Spec.Expires, "n:idx:updated"} {
			if n := s.Do("ZCARD", key).(int64); n != 4 {
				t.Errorf("%d in %s", n, key)
			}
		}
		if n := s.Do("HLEN", notes.core.Spec.Records).(int64); n != 4+1 { // and what is said of the indexes
			t.Errorf("%d index records", n)
		}
		for _, w := range mortal(s, "n:") {
			t.Error(w)
		}
		if n := s.Do("ZCARD", "n:idx:kind:k0").(int64) + s.Do("ZCARD", "n:idx:kind:k1").(int64); n != 4 {
			t.Errorf("%d kinds", n)
		}
	})
}

// TestLease: one sweeps at a time; the lease of one that died ends by itself.
func TestLease(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		_, err := notes.Create(t.Context(), "1", a("k", 5))
		must(t, err)
		expire(t, s, notes, "1")
		dies := upkeep.Turn(notes.core, SweepOptions{Lease: time.Hour})
		_, _, busy, err := upkeep.Due(t.Context(), notes.core, dies, 200, &itemkeys.PassedOver{})
		if must(t, err); busy != 0 {
			t.Errorf("busy for %v", busy)
		}
		if _, _, busy, err = upkeep.Due(t.Context(), notes.core, dies, 200, &itemkeys.PassedOver{}); err != nil || busy != 0 {
			t.Errorf("its own lease: %v %v", busy, err)
		}
		done, err := notes.Sweep(t.Context(), SweepOptions{})
		if must(t, err); done.Busy <= 59*time.Minute || done.Gone != 0 {
			t.Fatalf("%+v", done)
		}
		for _, w := range mortal(s, "n:") {
			t.Fatal(w)
		}
		s.Do("PEXPIRE", notes.core.Spec.Lease, "1") // its time passes
		eventually(t, "another takes over", func() bool {
			done, err := notes.Sweep(t.Context(), SweepOptions{})
			return err == nil && done.Gone == 1
		})
		if n := s.Do("EXISTS", notes.core.Spec.Lease).(int64); n != 0 {
			t.Error("a sweep that is over keeps its lease")
		}
	})
}

// TestSweeper: a sweeper runs until its context ends, through errors too.
func TestSweeper(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
		notes := storeOf(open(t, s.URL()), announcing("n"))
		ctx, cancel := context.WithCancel(t.Context())
		over, failed := make(chan struct{}), make(chan error, 1000)
		s.Do("SET", "n:log", "in the way")
		s.Do("SET", "n:sweep", "dead", "PX", "20")
		go func() {
			defer close(over)
			notes.Sweeper(ctx, SweepOptions{Every: 5 * time.Millisecond}, func(err error) { failed <- err })
		}()
		s.Do("DEL", "n:log")
		_, err := notes.Create(t.Context(), "1", a("k", 5))
		must(t, err)
		s.Do("RENAME", "n:log", "n:away")
		s.Do("SET", "n:log", "in the way")
		expire(t, s, notes, "1")
		if err := <-failed; !strings.Contains(err.Error(), "WRONGTYPE") {
			t.Error(err)
		}
		s.Do("DEL", "n:log")
		eventually(t, "it is announced", func() bool { return len(logged(s, "n:log")) == 1 })
		cancel()
		<-over
		same(t, "log", logged(s, "n:log"), []string{`{"id":"1","kind":"k","expired":5}`})
	})
}

// TestNeverGivenWhenExpired: no read gives an item past its end, a cached one
// included.
func TestNeverGivenWhenExpired(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		due := time.UnixMilli(1)
		v := a("k", 5)
		v.Due = &due
		for _, id := range []string{"1", "2"} {
			_, err := notes.Create(t.Context(), id, v)
			must(t, err)
		}
		_, err := notes.Cached(t.Context(), "1", time.Hour)
		must(t, err)
		expire(t, s, notes, "1")
		gone := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, keywright.ErrNotFound) {
				t.Errorf("%s: %v", what, err)
			}
		}
		_, err = notes.Get(t.Context(), "1")
		gone("get", err)
		gone("touch", notes.Touch(t.Context(), "1"))
		_, err = notes.Shorten(t.Context(), "1", time.Minute)
		gone("shorten", err)
		_, err = notes.Update(t.Context(), "1", setText.Set("x"))
		gone("update", err)
		_, err = notes.Replace(t.Context(), "1", v)
		gone("replace", err)
		if ok, err := notes.Delete(t.Context(), "1"); err != nil || ok {
			t.Errorf("delete: %v %v", ok, err)
		}
		if many, err := notes.GetMany(t.Context(), "1", "2"); err != nil || len(many) != 1 {
			t.Errorf("many: %v %v", many, err)
		}
		for _, of := range []Of[note]{notes.By("kind", "k"), notes.By("priority+created", "5"), notes.By("due", ""),
			notes.By("updated", "")} {
			same(t, of.Key, notes.listed(t, Query[note]{Of: of}), []string{"2"})
			if got, err := notes.IDs(t.Context(), Query[note]{Of: of}); err != nil || !slices.Equal(got.IDs, []string{"2"}) {
				t.Errorf("ids of %s: %s %v", of.Key, got.IDs, err)
			}
			if n, exact, err := notes.Count(t.Context(), of, "", ""); err != nil || !exact || n != 1 {
				t.Errorf("count of %s: %d %v %v", of.Key, n, exact, err)
			}
		}
		for item, err := range notes.All(t.Context()) {
			if must(t, err); item.ID != "2" {
				t.Errorf("all: %+v", item)
			}
		}
		eventually(t, "the invalidation arrives", func() bool {
			_, err := notes.Cached(t.Context(), "1", time.Hour)
			return errors.Is(err, keywright.ErrNotFound)
		})
	})
}
