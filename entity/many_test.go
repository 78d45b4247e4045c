package entity

import (
	"errors"
	"fmt"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
)

// TestMany: each of many items has a result of its own, and they are sent in one call.
func TestMany(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		ctx := t.Context()
		_, err := notes.Create(ctx, "7", a("first", 1))
		must(t, err)
		items := make([]Item[string, note], 1000)
		var all []string
		for i := range items {
			items[i] = Item[string, note]{ID: fmt.Sprint(i), Value: a("many", 5)}
			all = append(all, items[i].ID)
		}
		items[9].Value.Kind = "a:b" // no part of a key
		scripts := calls(t, s)
		made, err := notes.CreateAll(ctx, items)
		var failed Errors
		if !errors.As(err, &failed) || len(failed) != 2 || !errors.Is(failed[7], ErrExists) || failed[9] == nil ||
			!errors.Is(err, ErrExists) {
			t.Fatalf("%v", err)
		}
		if made[8].Version == 0 || made[7].Version != 0 {
			t.Errorf("%+v %+v", made[8], made[7])
		}
		if n := calls(t, s) - scripts; n > 500 || n == 0 {
			t.Errorf("%d calls for 1,000 items", n)
		}
		sound(t, notes)
		if _, err = notes.PutAll(ctx, items[:8]); err != nil {
			t.Error(err)
		}
		if got, _ := notes.Get(ctx, "7"); got.Value.Kind != "many" {
			t.Errorf("%+v", got)
		}
		if err = notes.TouchAll(ctx, []string{"1", "none"}); !errors.Is(err, keywright.ErrNotFound) {
			t.Errorf("%v", err)
		}
		n, err := notes.DeleteAll(ctx, all...)
		if must(t, err); n != 999 {
			t.Errorf("%d deleted", n)
		}
		if n := s.Do("DBSIZE").(int64); n != 0 {
			t.Errorf("%d keys are left", n)
		}
	})
}

// calls returns how many scripts a server has run.
func calls(t *testing.T, s *keywrighttest.Server) int {
	t.Helper()
	n := 0
	for _, command := range []string{"cmdstat_evalsha", "cmdstat_eval"} {
		var of int
		if _, err := fmt.Sscanf(s.Info(command), "calls="+"%d", &of); err == nil {
			n += of
		}
	}
	return n
}
