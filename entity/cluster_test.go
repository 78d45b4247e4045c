package entity

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// TestCluster: with one hash tag an entity does in a cluster what it does
// elsewhere.
func TestCluster(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			cluster := keywrighttest.StartCluster(t, brand, 3, 0)
			c := open(t, cluster.URL())
			for _, tells := range []bool{true, false} {
				w := newWorld(t, seeded{rand.New(rand.NewPCG(7, 7))}, cluster.Nodes[0], c, onFirst(fmt.Sprint(tells)), tells)
				for range 150 {
					w.Step()
				}
				w.Agree()
				w.announcing(nil)
				w.cleanUp()
			}
		})
	}
}

// onFirst returns a prefix whose keys lie on the first of three servers.
func onFirst(word string) string {
	for i := 0; ; i++ {
		if prefix := fmt.Sprintf("{%s%d}", word, i); slot.Of([]byte(prefix)) < 16384/3-1 {
			return prefix
		}
	}
}

// TestSweepRate: a sweep takes no more items per second than its rate allows.
func TestSweepRate(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		for i := range 20 {
			_, err := notes.Create(t.Context(), fmt.Sprint(i), a("k", 5))
			must(t, err)
			expire(t, s, notes, fmt.Sprint(i))
		}
		batches, began := 0, time.Now()
		done, err := notes.Sweep(t.Context(), SweepOptions{Batch: 2, Rate: 200, Swept: func(Swept) { batches++ }})
		if took := time.Since(began); err != nil || done.Gone != 20 || batches != 10 || took < 95*time.Millisecond {
			t.Errorf("%+v in %d batches, %v, %v", done, batches, took, err)
		}
	})
}
