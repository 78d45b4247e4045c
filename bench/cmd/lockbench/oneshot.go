package main

import (
	"context"
	"fmt"
	"time"

	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/lock"
)

// queueing takes part where waiters wait.
func queueing() []contestant {
	return []contestant{ours("keywright, fair", lock.Fair), withRedsync("redsync", 16, 0),
		withRedsync("redsync, every 5 ms", 16, 5*time.Millisecond),
		withRedislock("redislock, every 50 ms", 16, 50*time.Millisecond),
		withRedislock("redislock, every 5 ms", 16, 5*time.Millisecond), withRueidislock()}
}

// shot represents one drain of a full queue.
type shot struct {
	drain, ideal time.Duration
	waits        []time.Duration // from the release to each waiter's turn
	never        int             // waiters who had no turn within the limit
	traffic                      // per acquisition
}

// settle is the time that waiters get to begin waiting.
const settle = 250 * time.Millisecond

// drain lets all waiters wait for a held lock, gives that back, and lets each have it
// once.
func (f *field) drain(ctx context.Context, who contestant) (s shot, err error) {
	c, err := f.openCrowd(ctx, who)
	defer c.close()
	if err != nil {
		return s, err
	}
	t, err := c.traffic(func() error {
		if err := c.holder.lock(ctx); err != nil {
			return err
		}
		waiting, cancel := context.WithTimeout(ctx, settle+f.limit)
		defer cancel()
		turnsOf := c.queue(ctx, waiting)
		live.Pause(ctx, settle)
		released := time.Now()
		if err := c.holder.unlock(ctx); err != nil {
			return err
		}
		s, err = sum(<-turnsOf, released)
		return err
	})
	s.traffic = t.per(len(s.waits) + 1) // and the holder's
	return s, err
}

// turn represents one waiter's: when it had the lock, for how long, and when it had given
// it back.
type turn struct {
	from, to time.Time
	held     time.Duration
	served   bool
	err      error
}

func (c *crowd) queue(ctx, waiting context.Context) <-chan []turn {
	out := make(chan []turn, 1)
	go func() {
		all := make([]turn, c.f.clients*c.f.waiters)
		c.each(func(client, waiter int, m mutex) {
			t := &all[client*c.f.waiters+waiter]
			if t.err = m.lock(waiting); t.err != nil {
				if waiting.Err() != nil {
					t.err = nil // not an error: never served
				}
				return
			}
			t.from, t.served = time.Now(), true
			t.held, t.err = c.hold(ctx, m)
			t.to = time.Now()
		})
		out <- all
	}()
	return out
}

func sum(all []turn, released time.Time) (s shot, err error) {
	for _, t := range all {
		switch {
		case t.err != nil:
			return s, t.err
		case !t.served:
			s.never++
		default:
			s.waits = append(s.waits, t.from.Sub(released))
			s.ideal += t.held
			s.drain = max(s.drain, t.to.Sub(released))
		}
	}
	return s, nil
}

// oneShot drains everybody's queue in turns.
func (f *field) oneShot(ctx context.Context, out *report.Report) error {
	title := fmt.Sprintf("One-shot: %d clients × %d waiters, hold %v, of a lock that is then given back", f.clients,
		f.waiters, f.hold)
	return turns.Compare(out, title, f.shots, queueing(),
		func(who contestant) (shot, error) { return f.drain(ctx, who) }, shotFigures...)
}

// shotFigures lists what there is to say of shots: medians, and the sum of those that were never served.
var shotFigures = []turns.Figure[shot]{
	turns.Median("drain ms", "%.1f", func(s shot) float64 { return millis(s.drain) }),
	turns.Median("÷ ideal", "%.2f", func(s shot) float64 { return s.drain.Seconds() / s.ideal.Seconds() }).
		AtMost(1.3, "one-shot, keywright, drain ÷ ideal"),
	turns.Median("wait p50 ms", "%.1f", func(s shot) float64 { return millis(turns.Percentile(s.waits, 0.5)) }),
	turns.Median("p99 ms", "%.1f", func(s shot) float64 { return millis(turns.Percentile(s.waits, 0.99)) }),
	turns.Median("calls per lock", "%.1f", func(s shot) float64 { return s.calls }).
		AtMost(2, "one-shot, keywright, calls per lock"),
	turns.Median("server commands per lock", "%.1f", func(s shot) float64 { return s.commands }).
		AtMost(10, "one-shot, keywright, server commands per lock"),
	turns.Sum("never served", "%.0f", func(s shot) float64 { return float64(s.never) }).
		AtMost(0, "one-shot, keywright, waiters never served"),
}

func millis(d time.Duration) float64 { return float64(d) / 1e6 }
