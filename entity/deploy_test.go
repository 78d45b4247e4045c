package entity

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/keywrighttest"
)

// older is the entity without two of its indexes, as the version before knew it.
func older(spec *Spec[string, note]) {
	spec.Indexes = slices.DeleteFunc(slices.Clone(spec.Indexes),
		func(ix Index[note]) bool { return ix.Name == "priority+created" || ix.Name == "updated" })
}

// deploy lets programs with and without an index write the same items, and looks at
// the lists of the one that knows it; then each deletes some of them.
func deploy(t *testing.T, old, new *Store[string, note], left func() int) {
	t.Helper()
	ctx, r := t.Context(), rand.New(rand.NewPCG(3, 14))
	both := []*Store[string, note]{old, new}
	for range 200 {
		s, id := both[r.IntN(2)], fmt.Sprint(r.IntN(8))
		var err error
		switch v := a(fmt.Sprint("k", r.IntN(3)), 1+r.Int64N(3)); r.IntN(5) {
		case 0, 1:
			_, err = s.Put(ctx, id, v)
		case 2:
			_, err = s.Update(ctx, id, setPriority.Set(v.Priority))
		case 3:
			_, err = s.Update(ctx, id, setKind.Set(v.Kind), setPriority.Set(v.Priority))
		default:
			_, err = s.Delete(ctx, id)
		}
		if err != nil && !errors.Is(err, keywright.ErrNotFound) {
			t.Fatal(err)
		}
		priority := 1 + r.Int64N(3)
		for _, order := range []bool{true, false} { // the second list of a page is answered from the page cache
			q := Query[note]{Of: new.By("priority+created", strconv.FormatInt(priority, 10)), Newest: order}
			page, err := new.List(ctx, q)
			must(t, err)
			listed, err := new.IDs(ctx, q)
			must(t, err)
			for _, item := range page.Items {
				if item.Value.Priority != priority {
					t.Fatalf("the list of priority %d has an item of %d", priority, item.Value.Priority)
				}
			}
			for _, id := range listed.IDs {
				if item, err := new.Get(ctx, id); err != nil || item.Value.Priority != priority {
					t.Fatalf("the ids of priority %d have an item of %d, %v", priority, item.Value.Priority, err)
				}
			}
		}
	}
	for id := range 8 {
		_, err := both[id%2].Delete(ctx, fmt.Sprint(id))
		must(t, err)
	}
	eventually(t, "no delete leaves an id", func() bool {
		_, err := new.Sweep(ctx, SweepOptions{})
		return err == nil && left() == 0
	})
}

// TestNewIndexBesideAnOldProgram: while programs of two versions write, a list of the
// new index never has an item that does not belong to it, and no delete leaves an id.
func TestNewIndexBesideAnOldProgram(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, new *Store[string, note]) {
		spec := noteSpec("n")
		older(spec)
		deploy(t, storeOf(open(t, s.URL()), spec), new, func() int { return int(s.Do("DBSIZE").(int64)) })
	})
}

// TestOldProgramSweeps: a program that does not know an index takes an item that has
// expired out of it.
func TestOldProgramSweeps(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, new *Store[string, note]) {
		spec := noteSpec("n")
		older(spec)
		old := storeOf(open(t, s.URL()), spec)
		_, err := new.Create(t.Context(), "1", a("k", 5))
		must(t, err)
		_, err = old.Update(t.Context(), "1", setKind.Set("other"))
		must(t, err)
		if _, err = old.Check(t.Context(), CheckOptions{Apply: true}); err != nil {
			t.Error(err)
		}
		expire(t, s, new, "1")
		if _, err = old.Sweep(t.Context(), SweepOptions{}); err != nil || len(keysOf(s, "n:idx")) > 0 {
			t.Errorf("left: %s, %v", keysOf(s, "n:idx"), err)
		}
	})
}

// TestNewIndexBesideAnOldProgramApart: the same where the keys are in several slots.
func TestNewIndexBesideAnOldProgramApart(t *testing.T) {
	t.Parallel()
	clusters(t, func(t *testing.T, c *keywrighttest.Cluster) {
		new, old := spread(t, c.URL(), "n"), spread(t, c.URL(), "n", older)
		new.core.Windows = itemkeys.Windows{Act: 10 * time.Second, Due: 20 * time.Second}
		old.core.Windows = new.core.Windows
		deploy(t, old, new, func() int { return keysLeft(c, "n") })
	})
}
