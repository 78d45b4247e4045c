package cache_test

import (
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cache"
	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/typed"
	"pgregory.net/rapid"
)

// TestFillKeySharesTheSlot of main, whatever main is, unless it has braces that are
// no hash tag; and no two keys have one fill, but for a and {a}, whose declarations
// overlap in their fills.
func TestFillKeySharesTheSlot(t *testing.T) {
	t.Parallel()
	key := rapid.StringMatching(`[ab:{}]{1,8}`)
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		a, b := key.Draw(t, "a"), key.Draw(t, "b")
		if a != b && a != "{"+b+"}" && b != "{"+a+"}" && cache.FillKey(a) == cache.FillKey(b) {
			t.Errorf("%q and %q have the fill %q", a, b, cache.FillKey(a))
		}
		_, tagged := slot.Tag([]byte(a))
		plain := cache.FillKey(a) == "{"+a+"}:fill"
		if same := slot.Of([]byte(a)) == slot.Of([]byte(cache.FillKey(a))); !same && (tagged || plain) {
			t.Errorf("%q and %q lie in different slots", a, cache.FillKey(a))
		}
	})
}

// TestBracesInACluster: a key that nothing can share a slot with is refused before
// anything is sent.
func TestBracesInACluster(t *testing.T) {
	t.Parallel()
	cl := keywrighttest.StartCluster(t, keywrighttest.Redis, 3, 0)
	c := open(t, cl.URL(), keywright.Options{})
	i := cache.New(keywright.Binding{Client: c, Entry: &page}, &text, cache.Options{}).Key("page:}", nil)
	_, err := i.GetOrLoad(t.Context(), never)
	_, err2 := i.Invalidate(t.Context())
	_, err3 := cache.LaterInvalidate(c,
		typed.NewKey(keywright.Binding{Client: c, Entry: &page, Key: "page:}"})).Do(t.Context())
	for _, err := range []error{err, err2, err3, i.Set(t.Context(), "x")} {
		if class, ok := keywright.ClassOf(err); !ok || class != keywright.Invalid {
			t.Errorf("%v", err)
		}
	}
}
