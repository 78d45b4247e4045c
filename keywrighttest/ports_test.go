package keywrighttest

import "testing"

// TestThePortOfAKilledServerIsNotGivenAway: neither its port nor that of its bus is another
// server's before the test ends.
func TestThePortOfAKilledServerIsNotGivenAway(t *testing.T) {
	t.Parallel()
	s := Start(t, Redis)
	s.Kill()
	for _, port := range []int{s.Port, s.Port + 1000, s.Port - 1000} {
		if locks := reserve(portLocks(t), port, port+1000); locks != nil {
			release(locks)
			t.Errorf("%d and %d were given away, while a test had %d", port, port+1000, s.Port)
		}
	}
}
