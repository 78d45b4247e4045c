package limit

import (
	"fmt"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// TestBacklog: with a hundred thousand limits in use, and with one that is full to its
// last bucket, no script holds the server.
func TestBacklog(t *testing.T) {
	gate.Skip(t, "limits of 100,000 buckets")
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, c *keywright.Client) {
		var keys [][]string
		for i := range 100_000 {
			keys = append(keys, []string{"SET", fmt.Sprint("rate:", i), "1", "PX", "3600000"})
		}
		s.Pipe(keys...)
		rules := map[string]Rule{"gcra": GCRA(100_000, time.Hour, 100_000), "sliding": Sliding(100_000, time.Hour),
			"fixed": Fixed(100_000, time.Hour)}
		for name, r := range rules {
			l := New(keywright.Binding{Client: c, Entry: expires(3 * time.Hour)}, r).Of("rate:"+name, nil)
			if long := s.Long(5*time.Millisecond, func() {
				for _, n := range []int64{1, 1000, 50_000, 50_000, 1} {
					if _, err := l.AllowN(t.Context(), n); err != nil {
						t.Error(err)
					}
				}
				for range 20 {
					if _, err := l.Peek(t.Context()); err != nil {
						t.Error(err)
					}
				}
				if err := l.Reset(t.Context()); err != nil {
					t.Error(err)
				}
			}); len(long) > 0 {
				t.Errorf("%s: they hold the server for more than 5 ms: %q", name, long)
			}
		}
	})
}
