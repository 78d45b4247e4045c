package lock

import (
	"testing"
	"time"
)

// TestALineTakesNoSteps: to join, to leave from the middle and to be served takes as long
// in a line of 100,000 as in one of 1,000. What is compared is the fastest of many rounds
// of the same number of steps, which a busy machine does not change.
func TestALineTakesNoSteps(t *testing.T) {
	const rounds, steps = 30, 300
	fastest := func(n int) time.Duration {
		var l line
		all := make([]*waiter, n)
		for i := range all {
			all[i] = &waiter{}
			l.push(all[i])
		}
		least := time.Hour
		for range rounds {
			began := time.Now()
			for i := range steps {
				w := all[(n/2+i)%n]
				l.remove(w)
				l.push(w)
				l.putBack(l.pop())
			}
			least = min(least, time.Since(began))
		}
		if l.n != n {
			t.Errorf("%d are in the line", l.n)
		}
		return least
	}
	few, many := fastest(1_000), fastest(100_000)
	if many > 20*max(few, steps*50*time.Nanosecond) {
		t.Errorf("%d steps take %v in a line of 1,000, and %v in one of 100,000", steps, few, many)
	}
}
