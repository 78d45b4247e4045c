package queue

import (
	"context"
	"slices"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// EachWaiting calls each with the ids of jobs that wait in a lane or for their time, a
// thousand per round trip, until it answers false. It reads those that wait for their time first,
// and each list from its end to its front, where jobs leave, so that none that stays, or comes
// into its lane meanwhile, is passed over; an id may come twice.
func (q Queue[T]) EachWaiting(ctx context.Context, each func(id string) bool) error {
	if q.err != nil {
		return q.err
	}
	more, err := fromEnd(func(from, to int64) ([]string, error) { return q.delayed(ctx, from, to) }, each)
	if err != nil {
		return q.named(ctx, []string{q.keys.Delayed}, err)
	}
	for _, lane := range q.laneKeys() {
		if !more {
			return nil
		}
		if more, err = q.eachOfLane(ctx, lane, each); err != nil {
			return q.named(ctx, []string{lane}, err)
		}
	}
	return nil
}

// eachOfLane calls each with the ids of a lane, until it answers false: more is false then.
func (q Queue[T]) eachOfLane(ctx context.Context, lane string, each func(id string) bool) (more bool, err error) {
	return fromEnd(func(from, to int64) ([]string, error) {
		ids, err := q.rangeOf(ctx, lane, -to-1, -from-1)
		slices.Reverse(ids)
		return ids, err
	}, each)
}

// overlap says how many ids of the page before a page has again.
const overlap = 100

// fromEnd calls each with the ids of a list, from the end where they come to the front where they
// leave, page by page. Those that are taken out nearer to the end move what follows to places that
// were read already: a page that has too little of the one before is read again from nearer to
// the end.
func fromEnd(read func(from, to int64) ([]string, error), each func(id string) bool) (more bool, err error) {
	var before map[string]bool
	for next := int64(0); ; {
		from := max(0, next-overlap)
		ids, err := read(from, next+page-1)
		if err != nil {
			return false, err
		}
		again := 0
		for _, id := range ids {
			if before[id] {
				again++
			}
		}
		if from > 0 && again < overlap/2 {
			next = from - min(from, page/2)
			continue
		}
		last := before
		before = make(map[string]bool, len(ids))
		for _, id := range ids {
			if before[id] = true; !last[id] && !each(id) {
				return false, nil
			}
		}
		if int64(len(ids)) < next+page-from {
			return true, nil
		}
		next += page
	}
}

// delayed returns ids of delayed jobs, counted from the last.
func (q Queue[T]) delayed(ctx context.Context, from, to int64) ([]string, error) {
	return kernel.NewOp(kernel.Spec[[]string]{
		Action: kernel.Action{Client: q.client, Name: "delayed", Entry: q.entry, Effect: keywright.Reads,
			Key: q.keys.Delayed},
		Build: func(b kernel.Builder) kernel.Command {
			return b.Zrange().Key(q.keys.Delayed).Min(strconv.FormatInt(from, 10)).Max(strconv.FormatInt(to, 10)).Rev().Build()
		},
		Decode: func(r kernel.Reply) ([]string, error) { return r.AsStrSlice() },
	}).Do(ctx)
}
