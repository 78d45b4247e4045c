package entity

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value"
	"github.com/keywright/keywright/value/seal"
)

// sealedNotes returns a store whose text is declared encrypted.
func sealedNotes(t *testing.T, url string, ring keywright.Sealer) *Store[string, note] {
	t.Helper()
	c := servertest.Open(t, url, keywright.Options{Sealer: ring})
	spec := noteSpec("n")
	spec.entry.Schema = "notes"
	columns := slices.Clone(noteFields.Columns)
	for i, c := range columns {
		if c.Name == "text" {
			columns[i] = value.Encrypted(c)
		}
	}
	spec.Fields = &value.Fields[note]{Columns: columns}
	return storeOf(c, spec)
}

func newRing(t *testing.T) *seal.Ring {
	t.Helper()
	text, _, err := seal.Generate()
	must(t, err)
	r, err := seal.Parse(text)
	must(t, err)
	return r
}

// TestEncrypted: what is declared encrypted is sealed by every write and opened by
// every read; it does not open under another id, nor without the key.
func TestEncrypted(t *testing.T) {
	t.Parallel()
	const canary = "canary-0123456789"
	brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
		ctx := t.Context()
		notes := sealedNotes(t, s.URL(), newRing(t))
		v := a("fact", 5)
		v.Text = canary
		made, err := notes.Create(ctx, "1", v)
		must(t, err)
		_, err = notes.Put(ctx, "2", v)
		must(t, err)
		read := func(what string, item Item[string, note], err error, want string) {
			t.Helper()
			if err != nil || item.Value.Text != want {
				t.Errorf("%s: %q, %v", what, item.Value.Text, err)
			}
			for _, key := range []string{"n:item:1", "n:item:2"} {
				if stored := fmt.Sprint(s.Do("HGETALL", key)); strings.Contains(stored, "canary") {
					t.Errorf("%s: the server has %q", what, stored)
				}
			}
		}
		got, err := notes.Get(ctx, "1")
		read("created", got, err, canary)
		_, err = notes.Update(ctx, "1", setText.Set(canary+"2"), setKind.Set("task"))
		must(t, err)
		got, err = notes.Get(ctx, "1")
		read("updated", got, err, canary+"2")
		if _, err = notes.UpdateIf(ctx, "1", made.Version, setText.Set("late")); !errors.Is(err, ErrVersion) {
			t.Error(err)
		}
		p, err := notes.List(ctx, Query[note]{Of: notes.By("kind", "task")})
		must(t, err)
		read("listed", p.Items[0], err, canary+"2")
		sound(t, notes)

		bare := sealedNotes(t, s.URL(), nil)
		_, created := bare.Create(ctx, "3", v)
		_, updated := bare.Update(ctx, "1", setText.Set(canary))
		_, got3 := bare.Get(ctx, "1")
		for what, err := range map[string]error{"create": created, "update": updated, "get": got3} {
			if class, ours := keywright.ClassOf(err); !ours || class != keywright.Invalid ||
				!strings.Contains(err.Error(), "Sealer") {
				t.Errorf("%s without a ring: %v", what, err)
			}
		}
		s.Do("HSET", "n:item:2", "text", fmt.Sprint(s.Do("HGET", "n:item:1", "text")))
		_, moved := notes.Get(ctx, "2")
		_, foreign := sealedNotes(t, s.URL(), newRing(t)).Get(ctx, "1")
		for err, why := range map[error]error{moved: seal.ErrForged, foreign: seal.ErrUnknownKey} {
			bad, ours := errors.AsType[*keywright.DecodeError](err)
			if !ours || !errors.Is(err, why) || bad.Field != "text" || strings.Count(err.Error(), "does not decode") != 1 {
				t.Errorf("%v, want %v", err, why)
			}
		}
	})
}
