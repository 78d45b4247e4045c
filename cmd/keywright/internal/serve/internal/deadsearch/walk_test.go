package deadsearch

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/queue"
	"pgregory.net/rapid"
)

// TestWalk: whatever dies and is taken away while dead jobs are gone through, each job that is there all the time is
// met once, and none twice.
func TestWalk(t *testing.T) {
	t.Parallel()
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		began := time.UnixMilli(1_700_000_000_000)
		var all []queue.Dead
		die := func(ms int) {
			all = append(all, queue.Dead{ID: fmt.Sprintf("j%d", len(all)*7919%1000),
				Since: began.Add(time.Duration(ms) * time.Millisecond)})
			slices.SortFunc(all,
				func(a, b queue.Dead) int { return cmp.Or(b.Since.Compare(a.Since), cmp.Compare(b.ID, a.ID)) })
		}
		for range rapid.IntRange(0, 60).Draw(t, "dead") {
			die(rapid.IntRange(0, 9).Draw(t, "at"))
		}
		stay := map[string]bool{}
		for _, d := range all {
			stay[d.ID] = true
		}
		const size = 5
		met, changes, died := map[string]int{}, rapid.IntRange(0, 40).Draw(t, "changes"), 10
		var w walk
		for ended, steps := false, 0; !ended; steps++ {
			if steps > 1000 {
				t.Fatal("it does not end")
			}
			from := min(int(w.offset), len(all))
			var fresh []queue.Dead
			fresh, ended = w.step(slices.Clone(all[from:min(from+size, len(all))]), size)
			for _, d := range fresh {
				met[d.ID]++
			}
			for ; changes > 0 && rapid.Bool().Draw(t, "change"); changes-- {
				if len(all) > 0 && rapid.Bool().Draw(t, "goes") {
					i := rapid.IntRange(0, len(all)-1).Draw(t, "which")
					delete(stay, all[i].ID)
					all = slices.Delete(all, i, i+1)
				} else {
					died++
					all = slices.Insert(all, 0,
						queue.Dead{ID: fmt.Sprintf("new%d", died), Since: began.Add(time.Duration(died) * time.Second)})
				}
			}
		}
		for id := range stay {
			if met[id] != 1 {
				t.Errorf("%s was met %d times", id, met[id])
			}
		}
		for id, n := range met {
			if n > 1 {
				t.Errorf("%s was met %d times", id, n)
			}
		}
	})
}
