package entity

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/entity/internal/upkeep"
	"github.com/keywright/keywright/keywrighttest"
)

// ended makes items that expire at once and waits until the server says so.
func ended(t *testing.T, s *keywrighttest.Server, notes *Store[string, note], kind string, ids ...string) {
	t.Helper()
	for _, id := range ids {
		_, err := notes.Create(t.Context(), id, a(kind, 5), keywright.ExpiresIn(10*time.Millisecond))
		must(t, err)
	}
	eventually(t, "they expire", func() bool {
		left := int64(0)
		for _, id := range ids {
			left += s.Do("EXISTS", notes.core.Key(id)).(int64)
		}
		return left == 0
	})
}

// clearings say what may happen between the look at what is due and the sweep,
// and how many items are swept then.
var clearings = []struct {
	name      string
	meanwhile func(t *testing.T, s *keywrighttest.Server, n *Store[string, note])
	cleared   bool // in the cheap way
	gone      int
}{
	{"nothing", func(*testing.T, *keywrighttest.Server, *Store[string, note]) {}, true, 2},
	{"swept by another", func(t *testing.T, _ *keywrighttest.Server, n *Store[string, note]) {
		_, err := n.Sweep(t.Context(), SweepOptions{})
		must(t, err)
	}, false, 0},
	{"one made again", func(t *testing.T, _ *keywrighttest.Server, n *Store[string, note]) {
		_, err := n.Create(t.Context(), "1", a("else", 6))
		must(t, err)
	}, false, 1},
	{"one made again, expired again",
		func(t *testing.T, s *keywrighttest.Server, n *Store[string, note]) { ended(t, s, n, "else", "1") }, false, 1},
	{"one there by hand", func(_ *testing.T, s *keywrighttest.Server, n *Store[string, note]) {
		s.Do("HSET", n.core.Key("1"), "kind", "k")
	}, false, 1},
}

// TestClear: the cheap way of a sweep changes nothing unless all is as it was
// believed to be; then the careful one does what is right.
func TestClear(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
		for i, c := range clearings {
			notes := storeOf(open(t, s.URL()), noteSpec(fmt.Sprint("n", i)))
			ended(t, s, notes, "k", "1", "2")
			turn := upkeep.Turn(notes.core, SweepOptions{})
			var due upkeep.ExpiredBatch
			eventually(t, "both are due", func() bool {
				var err error
				due, _, _, err = upkeep.Due(t.Context(), notes.core, turn, 200, &itemkeys.PassedOver{})
				must(t, err)
				return len(due.Items) == 2
			})
			must(t, turn.Release(t.Context()))
			c.meanwhile(t, s, notes)
			s.Do("CONFIG", "RESETSTAT")
			done, err := upkeep.SweepBatch(t.Context(), notes.core, due)
			must(t, err)
			if stats := fmt.Sprint(s.Do("INFO", "commandstats")); done.Gone != c.gone ||
				strings.Contains(stats, "zmscore") == c.cleared {
				t.Errorf("%s: %+v; %s", c.name, done, stats)
			}
			if n := s.Do("EXISTS", notes.core.Spec.Expires).(int64); c.cleared && n != 0 {
				t.Fatal("what was cleared is still due")
			}
			s.Do("DEL", notes.core.Key("2"))
			if c.name == "one there by hand" {
				s.Do("DEL", notes.core.Key("1"))
			}
			_, err = notes.Sweep(t.Context(), SweepOptions{})
			must(t, err)
			if c.name != "one there by hand" { // when it ends is not known
				sound(t, notes)
			}
		}
	})
}

// TestClearBehindMoves: an item that lived on when its record was read, moved and
// died then, leaves no entry where it moved to.
func TestClearBehindMoves(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		_, err := notes.Create(t.Context(), "1", a("k", 5))
		must(t, err)
		s.Do("ZADD", notes.core.Spec.Expires, "1", "1") // its hash was prolonged, by hand or as the server stood still
		turn := upkeep.Turn(notes.core, SweepOptions{})
		due, _, _, err := upkeep.Due(t.Context(), notes.core, turn, 200, &itemkeys.PassedOver{})
		must(t, err)
		_, err = notes.Update(t.Context(), "1", setKind.Set("else"))
		must(t, err)
		s.Do("DEL", notes.core.Key("1"))
		_, err = upkeep.SweepBatch(t.Context(), notes.core, due)
		must(t, err)
		must(t, turn.Release(t.Context()))
		_, err = notes.Sweep(t.Context(), SweepOptions{})
		must(t, err)
		if left := s.Do("EXISTS", "n:idx:kind:else", "n:idx:kind:k", notes.core.Spec.Records).(int64); left != 0 {
			t.Errorf("%d keys are left behind an item that is gone", left)
		}
		sound(t, notes)
	})
}

// TestLotOfOneMoment: items of one score are not divided, unless they are more
// than a batch.
func TestLotOfOneMoment(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		for i := range 7 {
			_, err := notes.Create(t.Context(), fmt.Sprint(i), a("k", 5))
			must(t, err)
			s.Do("DEL", notes.core.Key(fmt.Sprint(i)))
			s.Do("ZADD", notes.core.Spec.Expires, fmt.Sprint(1+i/3), fmt.Sprint(i))
		}
		for most, want := range map[int]string{2: "2 ", 3: "3 ", 4: "3 1", 5: "3 1", 7: "6 2", 8: "7 3"} {
			b, err := upkeep.ReadExpired(t.Context(), notes.core, "1000", most, &itemkeys.PassedOver{})
			must(t, err)
			if got := fmt.Sprint(len(b.Items), " ", b.Last); got != want {
				t.Errorf("a batch of %d: %s, not %s", most, got, want)
			}
		}
		done, err := notes.Sweep(t.Context(), SweepOptions{Batch: 2})
		if must(t, err); done.Gone != 7 {
			t.Errorf("%+v", done)
		}
		sound(t, notes)
	})
}
