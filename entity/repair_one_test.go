package entity

import (
	"context"
	"errors"
	"testing"

	"github.com/keywright/keywright/keywrighttest"
)

// TestRepairOne: each item that Check tells of is put right by itself, and nothing is left
// to do for it then; an error of the caller ends the check.
func TestRepairOne(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		for _, id := range []string{"1", "2", "3"} {
			_, err := notes.Create(t.Context(), id, a("k", 5))
			must(t, err)
		}
		s.Do("ZREM", "n:idx:kind:k", "1")
		s.Do("ZADD", "n:idx:kind:old", "0", "1")
		s.Do("ZADD", "n:idx:kind:k", "0", "nobody")
		s.Do("PERSIST", "n:item:2")
		told, ended := 0, errors.New("enough")
		_, err := notes.Check(t.Context(),
			CheckOptions{Wrong: func(context.Context, []Problem) error { told++; return ended }})
		if !errors.Is(err, ended) || told != 1 {
			t.Errorf("%v after %d", err, told)
		}
		repaired := map[string]int{}
		_, err = notes.Check(t.Context(), CheckOptions{Wrong: func(ctx context.Context, problems []Problem) error {
			var keys []string
			for _, p := range problems {
				keys = append(keys, p.Key)
			}
			for want := len(problems); ; want = 0 {
				n, err := notes.Repair(ctx, problems[0].ID, keys...)
				if err != nil || n != want {
					t.Errorf("%v: %d problems are put right, not %d: %v", problems, n, want, err)
				}
				if repaired[problems[0].ID] += n; want == 0 {
					return nil
				}
			}
		}})
		must(t, err)
		if repaired["1"] != 2 || repaired["2"] != 1 || repaired["nobody"] != 1 || len(repaired) != 3 {
			t.Errorf("%v", repaired)
		}
		if left := problems(t, notes, false); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	})
}
