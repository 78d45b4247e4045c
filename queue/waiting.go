package queue

import (
	"context"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/redis/rueidis"
)

// EachWaiting calls each with the ids of jobs that wait in a lane or for their time, a
// thousand per round trip, until it answers false. It reads lanes from their ends to their
// fronts, where jobs leave, so that none that stays is passed over; an id may come twice.
func (q Queue[T]) EachWaiting(ctx context.Context, each func(id string) bool) error {
	if q.err != nil {
		return q.err
	}
	for _, lane := range q.laneKeys() {
		for last := int64(-1); ; last -= page {
			ids, err := q.rangeOf(ctx, lane, last-page+1, last)
			if err != nil {
				return q.named(ctx, []string{lane}, err)
			}
			for _, id := range ids {
				if !each(id) {
					return nil
				}
			}
			if len(ids) < page {
				break
			}
		}
	}
	return q.eachDelayed(ctx, each)
}

// eachDelayed reads the delayed jobs from the last to the first, which leave.
func (q Queue[T]) eachDelayed(ctx context.Context, each func(id string) bool) error {
	for first := int64(0); ; first += page {
		ids, err := keywright.NewOp(keywright.Spec[[]string]{
			Action: keywright.Action{Client: q.client, Name: "delayed", Entry: q.entry, Effect: keywright.Reads,
				Key: q.keys.Delayed},
			Build: func(b rueidis.Builder) rueidis.Completed {
				return b.Zrange().Key(q.keys.Delayed).Min(strconv.FormatInt(first,
					10)).Max(strconv.FormatInt(first+page-1, 10)).Rev().Build()
			},
			Decode: func(r rueidis.RedisResult) ([]string, error) { return r.AsStrSlice() },
		}).Do(ctx)
		if err != nil {
			return q.named(ctx, []string{q.keys.Delayed}, err)
		}
		for _, id := range ids {
			if !each(id) {
				return nil
			}
		}
		if len(ids) < page {
			return nil
		}
	}
}
