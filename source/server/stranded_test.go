package server

import (
	"strconv"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/slot"
)

// TestOrphansAreExamined: an examination names them, and the way that the rule tells lets them go.
func TestOrphansAreExamined(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b keywrighttest.Brand) {
		c := keywrighttest.StartCluster(t, b, 2, 0)
		key := ofFirst(t, c)
		n := int(slot.Of([]byte(key)))
		strand(t, c, key)()
		examine := func() []OrphanSlot {
			x, err := Examine(t.Context(), servertest.Config(t, c.URL()), time.Now)
			if err != nil {
				t.Fatal(err)
			}
			var all []OrphanSlot
			for _, p := range x.Patients {
				all = append(all, p.Orphans...)
			}
			return all
		}
		if got := examine(); len(got) != 1 || got[0].Slot != n || got[0].Keys != 1 || got[0].Owner != c.Nodes[0].Addr() ||
			len(got[0].Names) != 1 || got[0].Names[0] != strconv.Quote(key) {
			t.Errorf("%+v", got)
		}
		c.Nodes[1].Do("CLUSTER", "SETSLOT", strconv.Itoa(n), "IMPORTING", c.ID(0))
		c.Nodes[1].Pipe([]string{"ASKING"}, []string{"UNLINK", key})
		c.Nodes[1].Do("CLUSTER", "SETSLOT", strconv.Itoa(n), "STABLE")
		if got := examine(); len(got) > 0 {
			t.Errorf("%+v is left", got)
		}
	})
}
