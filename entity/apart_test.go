package entity

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
)

// quick windows let tests be quick: act and due, with a due that no step of a test
// overruns by accident.
var quick = windows{act: 400 * time.Millisecond, due: 800 * time.Millisecond}

// spread is the entity with its keys in many slots.
func spread(t *testing.T, url, prefix string, edits ...func(*Spec[string, note])) *Store[string, note] {
	t.Helper()
	return spreadOn(t, open(t, url), prefix, edits...)
}

func spreadOn(t *testing.T, c *keywright.Client, prefix string, edits ...func(*Spec[string, note])) *Store[string, note] {
	t.Helper()
	spec := noteSpec(prefix)
	spec.Expires, spec.Ledger, spec.Lease = "{"+prefix+"}:expiry", "{"+prefix+"}:ledger", "{"+prefix+"}:sweep"
	for _, edit := range edits {
		edit(spec)
	}
	s := New(c, spec, nil)
	if !s.apart {
		t.Fatal("the entity is not apart")
	}
	must(t, s.err)
	return s
}

func clusters(t *testing.T, run func(t *testing.T, c *keywrighttest.Cluster)) {
	for _, brand := range keywrighttest.Brands() {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			run(t, keywrighttest.StartCluster(t, brand, 3, 0))
		})
	}
}

func keysLeft(c *keywrighttest.Cluster) (n int64) {
	for _, node := range c.Nodes[:c.Primaries] {
		n += node.Do("DBSIZE").(int64)
	}
	return n
}

func TestApartLife(t *testing.T) {
	clusters(t, func(t *testing.T, c *keywrighttest.Cluster) {
		notes := spread(t, c.URL(), "n")
		ctx := t.Context()
		made, err := notes.Create(ctx, "1", a("fact", 5))
		must(t, err)
		got, err := notes.Get(ctx, "1")
		must(t, err)
		if got.Version != made.Version || got.Version < 1e15 || got.Value != made.Value || got.Value.Created.IsZero() {
			t.Errorf("made %+v, read %+v", made, got)
		}
		if _, err = notes.Create(ctx, "1", a("fact", 5)); !errors.Is(err, ErrExists) {
			t.Errorf("a second one: %v", err)
		}
		same(t, "by kind", notes.listed(t, Query[note]{Of: notes.By("kind", "fact")}), []string{"1"})
		sound(t, notes)
		v2, err := notes.Update(ctx, "1", setKind.Set("task"), setDue.Set(time.UnixMilli(1000).UTC()))
		must(t, err)
		same(t, "by the old kind", notes.listed(t, Query[note]{Of: notes.By("kind", "fact")}), nil)
		same(t, "by the new kind", notes.listed(t, Query[note]{Of: notes.By("kind", "task"), And: []Of[note]{notes.By("due", "")}}), []string{"1"})
		var conflict *Conflict
		if _, err = notes.UpdateIf(ctx, "1", made.Version, setText.Set("late")); !errors.Is(err, ErrVersion) || !errors.As(err, &conflict) || conflict.Version != v2 {
			t.Errorf("an update of an old version: %v", err)
		}
		if _, err = notes.UpdateIf(ctx, "1", v2, setText.Set("new"), setDue.Unset()); err != nil {
			t.Error(err)
		}
		same(t, "by due", notes.listed(t, Query[note]{Of: notes.By("due", "")}), nil)
		sound(t, notes)
		item, err := notes.Modify(ctx, "1", func(n *note) error { n.Priority++; return nil })
		must(t, err)
		stale := item
		stale.Version--
		if _, err = notes.DeleteItem(ctx, stale); !errors.Is(err, ErrVersion) {
			t.Errorf("delete of an old version: %v", err)
		}
		must(t, notes.Touch(ctx, "1", keywright.ExpiresIn(2*time.Hour)))
		if changed, err := notes.Shorten(ctx, "1", time.Minute); err != nil || !changed {
			t.Errorf("shortened: %v %v", changed, err)
		}
		if changed, err := notes.Shorten(ctx, "1", time.Minute); err != nil || changed {
			t.Errorf("shortened again: %v %v", changed, err)
		}
		sound(t, notes)
		ok, err := notes.DeleteItem(ctx, item)
		if must(t, err); !ok {
			t.Error("not deleted")
		}
		if ok, err = notes.Delete(ctx, "1"); err != nil || ok {
			t.Errorf("deleted twice: %v %v", ok, err)
		}
		if _, err = notes.Update(ctx, "1", setText.Set("x")); !errors.Is(err, keywright.ErrNotFound) {
			t.Errorf("update of a deleted one: %v", err)
		}
		if n := keysLeft(c); n != 0 {
			t.Errorf("%d keys are left", n)
		}
	})
}

func TestApartExpiry(t *testing.T) {
	clusters(t, func(t *testing.T, c *keywrighttest.Cluster) {
		notes := spread(t, c.URL(), "n")
		ctx := t.Context()
		for i := range 100 {
			_, err := notes.Create(ctx, fmt.Sprint(i), a(fmt.Sprint("k", i%3), int64(1+i%10)), keywright.ExpiresIn(50*time.Millisecond))
			must(t, err)
		}
		_, err := notes.Create(ctx, "stays", a("k1", 5))
		must(t, err)
		eventually(t, "they expire", func() bool { _, err := notes.Get(ctx, "99"); return errors.Is(err, keywright.ErrNotFound) })
		same(t, "by kind", notes.listed(t, Query[note]{Of: notes.By("kind", "k1")}), []string{"stays"})
		done, err := notes.Sweep(ctx, SweepOptions{Batch: 30})
		if must(t, err); done.Gone != 100 || done.Lives != 0 {
			t.Errorf("%+v", done)
		}
		if c := sound(t, notes); c.Items != 1 || c.Entries != 4 || c.Expired != 0 {
			t.Errorf("%+v", c)
		}
		if n := keysLeft(c); n != 7 {
			t.Errorf("%d keys", n)
		}
	})
}
