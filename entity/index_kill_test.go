package entity

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

const (
	builderURL  = "KEYWRIGHT_ENTITY_BUILDER"
	builderWork = "KEYWRIGHT_ENTITY_BUILDS" // "build" or "remove"
)

// storeAt returns the entity as a version knows it, on a server or over several slots.
func storeAt(t *testing.T, c *keywright.Client, prefix string, apart bool,
	edits ...func(*Spec[string, note])) *Store[string, note] {
	t.Helper()
	if apart {
		s := spreadOn(t, c, prefix, edits...)
		s.core.Windows = itemkeys.Windows{Act: time.Second, Due: 2 * time.Second}
		return s
	}
	spec := noteSpec(prefix)
	for _, edit := range edits {
		edit(spec)
	}
	return storeOf(c, spec)
}

// TestBuilderProcess is no test: it is a process that builds or removes indexes, and
// says how far it is.
func TestBuilderProcess(t *testing.T) {
	url := os.Getenv(builderURL)
	if url == "" {
		return
	}
	c := open(t, url)
	o := IndexOptions{Rate: 1 << 30, Passed: func(int) { fmt.Println("passed") }}
	edits := []func(*Spec[string, note]){}
	if os.Getenv(builderWork) == "remove" {
		o.Remove, edits = newIndexes, append(edits, older)
	} else {
		o.Apply = true
	}
	_, err := storeAt(t, c, "n", isCluster(url), edits...).Indexes(t.Context(), o)
	must(t, err)
	fmt.Println("ended")
}

func isCluster(url string) bool { return len(url) > 14 && url[:14] == "redis+cluster:" }

// buildAndDie runs such a process and kills it after some pages; it says whether it came
// to its end before.
func buildAndDie(t *testing.T, url, work string, pages int) (ended bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestBuilderProcess$", "-test.v")
	cmd.Env = append(os.Environ(), builderURL+"="+url, builderWork+"="+work)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if ended = ended || lines.Text() == "ended"; lines.Text() == "passed" {
			if pages--; pages == 0 {
				_ = cmd.Process.Kill()
			}
		}
	}
	_ = cmd.Wait()
	return ended
}

// TestBuildersAreKilled: processes that build and that remove indexes are killed, while
// programs of both versions write; the next goes on where they were. Then every item is
// in every index, or nothing is left of those that were removed, and another entity
// beside it is as it was. There is no sweeper: a build needs none.
func TestBuildersAreKilled(t *testing.T) {
	gate.Skip(t, "8 processes are killed while others write")
	if os.Getenv(builderURL) != "" {
		return
	}
	t.Run("alone", func(t *testing.T) {
		brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
			builders(t, s.URL(), func() int { return len(keysOf(s, "n:")) })
		})
	})
	t.Run("apart", func(t *testing.T) {
		clusters(t, func(t *testing.T, c *keywrighttest.Cluster) {
			builders(t, c.URL(), func() int { return keysLeft(c, "n") })
		})
	})
}

// written says how many of the items other programs write.
const written = 200

