// Package upkeep keeps the indexes of an entity right: it sweeps items that have expired, compares items with their
// entries, and builds and removes indexes while programs of any version write. It is no part of a write or a reading.
package upkeep

import (
	"cmp"
	"context"
	"errors"
	"sort"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/indexrecord"
	"github.com/keywright/keywright/entity/internal/crossslot"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/entity/maintenance"
	"github.com/keywright/keywright/internal/lease"
	"github.com/keywright/keywright/kernel"
)

// rate returns how many items or keys are looked at in a second; 0 asks for the default.
func rate(asked int) int { return cmp.Or(asked, 20_000) }

// batch returns how many items a script takes.
func batch(o *maintenance.SweepOptions) int { return min(cmp.Or(o.Batch, 200), 250) }

// Sweep sweeps all that is due: see entity.Store.Sweep.
func Sweep(ctx context.Context, s *itemkeys.Keys, o maintenance.SweepOptions) (maintenance.Swept, error) {
	turn := Turn(s, o)
	done, err := sweepAll(ctx, s, turn, o)
	return done.Swept, errors.Join(err, turn.Release(ctx))
}

// Sweeper sweeps until ctx ends: see entity.Store.Sweeper.
func Sweeper(ctx context.Context, s *itemkeys.Keys, o maintenance.SweepOptions, failed func(error)) {
	ctx, end := s.Client.While(ctx)
	defer end()
	turn, every := Turn(s, o), cmp.Or(o.Every, time.Second)
	for ctx.Err() == nil {
		done, err := sweepAll(ctx, s, turn, o)
		wait := min(cmp.Or(done.Busy, done.next, every), every)
		if err != nil && ctx.Err() == nil {
			if wait = every; failed != nil {
				failed(err)
			}
		}
		itemkeys.Pause(ctx, wait)
	}
	_ = turn.Release(context.WithoutCancel(ctx)) // else it ends by itself
}

// swept is Swept, and how long until the next item is due; 0: unknown.
type swept struct {
	maintenance.Swept
	next time.Duration
}

// Turn returns the lease of the sweep, not taken yet.
func Turn(s *itemkeys.Keys, o maintenance.SweepOptions) *lease.Lease {
	return lease.New(s.Client, s.Spec.Lease, max(cmp.Or(o.Lease, 5*time.Second), time.Millisecond),
		lease.Options{Entry: s.Entry, Err: s.Err})
}

func sweepAll(ctx context.Context, s *itemkeys.Keys, turn *lease.Lease,
	o maintenance.SweepOptions) (all swept, err error) {
	defer turn.Rest()
	if s.CrossSlot {
		return sweepCrossSlot(ctx, s, turn, o)
	}
	var over itemkeys.PassedOver
	for idle := 0; ctx.Err() == nil; {
		began, before := time.Now(), over.Items
		due, wait, busy, err := Due(ctx, s, turn, perScript(s, batch(&o)), &over)
		if err != nil || busy > 0 || over.Items >= itemkeys.MostPassed || len(due.Items) == 0 && over.Items == before {
			all.Busy, all.next = busy, wait
			return all, errors.Join(err, s.PassedError(&over))
		}
		if len(due.Items) == 0 {
			continue
		}
		done, err := SweepBatch(ctx, s, due)
		all.Gone, all.Lives = all.Gone+done.Gone, all.Lives+done.Lives
		if o.Swept != nil && err == nil {
			o.Swept(done)
		}
		if done.Gone+done.Lives > 0 {
			idle = 0
		} else if idle++; err != nil || idle == 3 {
			return all, errors.Join(err, s.PassedError(&over))
		} // else others were faster, or a reply was lost: what is left is looked at again
		itemkeys.Pause(ctx, time.Duration(len(due.Items))*time.Second/time.Duration(rate(o.Rate))-time.Since(began))
	}
	return all, ctx.Err()
}

// MostDropped bounds how many entries of indexes, and events, one script of a sweep is
// about: it takes out each item's one by one, and holds up the server while it runs.
const MostDropped = 1500

// perScript returns how many items are swept by one script: fewer where each is in many
// indexes, or is announced in many places.
func perScript(s *itemkeys.Keys, batch int) int {
	return max(min(batch, MostDropped/max(len(s.Spec.Indexes)+3*len(s.Spec.OnExpire), 1)), 1)
}

