package memory

import (
	"testing"
	"time"
)

// TestDear: the TTL grows with the cost, and is within what is declared.
func TestDear(t *testing.T) {
	for spent, want := range map[time.Duration]time.Duration{
		0: time.Minute, 500 * time.Millisecond: 3 * time.Minute, time.Second: 5 * time.Minute,
		5500 * time.Millisecond: 17*time.Minute + 30*time.Second, 10 * time.Second: 30 * time.Minute,
		time.Hour: 30 * time.Minute,
	} {
		if got := dear(spent); got != want {
			t.Errorf("%v of work lives for %v, not %v", spent, got, want)
		}
	}
}
