package entity

import (
	"slices"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
)

// TestUsed: an update without changes stamps its time, and moves what is sorted by
// it, with a TTL of the caller's choice.
func TestUsed(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, _ *keywrighttest.Server, notes *Store[string, note]) { used(t, notes) })
	clusters(t, func(t *testing.T, c *keywrighttest.Cluster) { used(t, spread(t, c.URL(), "n")) })
}

func used(t *testing.T, notes *Store[string, note]) {
	ctx := t.Context()
	for _, id := range []string{"1", "2"} {
		_, err := notes.Create(ctx, id, a("fact", 5))
		must(t, err)
		nextMillisecond(t) // stamps are in milliseconds
	}
	before, err := notes.Get(ctx, "1")
	must(t, err)
	version, err := notes.UpdateWith(ctx, "1", []keywright.WriteOption{keywright.ExpiresIn(5 * time.Hour)})
	must(t, err)
	after, err := notes.Get(ctx, "1")
	must(t, err)
	if v := after.Value; !v.Updated.After(before.Value.Updated) || after.Version != version || version <= before.Version ||
		!v.Created.Equal(before.Value.Created) || v.Text != "hello" {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if got := notes.listed(t, Query[note]{Of: notes.By("updated", ""), Newest: true}); !slices.Equal(got,
		[]string{"1", "2"}) {
		t.Errorf("by the last use: %v", got)
	}
	sound(t, notes)
	spec := *notes.typed
	spec.Updated = ""
	plain := storeOf(notes.core.Client, &spec)
	if _, err := plain.Update(ctx, "1"); err == nil {
		t.Error("an update of nothing, without a stamp")
	}
}
