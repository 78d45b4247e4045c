package lock

import "testing"

// TestALineTakesNoSteps: to join, to leave from the middle and to be served touches the
// waiters next to it. All other links are cut here: one that is followed has no target.
func TestALineTakesNoSteps(t *testing.T) {
	const n = 9
	for what, c := range map[string]struct {
		do      func(l *line, all []*waiter)
		touched []int
		n       int
	}{
		"from the middle": {func(l *line, all []*waiter) { l.remove(all[4]) }, []int{3, 4, 5}, n - 1},
		"served":          {func(l *line, _ []*waiter) { l.pop() }, []int{0, 1}, n - 1},
		"the last leaves": {func(l *line, all []*waiter) { l.remove(all[n-1]) }, []int{n - 2, n - 1}, n - 1},
		"joins":           {func(l *line, _ []*waiter) { l.push(&waiter{}) }, []int{n - 1}, n + 1},
		"put back":        {func(l *line, _ []*waiter) { l.putBack(&waiter{}) }, []int{0}, n + 1},
	} {
		var l line
		all := make([]*waiter, n)
		for i := range all {
			all[i] = &waiter{}
			l.push(all[i])
		}
		near := map[int]bool{}
		for _, i := range c.touched {
			near[i] = true
		}
		for i := range all {
			if !near[i] {
				all[i].link = link{in: true}
			}
		}
		before := make([]link, n)
		for i := range all {
			before[i] = all[i].link
		}
		c.do(&l, all)
		for i := range all {
			if all[i].link != before[i] != near[i] {
				t.Errorf("%s: waiter %d was touched: %t", what, i, !near[i])
			}
		}
		if l.n != c.n {
			t.Errorf("%s: %d are in the line", what, l.n)
		}
	}
}
