package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bench/costs"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/entity"
	"github.com/redis/rueidis"
)

// brief is the TTL of items that expire meanwhile.
const brief = time.Second

// remains describes what is left of items that have expired.
type remains struct{ ids, bytes int64 }

// left counts what the keys of one way hold: members of sets and fields of
// hashes that are no items.
func (f *field) left(ctx context.Context, empty int64) (r remains, err error) {
	for cursor := uint64(0); ; {
		page, err := f.Raw.Do(ctx, f.Raw.B().Scan().Cursor(cursor).Count(1000).Build()).AsScanEntry()
		if err != nil {
			return r, err
		}
		for _, key := range page.Elements {
			n, err := f.size(ctx, key)
			if r.ids += n; err != nil {
				return r, err
			}
		}
		if cursor = page.Cursor; cursor == 0 {
			break
		}
	}
	used, err := f.memory()
	r.bytes = used - empty
	return r, err
}

// size returns how many members or fields a key has.
func (f *field) size(ctx context.Context, key string) (int64, error) {
	kind, err := f.Raw.Do(ctx, f.Raw.B().Type().Key(key).Build()).ToString()
	count := map[string]string{"set": "SCARD", "zset": "ZCARD", "hash": "HLEN"}[kind]
	if err != nil || count == "" {
		return 0, err
	}
	return f.Raw.Do(ctx, f.Raw.B().Arbitrary(count).Keys(key).Build()).AsInt64()
}

func (f *field) memory() (int64, error) {
	info, err := f.server.Info("memory")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(info["used_memory"], 10, 64)
}

// expired waits until the server has removed the hashes of n items.
func (f *field) expired(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, f.limit, fmt.Errorf("%d items have not expired within %v", n, f.limit))
	defer cancel()
	err := live.Until(ctx, 100*time.Millisecond, func() (bool, error) {
		info, err := f.server.Info("stats")
		gone, _ := strconv.Atoi(info["expired_keys"])
		return gone >= n, err
	})
	return cmp.Or(context.Cause(ctx), err)
}

// leaks lets items expire, stored in both ways, and counts what is left of them.
func (f *field) leaks(ctx context.Context, out *report.Report) error {
	naive, _, err := f.leak(ctx, func(i int) error { t := itemOf(0, i, 0); return f.bare.create(ctx, &t, brief) }, nil)
	if err != nil {
		return err
	}
	ours, took, err := f.leak(ctx, f.dies(ctx),
		func() error { return turns.Err(f.ours.Sweep(ctx, entity.SweepOptions{})) })
	if err != nil {
		return err
	}
	t := out.Table(fmt.Sprintf("%d items expire: what is left of them", f.items), "contestant", "ids", "bytes", "sweep ms")
	t.Add("keywright, after one sweep", ours.ids, ours.bytes, took.Milliseconds())
	t.Add("naive MULTI, rueidis", naive.ids, naive.bytes, "")
	out.AtMost(0, float64(ours.ids), "stale ids after one sweep, keywright")
	out.AtLeast(float64(4*f.items), float64(naive.ids), "stale ids, naive (4 per item)")
	return nil
}

// dies creates an item that expires soon.
func (f *field) dies(ctx context.Context) func(i int) error {
	return func(i int) error {
		t := itemOf(i/1000, i, 0)
		return turns.Err(f.ours.Create(ctx, t.ID, t, keywright.ExpiresIn(brief)))
	}
}

func (f *field) leak(ctx context.Context, create func(i int) error, sweep func() error) (r remains, took time.Duration,
	err error) {
	if err = f.renew(ctx); err != nil {
		return r, 0, err
	}
	empty, err := f.memory()
	if err == nil {
		err = many(f.items, create)
	}
	if err == nil {
		err = f.expired(ctx, f.items)
	}
	if err == nil && sweep != nil {
		began := time.Now()
		err = sweep()
		took = time.Since(began)
	}
	if err == nil {
		r, err = f.left(ctx, empty)
	}
	return r, took, err
}

// cleaner represents one way to sweep.
type cleaner struct {
	name  string
	clean func(context.Context) (int, error)
}

