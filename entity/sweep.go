package entity

import (
	"cmp"
	"context"
	"errors"
	"sort"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/lease"
	"github.com/keywright/keywright/kernel"
)

// SweepOptions say how hard a sweep works. The zero value is sensible.
type SweepOptions struct {
	// Batch is how many items a script takes, which holds up the server while it runs. 0: 200; at
	// most 250, and 1,500 entries of indexes; of an entity in several slots at most 32.
	Batch int
	Rate  int           // items per second, at most; 0: 20,000
	Every time.Duration // how long a sweeper that finds nothing waits at most; 0: 1 s
	Lease time.Duration // how long after a sweeper died another takes over; 0: 5 s
	Swept func(Swept)   // told of every batch; it must not wait
}

func (o SweepOptions) batch() int { return min(cmp.Or(o.Batch, 200), 250) }
func (o SweepOptions) rate() int  { return cmp.Or(o.Rate, 20_000) }
func (o SweepOptions) lease() time.Duration {
	return max(cmp.Or(o.Lease, 5*time.Second), time.Millisecond)
}
func (o SweepOptions) every() time.Duration { return cmp.Or(o.Every, time.Second) }

// Sweep sweeps all that is due: see entity.Store.Sweep.
func (s *core) Sweep(ctx context.Context, o SweepOptions) (Swept, error) {
	turn := s.turn(o)
	done, err := s.sweepAll(ctx, turn, o)
	return done.Swept, errors.Join(err, turn.Release(ctx))
}

// Sweeper sweeps until ctx ends: see entity.Store.Sweeper.
func (s *core) Sweeper(ctx context.Context, o SweepOptions, failed func(error)) {
	ctx, end := s.client.While(ctx)
	defer end()
	turn := s.turn(o)
	for ctx.Err() == nil {
		done, err := s.sweepAll(ctx, turn, o)
		wait := min(cmp.Or(done.Busy, done.next, o.every()), o.every())
		if err != nil && ctx.Err() == nil {
			if wait = o.every(); failed != nil {
				failed(err)
			}
		}
		pause(ctx, wait)
	}
	_ = turn.Release(context.WithoutCancel(ctx)) // else it ends by itself
}

// swept is Swept, and how long until the next item is due; 0: unknown.
type swept struct {
	Swept
	next time.Duration
}

// turn returns the lease of the sweep, not taken yet.
func (s *core) turn(o SweepOptions) *lease.Lease {
	return lease.New(s.client, s.spec.Lease, o.lease(), lease.Options{Entry: s.entry, Err: s.err})
}

func (s *core) sweepAll(ctx context.Context, turn *lease.Lease, o SweepOptions) (all swept, err error) {
	defer turn.Rest()
	if s.apart {
		return s.sweepApart(ctx, turn, o)
	}
	var over passed
	for idle := 0; ctx.Err() == nil; {
		began, before := time.Now(), over.items
		due, wait, busy, err := s.due(ctx, turn, s.perScript(o.batch()), &over)
		if err != nil || busy > 0 || over.items >= mostPassed || len(due.items) == 0 && over.items == before {
			all.Busy, all.next = busy, wait
			return all, errors.Join(err, s.passedOver(&over))
		}
		if len(due.items) == 0 {
			continue
		}
		done, err := s.sweepBatch(ctx, due)
		all.Gone, all.Lives = all.Gone+done.Gone, all.Lives+done.Lives
		if o.Swept != nil && err == nil {
			o.Swept(done)
		}
		if done.Gone+done.Lives > 0 {
			idle = 0
		} else if idle++; err != nil || idle == 3 {
			return all, errors.Join(err, s.passedOver(&over))
		} // else others were faster, or a reply was lost: what is left is looked at again
		pause(ctx, time.Duration(len(due.items))*time.Second/time.Duration(o.rate())-time.Since(began))
	}
	return all, ctx.Err()
}

// mostDropped bounds how many entries of indexes, and events, one script of a sweep is
// about: it takes out each item's one by one, and holds up the server while it runs.
const mostDropped = 1500