// beside writes and deletes some items by each program, all the time, and lists by one
// that knows the indexes: no list has an item that does not belong to it, none twice.
func beside(t *testing.T, knows *Store[string, note], programs ...*Store[string, note]) (end func()) {
	ctx := t.Context()
	writing, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	for n, s := range programs {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 7))
			for writing.Err() == nil {
				id, v := fmt.Sprint(r.IntN(written)), a("k", 1+r.Int64N(3))
				var err error
				switch r.IntN(4) {
				case 0:
					_, err = s.Put(ctx, id, v)
				case 1:
					_, err = s.Delete(ctx, id)
				default:
					_, err = s.Update(ctx, id, setPriority.Set(v.Priority))
				}
				if err != nil && !errors.Is(err, keywright.ErrNotFound) {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Go(func() {
		for p := int64(1); writing.Err() == nil; p = 1 + p%3 {
			seen, q := map[string]bool{}, Query[note]{Of: knows.By("priority+created", fmt.Sprint(p)), Limit: 100}
			page, err := knows.List(ctx, q)
			if err != nil {
				t.Error(err)
				return
			}
			for _, item := range page.Items {
				if item.Value.Priority != p || seen[item.ID] {
					t.Errorf("the list of priority %d has %s of %d, twice: %v", p, item.ID, item.Value.Priority, seen[item.ID])
				}
				seen[item.ID] = true
			}
		}
	})
	return func() { stop(); all.Wait() }
}

func builders(t *testing.T, url string, left func() int) {
	const items = 1000
	ctx, c, apart := t.Context(), open(t, url), isCluster(url)
	kills, chance := gate.Count(t, "KEYWRIGHT_KILLS", 2, 2), gate.Rand(t)
	old, new := storeAt(t, c, "n", apart, older), storeAt(t, c, "n", apart)
	aside := storeAt(t, c, "m", apart)
	_, err := aside.Create(ctx, "1", a("k", 1))
	must(t, err)
	var all []Item[string, note]
	for i := range items {
		all = append(all, Item[string, note]{ID: fmt.Sprint(i), Value: a("k", int64(1+i%3))})
	}
	_, err = old.CreateAll(ctx, all)
	must(t, err)
	survived := func(what string, work string, left func() int) {
		t.Helper()
		defer beside(t, new, old, new)()
		before, progress := left(), 0
		for range kills {
			if !buildAndDie(t, url, work, 1+chance.IntN(6)) {
				progress = max(progress, before-left())
			}
		}
		if progress == 0 {
			t.Errorf("%s: processes that were killed have left nothing of their work", what)
		}
	}
	survived("build", "build", func() int {
		r, err := new.Indexes(ctx, IndexOptions{})
		must(t, err)
		return stateIn(r, "updated").Missing
	})
	deployed := beside(t, new, new)
	eventually(t, "the index is built while new programs write", func() bool {
		r, err := new.Indexes(ctx, IndexOptions{Apply: true})
		must(t, err)
		return !r.Interrupted
	})
	deployed()
	everywhere(t, new)
	if n, exact, err := new.Count(ctx, new.By("updated", ""), "", ""); err != nil || n < items-written || exact == apart {
		t.Errorf("%d items by when they were updated (%v, %v)", n, exact, err)
	}
	sound(t, new)
	survived("remove", "remove", func() int {
		r, err := old.Indexes(ctx, IndexOptions{})
		must(t, err)
		return stateIn(r, "updated").Items
	})
	r, err := old.Indexes(ctx, IndexOptions{Remove: newIndexes})
	must(t, err)
	for _, name := range newIndexes {
		if stateIn(r, name).Items > 0 {
			t.Errorf("%+v is left", stateIn(r, name))
		}
		for priority := range 4 {
			if n, _, err := new.Count(ctx, new.By(name, map[bool]string{true: fmt.Sprint(priority)}[name != "updated"]), "",
				""); err != nil || n != 0 {
				t.Errorf("%d ids are left of %s %d (%v)", n, name, priority, err)
			}
		}
	}
	sound(t, old)
	for i, s := range []*Store[string, note]{old, new} {
		var ids []string
		for id := i * items / 2; id < (i+1)*items/2; id++ {
			ids = append(ids, fmt.Sprint(id))
		}
		_, err := s.DeleteAll(ctx, ids...)
		must(t, err)
	}
	eventually(t, "no delete leaves an id", func() bool {
		_, err := new.Sweep(ctx, SweepOptions{})
		return err == nil && left() == 0
	})
	sound(t, aside)
	if got, incomplete := lists(t, aside, 1); incomplete || len(got) != 1 {
		t.Errorf("the entity beside it has %s", got)
	}
}

// TestABuildKeepsToItsRate: a build looks at no more items per second than its rate allows.
func TestABuildKeepsToItsRate(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		const items, rate = 700, 1400
		for i := range items {
			s.Do("HSET", notes.core.Spec.Records, fmt.Sprint(i), "=")
		}
		began, passed, slow := time.Now(), 0, time.Duration(0)
		_, err := notes.Indexes(t.Context(), IndexOptions{Apply: true, Rate: rate, Passed: func(n int) {
			slow = time.Since(began) - time.Duration(passed)*time.Second/rate
			if passed += n; slow < -time.Millisecond {
				t.Errorf("%d items after %v", passed, time.Since(began))
			}
		}})
		if must(t, err); passed < items {
			t.Errorf("%d items", passed)
		}
	})
}
