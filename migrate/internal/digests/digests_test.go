package digests

import (
	"math/rand/v2"
	"testing"

	"github.com/keywright/keywright/migrate/internal/disk"
)

// Digests are found again and visited in their order, also where they do not fit into memory.
func TestDigests(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 1000, pairRun, 2*pairRun + 77} {
		d := &Set{Room: (&disk.Disk{Own: t.TempDir()}).Room}
		r := rand.New(rand.NewPCG(1, uint64(n)))
		for range n {
			if err := d.Add(Pair{r.Uint64() &^ 1, 1}); err != nil {
				t.Fatal(err)
			}
		}
		visited, last := 0, uint64(0)
		if err := d.Sort(func(p Pair) {
			if visited++; p.ID < last {
				t.Fatalf("of %d, %d is after %d", n, p.ID, last)
			}
			last = p.ID
		}); err != nil || visited != n {
			t.Fatalf("%d of %d, %v", visited, n, err)
		}
		r = rand.New(rand.NewPCG(1, uint64(n)))
		for i := range n {
			id := r.Uint64() &^ 1
			if i%997 != 0 {
				continue
			}
			there, err := d.Has(id)
			other, err2 := d.Has(id | 1)
			if !there || other || err != nil || err2 != nil {
				t.Fatalf("of %d, %d: %v %v, %v %v", n, id, there, err, other, err2)
			}
		}
		d.Close()
	}
}
