package fallback_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/keywright/keywright/fallback"
	"github.com/keywright/keywright/keywrighttest"
)

// A store has one guard: two would apply the same log.
func TestAStoreHasOneGuard(t *testing.T) {
	w := newWorld(t, keywrighttest.Redis, fallback.Options{})
	_, err := fallback.New(target(w.c), w.store, fallback.Options{})
	is(t, "a second guard", err, fallback.ErrGuarded)
	other, err := fallback.New(target(w.c), fallback.NewMemory(fallback.Limits{}), fallback.Options{})
	w.ok(err)
	w.close(w.g)
	w.ok(other.Close())
	next := w.guard(target(w.c), fallback.Options{})
	w.close(w.g) // of one that is closed already: the store is the next one's
	_, err = fallback.New(target(w.c), w.store, fallback.Options{})
	is(t, "beside the next guard", err, fallback.ErrGuarded)
	w.close(next.g)
}

// TestSameTextOfAnotherIsAConflict: what another process has written is not taken
// for one's own because it reads the same.
func TestSameTextOfAnotherIsAConflict(t *testing.T) {
	week, hour := time.Now().Add(7*24*time.Hour), time.Now().Add(time.Hour)
	put := func(w world, text fallback.Fields, at time.Time) {
		_, err := w.raw.Write(w.Context(), "a",
			fallback.Change{Kind: fallback.Put, Fields: text, Expires: at, If: fallback.Any})
		w.ok(err)
	}
	for name, c := range map[string]struct {
		ours   func(context.Context, world) (fallback.Receipt, error)
		theirs func(world)
	}{
		"a put, which lives for ever there": {func(ctx context.Context, w world) (fallback.Receipt, error) {
			return w.g.Put(ctx, "a", text("two"), fallback.ExpiresAt(hour))
		}, func(w world) { put(w, text("two"), time.Time{}) }},
		"a put, which lives shorter there": {func(ctx context.Context, w world) (fallback.Receipt, error) {
			return w.g.Put(ctx, "a", text("two"), fallback.ExpiresAt(week))
		}, func(w world) { put(w, text("two"), hour) }},
		"a put for ever, which expires there": {func(ctx context.Context, w world) (fallback.Receipt, error) {
			return w.g.Put(ctx, "a", text("two"))
		}, func(w world) { put(w, text("two"), hour) }},
		"a put, two versions later": {func(ctx context.Context, w world) (fallback.Receipt, error) {
			return w.g.Put(ctx, "a", text("two"), fallback.ExpiresAt(hour))
		}, func(w world) { put(w, text("other"), hour); put(w, text("two"), hour) }},
		"an update, two versions later": {func(ctx context.Context, w world) (fallback.Receipt, error) {
			return w.g.Update(ctx, "a", text("two"))
		}, func(w world) { w.change("a", "other"); w.change("a", "two") }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, keywrighttest.Redis, fallback.Options{Patience: 50 * time.Millisecond})
			w.copied("a", w.put("a", "one", fallback.ExpiresAt(hour)))
			w.freezeServer()
			r, err := c.ours(t.Context(), w)
			w.ok(err)
			same(t, "it waits", r.Pending, true)
			c.theirs(w)
			before := mustGet(w, "a")
			w.back()
			w.drained()
			conflicts, err := w.g.Conflicts(t.Context())
			w.ok(err)
			same(t, "conflicts", len(conflicts), 1)
			same(t, "on the server", fmt.Sprint(mustGet(w, "a").Version), fmt.Sprint(before.Version))
		})
	}
}
