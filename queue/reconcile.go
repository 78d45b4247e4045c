package queue

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// The bounds of one pass and of its calls.
const (
	page     = 1000      // ids of a lane, or keys, in a round trip
	mostSeen = 8_000_000 // ids of lanes that a pass remembers, in 8 bytes each
	fromEnds = 1000      // elements of a lane that a call looks at from each end, of many lanes fewer
	places   = 10        // looks into lanes per call: about a millisecond of the server
)

// near says how many elements of each lane a call looks at from each end.
func (q Queue[T]) near() int { return min(fromEnds, fromEnds*places/len(q.keys.Lanes)) }

// Reconcile looks at every job that is stored, and brings back those that are in
// no lane, no lease, not delayed and not dead; it gives their ids. No step of a
// queue leaves one: it is for a server that has thrown keys away or lost
// its last writes, or on which some were deleted by hand. It reads the
// lanes, and then scans the server, in calls of about a millisecond however much
// waits: jobs go on meanwhile. One that comes into a lane while it looks may be
// put there a second time, which is harmless: it runs once. What it has brought
// back stays when it fails, and it can be run again. With dry it changes nothing.
func (q Queue[T]) Reconcile(ctx context.Context, dry bool) (back []string, err error) {
	if q.err != nil {
		return nil, q.err
	}
	s := sighting{seed: maphash.MakeSeed(), passes: 1}
	for ; s.pass < s.passes; s.pass++ {
		if err := q.see(ctx, &s); err != nil {
			return back, err
		}
		found, err := q.missing(ctx, &s, dry)
		if back = append(back, found...); err != nil {
			return back, err
		}
	}
	return back, nil
}

// BringBack brings jobs back that Reconcile has listed, unless they are in a place by
// now; it gives their ids. A lane is looked at near its ends only: between the two calls
// no job should have come into it by hand.
func (q Queue[T]) BringBack(ctx context.Context, ids ...string) (back []string, err error) {
	if q.err != nil {
		return nil, q.err
	}
	for _, id := range ids {
		if err := q.legal(id); err != nil {
			return nil, q.invalid(fmt.Errorf("the id: %w", err), "")
		}
	}
	for some := range slices.Chunk(ids, max(places/len(q.keys.Lanes), 1)) {
		brought, err := q.reconcile(ctx, some, false)
		if back = append(back, brought...); err != nil {
			return back, err
		}
	}
	return back, nil
}

// JobOf returns the key of a job.
func (q Queue[T]) JobOf(id string) string { return q.keys.Job.Of(id) }

// sighting describes which ids are in a lane, as far as one pass is about them: a pass
// has those whose hash says so.
type sighting struct {
	seed         maphash.Seed
	pass, passes uint64
	ids          []uint64 // sorted
}

func (s *sighting) own(id string) (sum uint64, own bool) {
	sum = maphash.String(s.seed, id)
	return sum, sum%s.passes == s.pass
}

// see reads the lanes: none that stays in one is passed over.
func (q Queue[T]) see(ctx context.Context, s *sighting) error {
	if s.pass == 0 {
		stats, err := q.Stats(ctx)
		if err != nil {
			return err
		}
		s.passes = uint64(stats.Waiting()/mostSeen) + 1
	}
	s.ids = s.ids[:0]
	for _, lane := range q.laneKeys() {
		_, err := q.eachOfLane(ctx, lane, func(id string) bool {
			if sum, own := s.own(id); own {
				s.ids = append(s.ids, sum)
			}
			return true
		})
		if err != nil {
			return err
		}
	}
	slices.Sort(s.ids)
	return nil
}

// missing looks at every job of a pass that was in no lane.
func (q Queue[T]) missing(ctx context.Context, s *sighting, dry bool) (back []string, err error) {
	match := globbed(q.keys.Job.Before) + "*" + globbed(q.keys.Job.After)
	primaries, err := q.client.Primaries(ctx)
	if err != nil {
		return nil, err
	}
	for _, node := range primaries {
		for cursor := uint64(0); ; {
			found, err := node.Do(ctx, node.B().Scan().Cursor(cursor).Match(match).Count(page).Build()).AsScanEntry()
			if err != nil {
				return back, q.scanning(err)
			}
			ids := q.unseen(s, found.Elements)
			for some := range slices.Chunk(ids, max(places/len(q.keys.Lanes), 1)) {
				brought, err := q.reconcile(ctx, some, dry)
				if back = append(back, brought...); err != nil {
					return back, err
				}
			}
			if cursor = found.Cursor; cursor == 0 {
				break
			}
		}
	}
	return back, nil
}

// scanning returns why the server could not be scanned.
func (q Queue[T]) scanning(err error) error {
	e := &keywright.Error{Class: keywright.Retryable, Op: "reconcile", Entry: q.entry.Name, Err: err}
	if reply, ok := errors.AsType[*kernel.ServerError](err); ok && strings.HasPrefix(reply.Error(), "NOPERM") {
		e.Class, e.Hint = keywright.Refused,
			"it scans the server, which the users of an application may not: log in as one that may SCAN"
	}
	return e
}

// unseen returns the ids of a pass that were in no lane.
func (q Queue[T]) unseen(s *sighting, jobs []string) (ids []string) {
	for _, key := range jobs {
		id := strings.TrimSuffix(strings.TrimPrefix(key, q.keys.Job.Before), q.keys.Job.After)
		sum, own := s.own(id)
		if _, there := slices.BinarySearch(s.ids, sum); own && !there && q.legal(id) == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

func (q Queue[T]) reconcile(ctx context.Context, ids []string, dry bool) ([]string, error) {
	script, effect := standard.lost, keywright.Reads
	args := []string{strconv.Itoa(len(q.keys.Lanes)), q.laneNames(), strconv.Itoa(q.near())}
	if !dry {
		script, effect, args = standard.reconcile, keywright.Idempotent, append(args, q.keys.Channel, q.database())
	}
	keys := append([]string{q.keys.Leases, q.keys.Delayed, q.keys.Dead, q.keys.Runs}, q.laneKeys()...)
	for _, id := range ids {
		keys, args = append(keys, q.keys.Job.Of(id)), append(args, id)
	}
	out, err := q.run(ctx, "reconcile", script, effect, keys, args)
	if err != nil {
		return nil, err
	}
	brought := make([]string, len(out))
	for i, m := range out {
		brought[i], _ = m.ToString()
	}
	return brought, nil
}

// globbed returns text as a glob that matches nothing else.
func globbed(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}
