package entity

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
)

// TestListWhileASlotMoves: an item whose key has gone to another node already is not passed over: the list fails, names
// the key and says that a retry helps. It is whole when the slot has moved.
func TestListWhileASlotMoves(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			cluster := keywrighttest.StartCluster(t, brand, 2, 0)
			c := servertest.Open(t, cluster.URL(), keywright.Options{Attempts: 1})
			prefix := onFirst("moving")
			notes := storeOf(c, noteSpec(prefix))
			for i := range 5 {
				_, err := notes.Create(t.Context(), fmt.Sprint(i), a("k", 5))
				must(t, err)
			}
			from, to, key := cluster.Nodes[0], cluster.Nodes[1], prefix+":item:3"
			slot := fmt.Sprint(from.Do("CLUSTER", "KEYSLOT", key))
			to.Do("CLUSTER", "SETSLOT", slot, "IMPORTING", cluster.ID(0))
			from.Do("CLUSTER", "SETSLOT", slot, "MIGRATING", cluster.ID(1))
			from.Do("MIGRATE", "127.0.0.1", strconv.Itoa(to.Port), key, "0", "5000")
			q := Query[note]{Of: notes.By("kind", "k")}
			page, listed := notes.List(t.Context(), q)
			ids, alone := notes.IDs(t.Context(), q)
			for what, err := range map[string]error{"list": listed, "ids": alone} {
				if class, _ := keywright.ClassOf(err); err == nil || class != keywright.Retryable ||
					!strings.Contains(err.Error(), key) {
					t.Errorf("%s: %d and %d of 5, %v", what, len(page.Items), len(ids.IDs), err)
				}
			}
			for _, k := range from.Do("CLUSTER", "GETKEYSINSLOT", slot, "100").([]any) {
				from.Do("MIGRATE", "127.0.0.1", strconv.Itoa(to.Port), k.(string), "0", "5000")
			}
			for _, n := range []*keywrighttest.Server{to, from} {
				n.Do("CLUSTER", "SETSLOT", slot, "NODE", cluster.ID(1))
			}
			eventually(t, "the list is whole", func() bool {
				page, err := notes.List(t.Context(), q)
				return err == nil && len(page.Items) == 5
			})
		})
	}
}
