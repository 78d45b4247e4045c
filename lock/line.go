package lock

// line is waiters in the order in which they came. Each is taken out in one
// step, wherever it is.
type line struct {
	first, last *waiter
	n           int
}

// link describes where a waiter is in a line.
type link struct {
	before, after *waiter
	in            bool
}

func (l *line) push(w *waiter) {
	w.link = link{before: l.last, in: true}
	if l.last == nil {
		l.first = w
	} else {
		l.last.link.after = w
	}
	l.last = w
	l.n++
}

// putBack puts one that was first in front again.
func (l *line) putBack(w *waiter) {
	w.link = link{after: l.first, in: true}
	if l.first == nil {
		l.last = w
	} else {
		l.first.link.before = w
	}
	l.first = w
	l.n++
}

// remove takes w out; false if it is not in the line.
func (l *line) remove(w *waiter) bool {
	if !w.link.in {
		return false
	}
	if w.link.before == nil {
		l.first = w.link.after
	} else {
		w.link.before.link.after = w.link.after
	}
	if w.link.after == nil {
		l.last = w.link.before
	} else {
		w.link.after.link.before = w.link.before
	}
	w.link = link{}
	l.n--
	return true
}

// pop takes the first one out, nil if there is none.
func (l *line) pop() *waiter {
	w := l.first
	if w != nil {
		l.remove(w)
	}
	return w
}
