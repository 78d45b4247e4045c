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
	calls        float64         // per acquisition
	commands     float64
}

// settle is the time that waiters get to begin waiting.
const settle = 250 * time.Millisecond

// drain lets all waiters wait for a held lock, gives that back, and lets each have it
// once.
func drain(ctx context.Context, server *live.Server, who contestant, o options) (s shot, err error) {
	c, err := openCrowd(ctx, server, who, o)
	defer c.close()
	if err != nil {
		return s, err
	}
	before, err := c.traffic()
	if err != nil {
		return s, err
	}
	if err := c.holder.lock(ctx); err != nil {
		return s, err
	}
	waiting, cancel := context.WithTimeout(ctx, settle+o.limit)
	defer cancel()
	turnsOf := c.queue(ctx, waiting, o)
	wait(ctx, settle)
	released := time.Now()
	if err := c.holder.unlock(ctx); err != nil {
		return s, err
	}
	s, err = sum(<-turnsOf, released)
	if err != nil {
		return s, err
	}
	after, err := c.traffic()
	locks := float64(len(s.waits) + 1) // and the holder's
	s.calls, s.commands = float64(after.calls-before.calls)/locks, float64(after.commands-before.commands)/locks
	if err == nil {
		err = c.exclusive()
	}
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

func (c *crowd) queue(ctx, waiting context.Context, o options) <-chan []turn {
	out := make(chan []turn, 1)
	go func() {
		all := make([]turn, o.clients*o.waiters)
		c.each(func(client, waiter int, m mutex) {
			t := &all[client*o.waiters+waiter]
			if t.err = m.lock(waiting); t.err != nil {
				if waiting.Err() != nil {
					t.err = nil // not an error: never served
				}
				return
			}
			t.from, t.served = time.Now(), true
			t.held, t.err = c.hold(ctx, m, o.hold)
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

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// oneShot drains everybody's queue in turns.
func oneShot(ctx context.Context, server *live.Server, o options) ([]report.Table, []report.Goal, error) {
	all := queueing()
	shots := make([][]shot, len(all))
	for round := range o.shots {
		for turn := range all {
			i := (turn + round) % len(all)
			s, err := drain(ctx, server, all[i], o)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", all[i].name, err)
			}
			shots[i] = append(shots[i], s)
		}
	}
	t := report.Table{Title: fmt.Sprintf("One-shot: %d clients × %d waiters, hold %v, of a lock that is then given back",
		o.clients, o.waiters, o.hold),
		Columns: []string{"contestant", "drain ms", "÷ ideal", "wait p50 ms", "p99 ms", "calls per lock",
			"server commands per lock", "never served"}}
	var goals []report.Goal
	for i, who := range all {
		f := figuresOf(shots[i])
		t.Add(who.name, millis(f.drain), fmt.Sprintf("%.2f", f.ideal), millis(f.p50), millis(f.p99),
			fmt.Sprintf("%.1f", f.calls), fmt.Sprintf("%.1f", f.commands), f.never)
		if i == 0 {
			goals = f.goals()
		}
	}
	return []report.Table{t}, goals, nil
}

type figures struct {
	drain, p50, p99        time.Duration
	ideal, calls, commands float64
	never                  int
}

// figuresOf takes the median of every figure over the rounds, and the sum of
// those that were never served.
func figuresOf(shots []shot) (f figures) {
	var drains, p50, p99 []time.Duration
	var ideal, calls, commands []float64
	for _, s := range shots {
		drains, ideal = append(drains, s.drain), append(ideal, s.drain.Seconds()/s.ideal.Seconds())
		p50, p99 = append(p50, turns.Percentile(s.waits, 0.5)), append(p99, turns.Percentile(s.waits, 0.99))
		calls, commands = append(calls, s.calls), append(commands, s.commands)
		f.never += s.never
	}
	f.drain, f.p50, f.p99 = turns.Median(drains), turns.Median(p50), turns.Median(p99)
	f.ideal, f.calls, f.commands = turns.Median(ideal), turns.Median(calls), turns.Median(commands)
	return f
}

func (f figures) goals() []report.Goal {
	return []report.Goal{
		{What: "one-shot, keywright, drain ÷ ideal", Value: f.ideal, Bound: 1.3},
		{What: "one-shot, keywright, calls per lock", Value: f.calls, Bound: 2},
		{What: "one-shot, keywright, server commands per lock", Value: f.commands, Bound: 10},
		{What: "one-shot, keywright, waiters never served", Value: float64(f.never), Bound: 0},
	}
}

func millis(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/1e6) }
