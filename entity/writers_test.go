package entity

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/keywright/keywright/keywrighttest"
)

// TestWritersAtOnce: eight writers on one item and on few: no entry is left
// over, versions grow, and each event is of the item as it then was.
func TestWritersAtOnce(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
		var all sync.WaitGroup
		for w := range 8 {
			notes := storeOf(open(t, s.URL()), announcing("n")) // a process of its own, as it were
			all.Go(func() {
				for i := range 60 {
					id, v := fmt.Sprint(i%3), a(fmt.Sprint("k", w), int64(1+w))
					var err error
					switch (w + i) % 6 {
					case 0:
						_, err = notes.Put(t.Context(), id, v)
					case 1, 2:
						_, err = notes.Update(t.Context(), id, setKind.Set(v.Kind), setPriority.Set(v.Priority))
					case 3:
						_, err = notes.Delete(t.Context(), id)
					case 4:
						_, err = notes.Create(t.Context(), id, v)
					default:
						item, bad := notes.Get(t.Context(), id)
						if err = bad; err == nil {
							_, err = notes.DeleteItem(t.Context(), item)
						}
					}
					if _, known := errors.AsType[*Conflict](err); err != nil && !known && err.Error() != "not found" {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		notes := storeOf(open(t, s.URL()), announcing("n"))
		c := sound(t, notes)
		lives, _ := history(t, s, "n:log")
		for id, is := range lives {
			if got, err := notes.Exists(t.Context(), id); err != nil || got != is {
				t.Errorf("%s: there %v, told %v, %v", id, got, is, err)
			}
		}
		if want := 4 * c.Items; c.Entries != want { // kind, context, priority, updated
			t.Errorf("%d entries of %d items", c.Entries, c.Items)
		}
	})
}

// TestNothingIsLost: changes by many at once, each of what it has read, are all
// there at the end.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		counter := taskSpec(false)
		counter.Fields.Columns = append(counter.Fields.Columns, stampedVersion)
		counter.Version = "version"
		tasks := storeOf(notes.core.Client, counter)
		zero := int64(0)
		first, err := tasks.Create(t.Context(), "1", task{Score: &zero})
		must(t, err)
		versions := make(chan int64, 8*40)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 40 {
					item, err := tasks.Modify(t.Context(), "1", func(v *task) error { *v.Score++; return nil })
					if err != nil {
						t.Error(err)
					}
					versions <- item.Version
				}
			})
		}
		all.Wait()
		close(versions)
		seen := map[int64]bool{}
		for v := range versions {
			if seen[v] || v <= first.Version {
				t.Errorf("version %d twice, or older than the first", v)
			}
			seen[v] = true
		}
		got, err := tasks.Get(t.Context(), "1")
		must(t, err)
		if *got.Value.Score != 8*40 || got.Version != first.Version+8*40 {
			t.Errorf("%d, version %d is older than %d", *got.Value.Score, got.Version, first.Version)
		}
		// Deleted and made again: who has read it before changes nothing.
		if ok, err := tasks.DeleteItem(t.Context(), got); err != nil || !ok {
			t.Errorf("%v %v", ok, err)
		}
		made, err := tasks.Create(t.Context(), "1", task{Score: &zero})
		if must(t, err); made.Version <= got.Version {
			t.Errorf("version %d is older than %d", made.Version, got.Version)
		}
		if _, err = tasks.Save(t.Context(), got); !errors.Is(err, ErrVersion) {
			t.Errorf("saved over another: %v", err)
		}
		if _, err = tasks.UpdateIf(t.Context(), "1", got.Version); err == nil {
			t.Error("changed another")
		}
	})
}
