package counter

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// backlog is what counters may have in their keys: a hundred thousand ids that are to
// be forgotten and as many that are not, HyperLogLogs that are full, bitmaps of the
// greatest size that one script takes.
func backlog(s *keywrighttest.Server) {
	var all [][]string
	for i := 0; i < 100_000; i += 500 {
		past, future := []string{"ZADD", "past"}, []string{"ZADD", "future"}
		for j := i; j < i+500; j++ {
			past, future = append(past, "1000", fmt.Sprint("id", j)), append(future, "99999999999999", fmt.Sprint("id", j))
		}
		all = append(all, past, future)
	}
	for i := range mergedAtOnce {
		for part := range 3 {
			members := []string{"PFADD", fmt.Sprint("u", i)}
			for j := range 1000 {
				members = append(members, fmt.Sprint(i, " ", part, " ", j))
			}
			all = append(all, members)
		}
	}
	for _, day := range []string{"d1", "d2"} {
		all = append(all, []string{"SET", day, strings.Repeat("U", mostBits/2)})
	}
	all = append(all, []string{"SETBIT", "large", fmt.Sprint(int64(1<<32 - 1)), "1"})
	s.Pipe(all...)
}

// TestBacklog: whatever is in the keys, nothing that is asked of them holds the server.
func TestBacklog(t *testing.T) {
	gate.Skip(t, "200,000 ids and 256 MB of bitmaps")
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, c *keywright.Client) {
		backlog(s)
		small := NewActives(keywright.Binding{Client: c, Entry: hour}, ActivesConfig{MaxID: 1<<24 - 1, Scratch: "scratch"})
		large := NewActives(keywright.Binding{Client: c, Entry: hour}, ActivesConfig{MaxID: 1<<32 - 1, Scratch: "scratch"})
		var uniques []Uniques[int64]
		for i := range mergedAtOnce {
			uniques = append(uniques, NewUniques(keywright.Binding{Client: c, Entry: hour, Key: fmt.Sprint("u", i)}, &numbers))
		}
		visits, n := New(keywright.Binding{Client: c, Entry: hour, Key: "visits"}), 0
		past, future := visits.Exactly(keywright.Binding{Entry: hour, Key: "past"}),
			visits.Exactly(keywright.Binding{Entry: hour, Key: "future"})
		for name, do := range map[string]func() error{
			"once, of those to be forgotten": func() error {
				n++
				_, err := past.AddOnce(t.Context(), fmt.Sprint("new", n), 1)
				return err
			},
			"once": func() error { n++; _, err := future.AddOnce(t.Context(), fmt.Sprint("new", n), 1); return err },
			"count of uniques": func() error {
				s.Do("PFADD", "u0", fmt.Sprint(time.Now())) // what it remembers of the last count is over
				_, err := uniques[0].Count(t.Context(), uniques[1:]...)
				return err
			},
			"merge": func() error { _, err := uniques[0].Merge(t.Context(), uniques[1:]...); return err },
			"any":   func() error { _, err := small.Any(t.Context(), small.Of("d1", nil), small.Of("d2", nil)); return err },
			"every": func() error { _, err := small.Every(t.Context(), small.Of("d1", nil), small.Of("d2", nil)); return err },
			"count": func() error { _, err := small.Of("d1", nil).Count(t.Context()); return err },
			"a large count": func() error {
				if n, err := large.Of("large", nil).Count(t.Context()); n != 1 || err != nil {
					t.Errorf("a large bitmap has %d bits, %v", n, err)
				}
				return nil
			},
			"any of large ones": func() error {
				_, err := large.Any(t.Context(), large.Of("d1", nil), large.Of("d2", nil), large.Of("d1", nil))
				return err
			},
		} {
			if long := s.Long(5*time.Millisecond, func() {
				for range 5 {
					if err := do(); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			}); len(long) > 0 {
				t.Errorf("%s: they hold the server for more than 5 ms: %q", name, long)
			}
		}
	})
}
