package entity

import (
	"fmt"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
)

// apartTrips counts how often each call waits for servers, as docs/entities-cluster.md
// says. A script that a server does not know yet costs one more: the least of several
// counts.
func apartTrips(t *testing.T, c *keywrighttest.Cluster) {
	trips := 0
	notes := spreadOn(t, deafClient(t, c.URL(), &lossyClient{lose: func() bool { trips++; return false }}), "trips")
	ctx := t.Context()
	var item Item[string, note]
	kept := func(i Item[string, note], err error) error { item = i; return err }
	for _, call := range []struct {
		name string
		want int
		do   func(id string) error
	}{
		{"Create", 4, func(id string) error { return kept(notes.Create(ctx, id, a("x", 1))) }},
		{"Create, it is there", 3, func(id string) error {
			if _, err := notes.Create(ctx, id, a("x", 1)); err == nil {
				return fmt.Errorf("created twice")
			}
			return nil
		}},
		{"Put", 4, func(id string) error { return kept(notes.Put(ctx, id, a("y", 2))) }},
		{"Update", 4, func(id string) error { _, err := notes.Update(ctx, id, setKind.Set("z")); return err }},
		{"Get", 1, func(id string) error { return kept(notes.Get(ctx, id)) }},
		{"GetMany", 1, func(id string) error { _, err := notes.GetMany(ctx, id, "0", "1", "2"); return err }},
		{"List", 2, func(string) error {
			_, err := notes.List(ctx, Query[note]{Of: notes.By("kind", "z"), Limit: 1})
			return err
		}},
		{"List, two indexes", 3, func(string) error {
			_, err := notes.List(ctx, Query[note]{Of: notes.By("kind", "z"), And: []Of[note]{notes.By("updated", "")}})
			return err
		}},
		{"Count", 1, func(string) error { _, _, err := notes.Count(ctx, notes.By("kind", "z"), "", ""); return err }},
		{"Touch", 1, func(id string) error { return notes.Touch(ctx, id) }},
		{"Shorten", 5, func(id string) error { _, err := notes.Shorten(ctx, id, time.Minute); return err }},
		{"Shorten, it is shorter", 1, func(id string) error { _, err := notes.Shorten(ctx, id, time.Hour); return err }},
		{"DeleteItem", 4, func(id string) error {
			must(t, kept(notes.Get(ctx, id)))
			trips = 0
			_, err := notes.DeleteItem(ctx, item)
			return err
		}},
		{"Delete, it is not there", 3, func(id string) error { _, err := notes.Delete(ctx, id); return err }},
	} {
		least := 1000
		for i := range 12 {
			trips = 0
			must(t, call.do(fmt.Sprint(i)))
			least = min(least, trips)
		}
		t.Logf("%-24s %d", call.name, least)
		if least != call.want {
			t.Errorf("%s: %d round trips, not %d", call.name, least, call.want)
		}
	}
	for _, c := range []struct{ batch, want int }{{30, 8}, {10, 14}} {
		for i := range 30 {
			_, err := notes.Create(ctx, fmt.Sprint("e", i), a("x", 1), keywright.ExpiresIn(10*time.Millisecond))
			must(t, err)
		}
		eventually(t, "they expire", func() bool {
			items, err := notes.GetMany(ctx, "e0", "e29")
			return err == nil && len(items) == 0
		})
		nextMillisecond(t)
		trips = 0
		done, err := notes.Sweep(ctx, SweepOptions{Batch: c.batch})
		if must(t, err); done.Gone != 30 || trips > c.want {
			t.Errorf("batches of %d: %d round trips, not %d; %+v", c.batch, trips, c.want, done)
		}
		t.Logf("Sweep of 30 by %-9d %d", c.batch, trips)
	}
}