// Due takes the lease and looks for what has expired, past what it has passed over.
func Due(ctx context.Context, s *itemkeys.Keys, turn *lease.Lease, batch int,
	over *itemkeys.PassedOver) (d ExpiredBatch,
	next, busy time.Duration, err error) {
	if s.Spec.Expires == "" {
		return d, time.Hour, 0, s.Err
	}
	sweeper, ttl := turn.Args()
	all, err := s.Run(ctx, "sweep", s.Scripts.Due, keywright.Idempotent, []string{s.Spec.Expires, s.Spec.Lease},
		sweeper, ttl)
	if err != nil {
		return d, 0, 0, err
	}
	next, busy = itemkeys.Millis(all[1]), itemkeys.Millis(all[0])
	turn.Took(ctx, busy == 0)
	if all[1] != "0" {
		return d, next, busy, nil
	}
	d, err = ReadExpired(ctx, s, all[2], batch, over)
	return d, 0, 0, err
}

// ExpiredBatch is items that are to be swept.
type ExpiredBatch struct {
	Items []itemkeys.Registration
	Last  string // they are all whose score in the expiry zset is at most this; "" if that is not known
}

// ReadExpired reads what expired before a moment, with plain commands: through a script
// every id would cost the server twice.
func ReadExpired(ctx context.Context, s *itemkeys.Keys, now string, most int,
	over *itemkeys.PassedOver) (d ExpiredBatch, err error) {
	raw := s.Client.Raw()
	a := s.Action("sweep", keywright.Reads, s.Spec.Expires, nil)
	scores, err := kernel.Run(ctx, &a, func(ctx context.Context) kernel.Reply {
		return raw.Do(ctx,
			raw.B().Zrange().Key(s.Spec.Expires).Min("-inf").Max("("+now).Byscore().Limit(int64(over.Items), int64(most)).
				Withscores().Build())
	}, func(r kernel.Reply) ([]kernel.ZScore, error) { return r.AsZScores() })
	if err != nil || len(scores) == 0 {
		return d, err
	}
	last := scores[len(scores)-1].Score
	if n := sort.Search(len(scores), func(i int) bool { return scores[i].Score >= last }); len(scores) < most {
		d.Last = strconv.FormatFloat(last, 'f', -1, 64)
	} else if n > 0 { // there may be more of the last score
		scores, d.Last = scores[:n], strconv.FormatFloat(scores[n-1].Score, 'f', -1, 64)
	}
	ids := make([]string, len(scores))
	for i, z := range scores {
		ids[i] = z.Member
	}
	there, err := records(ctx, s, ids, &d, over)
	if there || over.Items > 0 {
		d.Last = ""
	}
	return d, err
}

// records adds the index records of items, but for those of another form, and reports whether one of the items was
// there still before that: it can have moved since. One that was missing by
// then can only have been made again, with another expiry time.
func records(ctx context.Context, s *itemkeys.Keys, ids []string, d *ExpiredBatch,
	over *itemkeys.PassedOver) (there bool, err error) {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = s.Key(id)
	}
	raw := s.Client.Raw()
	a := s.Action("sweep", keywright.Reads, s.Spec.Records, nil)
	records, err := kernel.Run(ctx, &a, func(ctx context.Context) kernel.Reply {
		results := raw.DoMulti(ctx, raw.B().Exists().Key(keys...).Build(),
			raw.B().Hmget().Key(s.Spec.Records).Field(ids...).Build())
		n, failed := results[0].AsInt64()
		if there = n > 0; failed != nil {
			return results[0]
		}
		return results[1]
	}, func(r kernel.Reply) ([]kernel.Value, error) { return r.ToArray() })
	for i := range records {
		record, _ := records[i].ToString() // "": it has no index record
		if indexrecord.Formed(record) {
			d.Items = append(d.Items, itemkeys.Registration{ID: ids[i], Record: record})
		} else {
			over.Add(ids[i])
		}
	}
	return there, err
}

