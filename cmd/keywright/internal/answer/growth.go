package answer

import "time"

// Growth says how a queue has changed from one reading to a later one. Came − Left is by how much Open and Dead have
// grown together.
type Growth struct {
	Over float64 `json:"over_seconds"` // from the one reading to the other
	Open int64   `json:"open"`         // how many more jobs there are that are not dead
	Dead int64   `json:"dead"`         // how many more dead ones; below zero where some were retried or discarded
	// Came and Left are absent where the queue's count began again between the two readings, or is less than what there is:
	// its last worker left, its state was lost, or jobs were put there by hand.
	Came *int64 `json:"came,omitempty"` // jobs that were put into the queue
	Left *int64 `json:"left,omitempty"` // jobs that left it: done, cancelled, discarded, or their TTL was over
}

// Past holds the two readings that a growth is counted from. The zero value has none.
type Past struct{ since, next dated }

// dated holds what a reading has counted, by title.
type dated struct {
	at     time.Time
	queues map[string]counts
}

// counts are what a queue held at a reading, and how many jobs had come until then.
type counts struct{ open, dead, came int64 }

// spanOfGrowth is for how long a reading is kept to count from, at least.
const spanOfGrowth = time.Minute

// Grow counts how each queue has changed since an earlier reading: a minute before or longer where there is one, else
// the first there is. at is when these were read; before has the readings until then.
func (q *Queues) Grow(at time.Time, before Past) {
	q.Past = before
	if !before.next.at.IsZero() && at.Sub(before.next.at) >= spanOfGrowth {
		q.since, q.next = before.next, dated{}
	}
	from := q.since
	if from.at.IsZero() {
		from = q.next
	}
	now := dated{at, map[string]counts{}}
	for i := range q.Queues {
		one := &q.Queues[i]
		is := counts{one.Jobs - one.Dead, one.Dead, one.Enqueued}
		now.queues[one.Title()] = is
		if was, known := from.queues[one.Title()]; known && at.After(from.at) {
			one.Growth = is.since(was, at.Sub(from.at))
		}
	}
	if q.next.at.IsZero() {
		q.next = now
	}
}

// since returns what has changed. A job that left is one that came and is not there.
func (is counts) since(was counts, over time.Duration) *Growth {
	g := &Growth{Over: over.Seconds(), Open: is.open - was.open, Dead: is.dead - was.dead}
	came := is.came - was.came
	left := came - g.Open - g.Dead
	if counted := is.came > 0 || is.open+is.dead == 0; counted && came >= 0 && left >= 0 {
		g.Came, g.Left = &came, &left
	}
	return g
}
