package entity

import (
	"fmt"
	"strings"
	"testing"

	"github.com/keywright/keywright/keywrighttest"
)

// TestWhatFreesMemoryGoesOnWhenItIsFull: items are deleted, swept and released on servers
// whose memory is full, also of indexes in several slots: what frees memory needs none.
func TestWhatFreesMemoryGoesOnWhenItIsFull(t *testing.T) {
	t.Parallel()
	free := func(t *testing.T, s *Store[string, note], nodes []*keywrighttest.Server) {
		ctx := t.Context()
		for i := range 6 {
			v := a("k", 5)
			v.Text = strings.Repeat("x", 1000)
			_, err := s.Create(ctx, fmt.Sprint("i", i), v)
			must(t, err)
		}
		for _, n := range nodes {
			n.Do("CONFIG", "SET", "maxmemory-policy", "noeviction", "maxmemory", "1000000")
		}
		if _, err := s.Create(ctx, "new", a("k", 5)); err == nil || !strings.Contains(err.Error(), "OOM") {
			t.Errorf("the memory is not full: %v", err)
		}
		if _, err := s.Delete(ctx, "i0"); err != nil {
			t.Errorf("delete: %v", err)
		}
		if _, err := s.DeleteAll(ctx, "i1", "i2"); err != nil {
			t.Errorf("delete of several: %v", err)
		}
		if got, err := s.Going("priority+created").Release(ctx, "5", []string{"i3"}); err != nil {
			t.Errorf("release: %+v, %v", got, err)
		}
		if _, err := s.Sweep(ctx, SweepOptions{Rate: 1 << 30}); err != nil {
			t.Errorf("sweep: %v", err)
		}
		ids, err := s.IDs(ctx, Query[note]{Of: s.By("kind", "k"), Limit: 100})
		if err != nil {
			t.Errorf("%v", err)
		}
		t.Logf("%+v", ids)
	}
	t.Run("one", func(t *testing.T) {
		brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
			free(t, notes, []*keywrighttest.Server{s})
		})
	})
	t.Run("apart", func(t *testing.T) {
		clusters(t, func(t *testing.T, c *keywrighttest.Cluster) { free(t, spread(t, c.URL(), "n"), c.Nodes) })
	})
	t.Run("forever", func(t *testing.T) {
		clusters(t, func(t *testing.T, c *keywrighttest.Cluster) { free(t, spread(t, c.URL(), "f", forever), c.Nodes) })
	})
}
