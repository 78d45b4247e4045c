package memory_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/harca/harcakeys"
	"github.com/keywright/keywright/examples/harca/memory"
	"github.com/keywright/keywright/examples/internal/sitetest"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// TestSlotsMove: slots move between the nodes of a cluster while clients write and
// items expire. The names have no hash tags: an item and its indexes are on
// different nodes, and agree nevertheless.
func TestSlotsMove(t *testing.T) {
	gate.Skip(t, "moves slots of a cluster under load")
	t.Parallel()
	cluster := cluster(t, keywrighttest.Redis)
	_, c := start(t, options(t, as(user, cluster.URL())))
	heard := c.events()
	client, err := keywright.Open(t.Context(), as("test", cluster.URL()), keywright.Options{})
	must(t, err)
	t.Cleanup(client.Close)
	store := harcakeys.New(client).ItemStore()

	stop := make(chan struct{})
	var work sync.WaitGroup
	var kept, ended []string
	work.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			var made memory.Written
			status, text := c.try("POST", "/items", fmt.Sprintf(`{"type":"note","content":%d,"priority":7}`, i), "", &made)
			if status == http.StatusAccepted {
				continue // later, by the second store
			}
			if status != http.StatusCreated {
				t.Errorf("a write while slots move: %d %s", status, text)
				return
			}
			if i%3 > 0 {
				kept = append(kept, made.ID)
			} else if _, err := store.Shorten(t.Context(), made.ID, 50*time.Millisecond); err == nil {
				ended = append(ended, made.ID)
			}
		}
	})
	for i := range 3 {
		cluster.MoveSlots(i, (i+1)%3, 200)
	}
	close(stop)
	work.Wait()
	if len(ended) == 0 {
		t.Fatal("nothing was written while slots moved")
	}
	heard.await(t, "item expired", ended[len(ended)-1])
	eventually(t, "what has expired is swept, and nothing waits", func() bool {
		stats, err := store.Stats(t.Context())
		return err == nil && stats.Expired == 0 && c.metric("harca_fallback_pending") == "0"
	})
	for _, id := range kept {
		c.do(http.StatusOK, "GET", "/items/"+id, "", nil)
	}
	check(t, as("test", cluster.URL()))
	for _, n := range cluster.Nodes {
		sitetest.Refusals(t, n)
	}
	t.Logf("%d items live, %d have expired", len(kept), len(ended))
}