// perScript returns how many items are swept by one script: fewer where each is in many
// indexes, or is announced in many places.
func (s *core) perScript(batch int) int {
	return max(min(batch, mostDropped/max(len(s.spec.Indexes)+3*len(s.spec.OnExpire), 1)), 1)
}

// due takes the lease and looks for what has expired, past what it has passed over.
func (s *core) due(ctx context.Context, turn *lease.Lease, batch int, over *passed) (d lot,
	next, busy time.Duration, err error) {
	if s.spec.Expires == "" {
		return d, time.Hour, 0, s.err
	}
	sweeper, ttl := turn.Args()
	all, err := s.run(ctx, "sweep", s.scripts.due, keywright.Idempotent, []string{s.spec.Expires, s.spec.Lease},
		sweeper, ttl)
	if err != nil {
		return d, 0, 0, err
	}
	next, busy = millis(all[1]), millis(all[0])
	turn.Took(ctx, busy == 0)
	if all[1] != "0" {
		return d, next, busy, nil
	}
	d, err = s.lot(ctx, all[2], batch, over)
	return d, 0, 0, err
}

// lot is items that are to be swept.
type lot struct {
	items []registration
	last  string // they are all whose score in the expiry zset is at most this; "" if that is not known
}

// lot reads what expired before a moment, with plain commands: through a script
// every id would cost the server twice.
func (s *core) lot(ctx context.Context, now string, most int, over *passed) (d lot, err error) {
	raw := s.client.Raw()
	a := s.action("sweep", keywright.Reads, s.spec.Expires, nil)
	scores, err := kernel.Run(ctx, &a, func(ctx context.Context) kernel.Reply {
		return raw.Do(ctx,
			raw.B().Zrange().Key(s.spec.Expires).Min("-inf").Max("("+now).Byscore().Limit(int64(over.items), int64(most)).
				Withscores().Build())
	}, func(r kernel.Reply) ([]kernel.ZScore, error) { return r.AsZScores() })
	if err != nil || len(scores) == 0 {
		return d, err
	}
	last := scores[len(scores)-1].Score
	if n := sort.Search(len(scores), func(i int) bool { return scores[i].Score >= last }); len(scores) < most {
		d.last = strconv.FormatFloat(last, 'f', -1, 64)
	} else if n > 0 { // there may be more of the last score
		scores, d.last = scores[:n], strconv.FormatFloat(scores[n-1].Score, 'f', -1, 64)
	}
	ids := make([]string, len(scores))
	for i, z := range scores {
		ids[i] = z.Member
	}
	there, err := s.records(ctx, ids, &d, over)
	if there || over.items > 0 {
		d.last = ""
	}
	return d, err
}

// records adds what the ledger says of items, but for those of another form, and whether one of them was there
// still before it was asked: that one can have moved since. One that was gone by
// then can only have been made again, with another expiry time.
func (s *core) records(ctx context.Context, ids []string, d *lot, over *passed) (there bool, err error) {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = s.key(id)
	}
	raw := s.client.Raw()
	a := s.action("sweep", keywright.Reads, s.spec.Ledger, nil)
	records, err := kernel.Run(ctx, &a, func(ctx context.Context) kernel.Reply {
		results := raw.DoMulti(ctx, raw.B().Exists().Key(keys...).Build(),
			raw.B().Hmget().Key(s.spec.Ledger).Field(ids...).Build())
		n, failed := results[0].AsInt64()
		if there = n > 0; failed != nil {
			return results[0]
		}
		return results[1]
	}, func(r kernel.Reply) ([]kernel.Value, error) { return r.ToArray() })
	for i := range records {
		record, _ := records[i].ToString() // "": it is in no ledger
		if formed(record) {
			d.items = append(d.items, registration{ids[i], record})
		} else {
			over.add(ids[i])
		}
	}
	return there, err
}

