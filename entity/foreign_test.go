package entity

import (
	"errors"
	"strings"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value"
)

// TestForeignItems: the keys of a store share a part, and what reads an id may
// take any text for it, as generated code does. Items of others are none of it.
func TestForeignItems(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		part := func(tenant string) *Store[string, note] {
			spec := noteSpec(tenant)
			spec.Parse = func(key string) (string, bool) {
				_, id, ok := strings.Cut(key, ":item:")
				return id, ok
			}
			return storeOf(notes.core.Client, spec)
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
		if _, _, err := long.Texts().Get(t.Context(), short.core.Key("1")); !errors.As(err,
			&e) || e.Class != keywright.Invalid {
			t.Errorf("an item of another store: %v", err)
		}
	})
}

// TestBareSpec: a store of which only keys and indexes are known, as that of the
// command line, counts, sweeps and checks.
func TestBareSpec(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		_, err := notes.Create(t.Context(), "1", a("k", 5))
		must(t, err)
		spec := &Spec[string, struct{}]{entry: notes.core.Entry, Prefix: notes.core.Spec.Prefix, Key: notes.typed.Key,
			Parse: notes.typed.Parse, Fields: &value.Fields[struct{}]{},
			Expires: notes.core.Spec.Expires, Records: notes.core.Spec.Records,
			Lease: notes.core.Spec.Lease, IndexTTL: notes.core.Spec.IndexTTL}
		for _, ix := range notes.core.Spec.Indexes {
			spec.Indexes = append(spec.Indexes,
				Index[struct{}]{Name: ix.Name, Field: ix.Field, Score: ix.Score, Prefix: ix.Prefix})
		}
		bare := storeOf(notes.core.Client, spec)
		_, err = bare.Sweep(t.Context(), SweepOptions{})
		must(t, err)
		done, err := bare.Check(t.Context(), CheckOptions{Found: func(p Problem) { t.Errorf("%+v", p) }})
		if must(t, err); done.Items != 1 {
			t.Errorf("%+v", done)
		}
		s.Do("ZADD", "n:idx:kind:else", "0", "1")
		if done, err = bare.Check(t.Context(), CheckOptions{}); err != nil || done.Problems != 1 {
			t.Errorf("%+v %v", done, err)
		}
	})
}
