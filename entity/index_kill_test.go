package entity

import (
	"bufio"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
)

const (
	builderURL  = "KEYWRIGHT_ENTITY_BUILDER"
	builderWork = "KEYWRIGHT_ENTITY_BUILDS" // "build" or "remove"
)

// storeAt is the entity as a version knows it, on a server or over several slots.
func storeAt(t *testing.T, c *keywright.Client, prefix string, apart bool, edits ...func(*Spec[string, note])) *Store[string, note] {
	t.Helper()
	if apart {
		return spreadOn(t, c, prefix, edits...)
	}
	spec := noteSpec(prefix)
	for _, edit := range edits {
		edit(spec)
	}
	return New(c, spec, nil)
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
// beside it is as it was.
func TestBuildersAreKilled(t *testing.T) {
	if os.Getenv(builderURL) != "" {
		return
	}
	t.Run("alone", func(t *testing.T) {
		brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) { builders(t, s.URL()) })
	})
	t.Run("apart", func(t *testing.T) {
		clusters(t, func(t *testing.T, c *keywrighttest.Cluster) { builders(t, c.URL()) })
	})
}

func builders(t *testing.T, url string) {
	const items = 1000
	ctx, c, apart := t.Context(), open(t, url), isCluster(url)
	kills, _ := strconv.Atoi(cmp.Or(os.Getenv("KEYWRIGHT_KILLS"), "4"))
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
		before, progress := left(), 0
		for kill := range kills {
			if !buildAndDie(t, url, work, 1+rand.IntN(3)) {
				progress = max(progress, before-left())
			}
			_, err := []*Store[string, note]{old, new}[kill%2].Update(ctx, fmt.Sprint(rand.IntN(items)), setPriority.Set(int64(1+rand.IntN(3))))
			must(t, err)
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
	eventually(t, "the index is built", func() bool {
		r, err := new.Indexes(ctx, IndexOptions{Apply: true})
		must(t, err)
		return !r.Interrupted
	})
	everywhere(t, new)
	if n, exact, err := new.Count(ctx, new.By("updated", ""), "", ""); err != nil || n != items || exact == apart {
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
			if n, _, err := new.Count(ctx, new.By(name, map[bool]string{true: fmt.Sprint(priority)}[name != "updated"]), "", ""); err != nil || n != 0 {
				t.Errorf("%d ids are left of %s %d (%v)", n, name, priority, err)
			}
		}
	}
	sound(t, old)
	sound(t, aside)
	if got, incomplete := lists(t, aside, 1); incomplete || len(got) != 1 {
		t.Errorf("the entity beside it has %s", got)
	}
}
