package scan

import (
	"testing"
	"time"
)

func TestNextCount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		count int
		held  time.Duration
		want  int
	}{{500, 500 * time.Microsecond, 1000}, {500, 10 * time.Millisecond, 66}, {10, time.Second, 10}, {1000, 0, 1000},
		{100, 2 * time.Millisecond, 66}} {
		if got := nextCount(c.count, c.held); got != c.want {
			t.Errorf("nextCount(%d, %s) = %d, want %d", c.count, c.held, got, c.want)
		}
	}
}
