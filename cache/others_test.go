package cache_test

import (
	"context"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cache"
	"github.com/keywright/keywright/keywrighttest"
)

// TestItemsOfOthers: an item that no cache has made, and one of another client, fail
// alone.
func TestItemsOfOthers(t *testing.T) {
	t.Parallel()
	w := oneServer(t, keywrighttest.Redis, keywright.Options{})
	other := oneServer(t, keywrighttest.Redis, keywright.Options{})
	c := w.cache(cache.Options{})
	w.ok(c.Key("page:1", nil).Set(t.Context(), "one"))
	w.ok(other.cache(cache.Options{}).Key("page:1", nil).Set(t.Context(), "the other's"))
	items := []cache.Item[string]{c.Key("page:1", nil), {}, other.cache(cache.Options{}).Key("page:1", nil)}
	load := func(context.Context, []int) (map[int]string, error) { t.Error("it loads"); return nil, nil }
	for _, got := range [][]cache.Result[string]{c.GetMany(t.Context(), items),
		c.GetOrLoadMany(t.Context(), items, load)} {
		if got[0].Err != nil || got[0].Value != "one" {
			t.Errorf("%+v", got[0])
		}
		for _, r := range got[1:] {
			if class, ok := keywright.ClassOf(r.Err); !ok || class != keywright.Invalid {
				t.Errorf("%+v", r)
			}
		}
	}
}