// sweeps cleans up after many items at a rate and says what share of the
// server's core that takes.
func (f *field) sweeps(ctx context.Context, out *report.Report) error {
	at := func(rate int) func(context.Context) (int, error) {
		return func(ctx context.Context) (int, error) {
			done, err := f.ours.Sweep(ctx, entity.SweepOptions{Rate: rate})
			return done.Gone, err
		}
	}
	t := out.Table(fmt.Sprintf("%d expiries are swept", f.expiries),
		"contestant", "per second", "server CPU µs per item", "% of a core per 10,000/s", "idle % before")
	for i, way := range []cleaner{
		{"keywright, 10,000/s", at(10_000)}, {"by hand, looks at nothing, 10,000/s", f.blind(10_000)},
		{"keywright, at full speed", at(1_000_000)}, {"by hand, looks at nothing, at full speed", f.blind(1_000_000)},
	} {
		s, err := f.sweep(ctx, way.clean)
		if err != nil {
			return err
		}
		each := (s.cpu.Seconds() - s.idle*s.took.Seconds()) / float64(f.expiries) * 1e6
		t.Add(way.name, fmt.Sprintf("%.0f", float64(f.expiries)/s.took.Seconds()), fmt.Sprintf("%.2f", each),
			fmt.Sprintf("%.1f", each), fmt.Sprintf("%.2f", 100*s.idle))
		if i == 0 {
			out.AtMost(5, each, "sweeper, %% of a server core per 10,000 expiries/s")
		}
	}
	return nil
}

// blind takes expired items out of the same keys by plain commands that look at
// nothing: neither whether an item is back, nor what it was in (it is read all the
// same). That is the least that a sweep of them costs.
func (f *field) blind(rate int) func(context.Context) (int, error) {
	return func(ctx context.Context) (gone int, err error) {
		k, raw, batch := f.own, f.Raw, 200
		for ctx.Err() == nil {
			began := time.Now()
			ids, err := raw.Do(ctx, raw.B().Zrange().Key(k.expiry()).Min("0").Max(strconv.Itoa(batch-1)).Build()).AsStrSlice()
			if err == nil && len(ids) > 0 {
				err = f.removeAll(ctx, ids)
			}
			if err != nil || len(ids) == 0 {
				return gone, err
			}
			gone += len(ids)
			live.Pause(ctx, time.Duration(len(ids))*time.Second/time.Duration(rate)-time.Since(began))
		}
		return gone, ctx.Err()
	}
}

func (f *field) removeAll(ctx context.Context, ids []string) error {
	k, b := f.own, f.bare.B()
	ledger := k.prefix + "ledger"
	commands := []rueidis.Completed{b.Hmget().Key(ledger).Field(ids...).Build(),
		b.Hdel().Key(ledger).Field(ids...).Build(),
		b.Zremrangebyrank().Key(k.expiry()).Start(0).Stop(int64(len(ids) - 1)).Build()}
	sorted := map[string][]string{}
	for _, id := range ids {
		t, err := itemWith(id)
		if err != nil {
			return err
		}
		for _, index := range []string{k.kind(&t), k.context(t.Context), k.priority(&t)} {
			sorted[index] = append(sorted[index], id)
		}
	}
	for key, members := range sorted {
		commands = append(commands, b.Zrem().Key(key).Member(members...).Build())
	}
	for _, r := range f.bare.DoMulti(ctx, commands...) {
		if err := r.Error(); err != nil {
			return err
		}
	}
	return nil
}

type swept struct {
	took, cpu time.Duration
	idle      float64 // share of a core
}

// sweep lets items expire and measures how they are swept.
func (f *field) sweep(ctx context.Context, clean func(context.Context) (int, error)) (s swept, err error) {
	if err = f.renew(ctx); err != nil {
		return s, err
	}
	if err = many(f.expiries, f.dies(ctx)); err == nil {
		err = f.expired(ctx, f.expiries)
	}
	if err != nil {
		return s, err
	}
	var idle, used costs.Costs
	if err = idle.Count(f.server, func() error { live.Pause(ctx, time.Second); return nil }); err != nil {
		return s, err
	}
	err = used.Count(f.server, func() error {
		began := time.Now()
		gone, err := clean(ctx)
		s.took = time.Since(began)
		if err == nil && gone != f.expiries {
			err = fmt.Errorf("a sweep of %d items, not %d", gone, f.expiries)
		}
		return err
	})
	s.idle, s.cpu = idle.Server.Seconds(), used.Server
	return s, err
}
