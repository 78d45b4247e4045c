package entity

import (
	"errors"
	"strings"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
)

// TestForeignItems: the keys of a store share a part, and what reads an id may
// take any text for it, as generated code does. Items of others are none of it.
func TestForeignItems(t *testing.T) {
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		part := func(tenant string) *Store[string, note] {
			spec := noteSpec(tenant)
			spec.Parse = func(key string) (string, bool) {
				_, id, ok := strings.Cut(key, ":item:")
				return id, ok
			}
			return New(notes.client, spec, nil)
		}
		short, long := part("al"), part("alexander")
		for _, notes := range []*Store[string, note]{short, long} {
			_, err := notes.Create(t.Context(), "1", a("k", 5))
			must(t, err)
		}
		for _, notes := range []*Store[string, note]{short, long} {
			if done := sound(t, notes); done.Items != 1 {
				t.Errorf("%+v", done)
			}
		}
		var e *keywright.Error
		if _, _, err := long.Texts().Get(t.Context(), short.key("1")); !errors.As(err, &e) || e.Class != keywright.Invalid {
			t.Errorf("an item of another store: %v", err)
		}
	})
}
