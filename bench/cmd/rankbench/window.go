package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/ranking"
	"github.com/keywright/keywright/value"
	"github.com/redis/rueidis"
)

// top says how many rows a read wants.
const top = 100

const (
	oursKey = "bench:window"
	bareKey = "bench:bare"
)

var (
	today  = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	member = value.Int(1, 1<<62)
	score  = value.IntScore(0, 1<<53)
)

func dayKey(t time.Time) (string, error) { return "bench:sales:" + t.Format(time.DateOnly), nil }

func entry(name string, d time.Duration) *keywright.Entry {
	return &keywright.Entry{Name: name,
		TTL: keywright.TTL{Policy: keywright.Expires, Default: d, Min: d, Max: d, Text: d.String()}}
}

// days are the keys of the window, the newest first.
func (f *field) dayKeys() []string {
	keys := make([]string, f.days)
	for i := range keys {
		keys[i], _ = dayKey(ranking.Day.Add(today, -i))
	}
	return keys
}

func (f *field) fill(ctx context.Context) error {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, key := range f.dayKeys() {
		var commands []rueidis.Completed
		for from := 1; from <= f.members; from += 1000 {
			add := f.Raw.B().Arbitrary("ZADD").Keys(key)
			for m := from; m < min(from+1000, f.members+1); m++ {
				add = add.Args(strconv.Itoa(1+rnd.IntN(1000)), strconv.Itoa(m))
			}
			commands = append(commands, add.Build())
		}
		for _, r := range f.Raw.DoMulti(ctx, commands...) {
			if err := r.Error(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *field) view() (ranking.View[int64, int64], error) {
	var none ranking.View[int64, int64]
	b, err := ranking.New(keywright.Binding{Client: f.Client, Entry: entry("sales", 40*24*time.Hour)},
		ranking.Config[int64, int64]{
			Key: dayKey, Step: ranking.Day, Member: &member, Score: &score})
	if err != nil {
		return none, err
	}
	w, err := ranking.NewWindows(keywright.Binding{Entry: entry("window", time.Hour)}, b, ranking.WindowConfig[int64]{
		Key: func(time.Time) (string, error) { return oursKey, nil }, Score: &score, Weights: ranking.Same(f.days)})
	if err != nil {
		return none, err
	}
	return w.Ending(today), nil
}

func sized(n int, err error) error {
	if err == nil && n != top {
		err = fmt.Errorf("%d rows, not %d", n, top)
	}
	return err
}

func (f *field) ours(v ranking.View[int64, int64]) func(context.Context) error {
	return func(ctx context.Context) error {
		rows, err := v.Top(ctx, top)
		return sized(len(rows), err)
	}
}

// store returns the fairest bare command: the server keeps the union and sends the
// rows that are wanted. What it lacks is the rule for ties, and that it is one
// step.
func (f *field) store(ctx context.Context) error {
	b := f.Raw.B()
	results := f.Raw.DoMulti(ctx,
		b.Zunionstore().Destination(bareKey).Numkeys(int64(f.days)).Key(f.dayKeys()...).Build(),
		b.Pexpire().Key(bareKey).Milliseconds(3_600_000).Build(),
		b.Arbitrary("ZRANGE").Keys(bareKey).Args("0", strconv.Itoa(top-1), "REV", "WITHSCORES").Build())
	rows, err := results[2].AsZScores()
	return sized(len(rows), err)
}

// union returns the command that keeps nothing, and sends all members.
func (f *field) union(ctx context.Context) error {
	rows, err := f.Raw.Do(ctx, f.Raw.B().Zunion().Numkeys(int64(f.days)).Key(f.dayKeys()...).Withscores().Build()).
		AsZScores()
	if err == nil && len(rows) != f.members {
		err = fmt.Errorf("%d rows, not %d", len(rows), f.members)
	}
	return err
}

// window measures building and reading.
func (f *field) window(ctx context.Context, out *report.Report) error {
	v, err := f.view()
	if err != nil {
		return err
	}
	who := []turns.Contestant{contestant("keywright", f.ours(v)),
		contestant("rueidis ZUNIONSTORE + PEXPIRE + ZRANGE", f.store), contestant("rueidis ZUNION WITHSCORES", f.union)}
	runs, err := turns.Rounds(f.builds, who, func(c turns.Contestant) (time.Duration, error) {
		if err := f.Raw.Do(ctx, f.Raw.B().Del().Key(oursKey, bareKey).Build()).Error(); err != nil {
			return 0, err
		}
		began := time.Now()
		err := c.Do(ctx, 0, 0)
		return time.Since(began), err
	})
	if err != nil {
		return err
	}
	ms := func(took time.Duration) float64 { return took.Seconds() * 1000 }
	runs.Show(out, "Building a window and reading its top", "contestant", turns.Median("ms", "%.1f", ms),
		turns.Versus("÷ ZUNIONSTORE", "%.3f", ms, runs.All[1]).AtMost(1.1,
			"window built and read, keywright ÷ ZUNIONSTORE + PEXPIRE + ZRANGE"))
	return nil
}

// cached measures reading a window that is there, and what it sends.
func (f *field) cached(ctx context.Context, out *report.Report) error {
	v, err := f.view()
	if err != nil {
		return err
	}
	ours := f.ours(v)
	for _, do := range []func(context.Context) error{f.store, ours, ours} {
		if err := do(ctx); err != nil {
			return err
		}
	}
	bare := func(ctx context.Context) error {
		rows, err := f.Raw.Do(ctx,
			f.Raw.B().Arbitrary("ZRANGE").Keys(bareKey).Args("0", strconv.Itoa(top-1), "REV", "WITHSCORES").Build()).AsZScores()
		return sized(len(rows), err)
	}
	calls, err := f.calls(ctx, ours)
	if err != nil {
		return err
	}
	race := turns.Race{Title: "Reading the top of a cached window, reads/s", Callers: []int{1, 16}, By: 1,
		All: []turns.Contestant{contestant("keywright", ours), contestant("rueidis ZRANGE", bare)}}
	if err := race.Show(ctx, out, f.Rounds, f.Slice); err != nil {
		return err
	}
	out.AtMost(1, calls, "cached window, commands sent per read")
	return nil
}

// calls returns how many commands a client sends per read: the server counts scripts
// apart from what they call.
func (f *field) calls(ctx context.Context, do func(context.Context) error) (float64, error) {
	const times = 100
	before, err := f.server.Calls()
	if err != nil {
		return 0, err
	}
	for range times {
		if err := do(ctx); err != nil {
			return 0, err
		}
	}
	after, err := f.server.Calls()
	sent := int64(0)
	for _, name := range []string{"eval", "evalsha", "evalsha_ro", "eval_ro"} {
		sent += after[name] - before[name]
	}
	if unions := after["zunionstore"] - before["zunionstore"]; unions != 0 {
		err = fmt.Errorf("a cached window was built %d times", unions)
	}
	return float64(sent) / times, err
}
