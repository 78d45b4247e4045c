package entity

import (
	"context"

	"github.com/keywright/keywright/entity/internal/upkeep"
)

// Sweep cleans up after all items that have expired by now, and announces them.
// It ends when nothing is due, or when another process is sweeping (Busy says for
// how long at least). 4 round trips per batch.
func (s *Store[I, T]) Sweep(ctx context.Context, o SweepOptions) (Swept, error) {
	return upkeep.Sweep(ctx, s.core, o)
}

// Sweeper sweeps until ctx ends, or the client is closed. Any process may run one: they take turns, and
// when the one at work dies another goes on after a lease. An item's entries and
// its event are late by Every at most, or by Every and a lease. Errors do not end
// it; failed is called with them, unless it is nil.
func (s *Store[I, T]) Sweeper(ctx context.Context, o SweepOptions, failed func(error)) {
	upkeep.Sweeper(ctx, s.core, o, failed)
}

// Check compares all items with all entries of all indexes, each item in one
// step, so that writers at work cause no false alarm. It goes through the
// keyspace by SCAN, throttled; in a cluster through that of every primary. With
// Apply it puts right what is wrong, and gives an item that never expires and should
// the declared default TTL. It changes nothing else, and sweeps nothing.
func (s *Store[I, T]) Check(ctx context.Context, o CheckOptions) (Checked, error) {
	return upkeep.Check(ctx, s.core, o)
}

// Repair puts one item right, as Check with Apply does for each: keys are those of the
// problems that Check found. It gives how many problems it put right; none if the item
// is as it should be by now, or waits for a sweep.
func (s *Store[I, T]) Repair(ctx context.Context, id string, keys ...string) (problems int, err error) {
	return upkeep.Repair(ctx, s.core, id, keys...)
}

// Indexes looks how complete the indexes are, and with Apply completes them while
// programs of any version write: it goes through the index records, looks at each item
// whose record lacks an index, and puts that right in one step.
// What is done is done: after a process was killed the next one goes on. It is complete
// when nothing was left to do and no writer was there meanwhile that does not know the
// index. With Remove it takes items out of indexes that are no longer declared. O(items).
func (s *Store[I, T]) Indexes(ctx context.Context, o IndexOptions) (IndexReport, error) {
	return upkeep.Indexes(ctx, s.core, o)
}

// Stats looks at the entity. 3 round trips; O(log n).
func (s *Store[I, T]) Stats(ctx context.Context) (Stats, error) {
	return upkeep.ReadStats(ctx, s.core)
}