// sweep takes items out of their indexes.
func (s *core) sweep(ctx context.Context, due []registration) (Swept, error) {
	keys := []string{s.spec.Expires, s.spec.Ledger}
	args := []string{strconv.Itoa(len(due))}
	for _, d := range due {
		keys = append(keys, s.key(d.id))
		args = append(args, d.id, d.record)
	}
	keys, args = s.dropAll(keys, args, due, func(i int) string { return strconv.Itoa(i + 1) })
	for i, d := range due {
		for events := s.expired(d.id, d.record); len(events) > 0; {
			n := size(events)
			args = append(args, strconv.Itoa(i+1))
			keys, args = appendEvent(keys, args, events[:n])
			events = events[n:]
		}
	}
	counts, err := s.sweepCall(ctx, s.scripts.sweep, keys, args)
	if err != nil {
		return Swept{}, err
	}
	return Swept{Gone: int(counts[0]), Lives: int(counts[1])}, nil
}

// sweepBatch sweeps a batch, in the cheap way if it is as it was believed to be.
func (s *core) sweepBatch(ctx context.Context, b lot) (Swept, error) {
	if b.last == "" || len(s.spec.OnExpire) > 0 {
		return s.sweep(ctx, b.items)
	}
	keys, args := []string{s.spec.Expires, s.spec.Ledger}, []string{strconv.Itoa(len(b.items)), b.last}
	for _, d := range b.items {
		keys, args = append(keys, s.key(d.id)), append(args, d.id)
	}
	keys, args = s.dropAll(keys, args, b.items, func(i int) string { return b.items[i].id })
	n, err := s.sweepCall(ctx, s.scripts.clear, keys, args)
	if err == nil && n[0] < 0 {
		return s.sweep(ctx, b.items)
	}
	if err != nil {
		return Swept{}, err
	}
	return Swept{Gone: int(n[0])}, nil
}

func (s *core) sweepCall(ctx context.Context, script *keywright.Script, keys, args []string) ([]int64, error) {
	a := s.action("sweep", keywright.Idempotent, s.spec.Expires, nil)
	counts, err := kernel.NewOp(kernel.Spec[[]int64]{Action: a, Script: script, Keys: keys, Args: args,
		Decode: func(r kernel.Reply) ([]int64, error) { return r.AsIntSlice() }}).Do(ctx)
	return counts, s.refused("", err)
}

// dropAll groups the entries of many items by index key: one command takes all of
// them out of it. name is how the script is told of one.
func (s *core) dropAll(keys, args []string, due []registration, name func(i int) string) (_, _ []string) {
	var order []entry
	members := map[entry][]string{}
	for i, d := range due {
		for _, e := range s.all(d.record) {
			if members[e] == nil {
				order = append(order, e)
			}
			members[e] = append(members[e], name(i))
		}
	}
	args = append(args, strconv.Itoa(len(order)))
	for _, e := range order {
		keys = append(keys, e.key)
		args = append(append(args, strconv.Itoa(len(members[e]))), members[e]...)
	}
	return keys, args
}

// sweepApart returns sweepAll where the keys are in several slots: it looks at what is
// due, by its expiry or by an intent whose owner is gone, and puts the indexes right.
// 4 round trips per batch.
func (s *core) sweepApart(ctx context.Context, turn *lease.Lease, o SweepOptions) (all swept, err error) {
	var over passed
	for ctx.Err() == nil {
		began, before := time.Now(), over.items
		its, wait, busy, err := s.takeOver(ctx, turn, o.batch(), &over)
		if err != nil || busy > 0 || over.items >= mostPassed || len(its) == 0 && over.items == before {
			all.Busy, all.next = busy, wait
			return all, errors.Join(err, s.passedOver(&over))
		}
		done, err := s.sweepThese(ctx, its)
		all.Gone, all.Lives = all.Gone+done.Gone, all.Lives+done.Lives
		if o.Swept != nil && err == nil {
			o.Swept(done)
		}
		if err != nil {
			return all, errors.Join(err, s.passedOver(&over))
		}
		pause(ctx, time.Duration(len(its))*time.Second/time.Duration(o.rate())-time.Since(began))
	}
	return all, ctx.Err()
}