// SweepRecords takes items out of their indexes.
func SweepRecords(ctx context.Context, s *itemkeys.Keys, due []itemkeys.Registration) (maintenance.Swept, error) {
	keys := []string{s.Spec.Expires, s.Spec.Records}
	args := []string{strconv.Itoa(len(due))}
	for _, d := range due {
		keys = append(keys, s.Key(d.ID))
		args = append(args, d.ID, d.Record)
	}
	keys, args = dropAll(s, keys, args, due, func(i int) string { return strconv.Itoa(i + 1) })
	for i, d := range due {
		for events := s.ExpiredEvents(d.ID, d.Record); len(events) > 0; {
			n := itemkeys.Size(events)
			args = append(args, strconv.Itoa(i+1))
			keys, args = itemkeys.AppendEvent(keys, args, events[:n])
			events = events[n:]
		}
	}
	counts, err := sweepCall(ctx, s, s.Scripts.Sweep, keys, args)
	if err != nil {
		return maintenance.Swept{}, err
	}
	return maintenance.Swept{Gone: int(counts[0]), Lives: int(counts[1])}, nil
}

// SweepBatch sweeps a batch, in the cheap way if it is as it was believed to be.
func SweepBatch(ctx context.Context, s *itemkeys.Keys, b ExpiredBatch) (maintenance.Swept, error) {
	if b.Last == "" || len(s.Spec.OnExpire) > 0 {
		return SweepRecords(ctx, s, b.Items)
	}
	keys, args := []string{s.Spec.Expires, s.Spec.Records}, []string{strconv.Itoa(len(b.Items)), b.Last}
	for _, d := range b.Items {
		keys, args = append(keys, s.Key(d.ID)), append(args, d.ID)
	}
	keys, args = dropAll(s, keys, args, b.Items, func(i int) string { return b.Items[i].ID })
	n, err := sweepCall(ctx, s, s.Scripts.Clear, keys, args)
	if err == nil && n[0] < 0 {
		return SweepRecords(ctx, s, b.Items)
	}
	if err != nil {
		return maintenance.Swept{}, err
	}
	return maintenance.Swept{Gone: int(n[0])}, nil
}

func sweepCall(ctx context.Context, s *itemkeys.Keys, script *keywright.Script, keys, args []string) ([]int64, error) {
	a := s.Action("sweep", keywright.Idempotent, s.Spec.Expires, nil)
	counts, err := kernel.NewOp(kernel.Spec[[]int64]{Action: a, Script: script, Keys: keys, Args: args,
		Decode: func(r kernel.Reply) ([]int64, error) { return r.AsIntSlice() }}).Do(ctx)
	return counts, s.FormError("", err)
}

// dropAll groups the entries of many items by index key: one command takes all of
// them out of it. name returns the argument of the script for one.
func dropAll(s *itemkeys.Keys, keys, args []string, due []itemkeys.Registration, name func(i int) string) (_,
	_ []string) {
	var order []itemkeys.Entry
	members := map[itemkeys.Entry][]string{}
	for i, d := range due {
		for _, e := range s.AllEntries(d.Record) {
			if members[e] == nil {
				order = append(order, e)
			}
			members[e] = append(members[e], name(i))
		}
	}
	args = append(args, strconv.Itoa(len(order)))
	for _, e := range order {
		keys = append(keys, e.Key)
		args = append(append(args, strconv.Itoa(len(members[e]))), members[e]...)
	}
	return keys, args
}

// sweepCrossSlot returns sweepAll where the keys are in several slots: it looks at what is
// due, by its expiry or by an intent whose owner is gone, and puts the indexes right.
// 4 round trips per batch.
func sweepCrossSlot(ctx context.Context, s *itemkeys.Keys, turn *lease.Lease,
	o maintenance.SweepOptions) (all swept, err error) {
	var over itemkeys.PassedOver
	for ctx.Err() == nil {
		began, before := time.Now(), over.Items
		its, wait, busy, err := crossslot.TakeOver(ctx, s, turn, batch(&o), &over)
		if err != nil || busy > 0 || over.Items >= itemkeys.MostPassed || len(its) == 0 && over.Items == before {
			all.Busy, all.next = busy, wait
			return all, errors.Join(err, s.PassedError(&over))
		}
		done, err := crossslot.SweepIntents(ctx, s, its)
		all.Gone, all.Lives = all.Gone+done.Gone, all.Lives+done.Lives
		if o.Swept != nil && err == nil {
			o.Swept(done)
		}
		if err != nil {
			return all, errors.Join(err, s.PassedError(&over))
		}
		itemkeys.Pause(ctx, time.Duration(len(its))*time.Second/time.Duration(rate(o.Rate))-time.Since(began))
	}
	return all, ctx.Err()
}
