package answer

import "time"

// Growth says how a queue has changed from one reading to a later one. A queue counts neither the jobs that came nor
// those that left, so only what is left of both is known: a queue that does as much as it gets has a growth of zero.
type Growth struct {
	Over float64 `json:"over_seconds"` // from the one reading to the other
	Open int64   `json:"open"`         // jobs that came less those that left: how many more there are that are not dead
	Dead int64   `json:"dead"`         // how many more dead ones; below zero where some were retried or discarded
}

// Past holds the two readings that a growth is counted from. The zero value has none.
type Past struct{ since, next dated }

// dated holds what a reading has counted, by title.
type dated struct {
	at     time.Time
	queues map[string]Growth // open and dead
}

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
	now := dated{at, map[string]Growth{}}
	for i := range q.Queues {
		one := &q.Queues[i]
		now.queues[one.Title()] = Growth{Open: one.Jobs - one.Dead, Dead: one.Dead}
		if was, known := from.queues[one.Title()]; known && at.After(from.at) {
			one.Growth = &Growth{at.Sub(from.at).Seconds(), one.Jobs - one.Dead - was.Open, one.Dead - was.Dead}
		}
	}
	if q.next.at.IsZero() {
		q.next = now
	}
}
