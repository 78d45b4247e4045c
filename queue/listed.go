package queue

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// Listed represents a job where it is now.
type Listed struct {
	ID   string
	Lane string    // of a job that waits
	At   time.Time // of a running job: until when its lease lasts; of a delayed one: when it is due
}

// Running lists jobs that are leased, those whose lease ends first at first, at most 1000. One round trip.
func (q Queue[T]) Running(ctx context.Context, offset, n int64) ([]Listed, error) {
	return q.timed(ctx, q.keys.Leases, offset, n)
}

// Delayed lists jobs that wait for their time, those that are due first at first, at most 1000. One round trip.
func (q Queue[T]) Delayed(ctx context.Context, offset, n int64) ([]Listed, error) {
	return q.timed(ctx, q.keys.Delayed, offset, n)
}

// DelayedOf returns those of the named jobs that wait for their time, however many others do; at most 1000 names. One
// round trip.
func (q Queue[T]) DelayedOf(ctx context.Context, ids ...string) (out []Listed, err error) {
	err = q.scored(ctx, q.keys.Delayed, ids, func(id string, at time.Time) { out = append(out, Listed{ID: id, At: at}) })
	return out, err
}

// scored runs for those of the named members that a sorted set has.
func (q Queue[T]) scored(ctx context.Context, key string, ids []string, each func(id string, at time.Time)) error {
	if q.err != nil || len(ids) == 0 {
		return q.err
	}
	if len(ids) > maxBatch {
		return q.invalid(fmt.Errorf("%d jobs are named, of at most %d", len(ids), maxBatch), "name them in parts")
	}
	scores, err := kernel.NewOp(kernel.Spec[[]kernel.Value]{
		Action: kernel.Action{Client: q.client, Name: "list", Entry: q.entry, Effect: keywright.Reads, Key: key},
		Build:  func(b kernel.Builder) kernel.Command { return b.Zmscore().Key(key).Member(ids...).Build() },
		Decode: list,
	}).Do(ctx)
	if err != nil {
		return q.named(ctx, []string{key}, err)
	}
	for i := range scores {
		if score, err := scores[i].AsFloat64(); err == nil { // a nil is of one that is not there
			each(ids[i], time.UnixMilli(int64(score)))
		}
	}
	return nil
}

func (q Queue[T]) timed(ctx context.Context, key string, offset, n int64) ([]Listed, error) {
	if q.err != nil {
		return nil, q.err
	}
	n = min(max(n, 1), maxBatch)
	all, err := kernel.NewOp(kernel.Spec[[]kernel.ZScore]{
		Action: kernel.Action{Client: q.client, Name: "list", Entry: q.entry, Effect: keywright.Reads, Key: key},
		Build: func(b kernel.Builder) kernel.Command {
			return b.Zrange().Key(key).Min(strconv.FormatInt(offset, 10)).Max(strconv.FormatInt(offset+n-1,
				10)).Withscores().Build()
		},
		Decode: func(r kernel.Reply) ([]kernel.ZScore, error) { return r.AsZScores() },
	}).Do(ctx)
	if err != nil {
		return nil, q.named(ctx, []string{key}, err)
	}
	out := make([]Listed, len(all))
	for i, one := range all {
		out[i] = Listed{ID: one.Member, At: time.UnixMilli(int64(one.Score))}
	}
	return out, nil
}

// Waiting lists jobs of a lane, the first to go at first, at most 1000; "" is the first lane. A lane that there is not
// is an error. A job that was cancelled in a long lane is listed until its turn comes. One round trip.
func (q Queue[T]) Waiting(ctx context.Context, lane string, offset, n int64) ([]Listed, error) {
	if q.err != nil {
		return nil, q.err
	}
	i := slices.IndexFunc(q.keys.Lanes, func(l Lane) bool { return l.Name == lane })
	if i < 0 && lane != "" {
		return nil, q.invalid(fmt.Errorf("there is no lane %q", lane), "name one of the lanes")
	}
	i = max(i, 0)
	key, n := q.keys.Lanes[i].Key, min(max(n, 1), maxBatch)
	ids, err := q.rangeOf(ctx, key, offset, offset+n-1)
	if err != nil {
		return nil, q.named(ctx, []string{key}, err)
	}
	out := make([]Listed, len(ids))
	for j, id := range ids {
		out[j] = Listed{ID: id, Lane: q.keys.Lanes[i].Name}
	}
	return out, nil
}

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

func (q Queue[T]) rangeOf(ctx context.Context, lane string, from, to int64) ([]string, error) {
	return kernel.NewOp(kernel.Spec[[]string]{
		Action: kernel.Action{Client: q.client, Name: "reconcile", Entry: q.entry, Effect: keywright.Reads, Key: lane},
		Build:  func(b kernel.Builder) kernel.Command { return b.Lrange().Key(lane).Start(from).Stop(to).Build() },
		Decode: func(r kernel.Reply) ([]string, error) { return r.AsStrSlice() },
	}).Do(ctx)
}
