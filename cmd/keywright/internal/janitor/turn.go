package janitor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/lease"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keyspace"
)

// The keys of the janitor on a server. The one is a lease, the other a hash of what was done when.
const (
	TurnKey = keyspace.JanitorKeys + "turn"
	DoneKey = keyspace.JanitorKeys + "done"
)

const (
	turnFor = 15 * time.Second     // how long a killed program keeps others from its jobs
	doneFor = 400 * 24 * time.Hour // how long it is known when a job was done
)

// ServerTurn represents the turn on a server.
type ServerTurn struct {
	Client func(context.Context) (*keywright.Client, error)
	Of     string // other declarations on the server
}

// Take implements Turn.
func (t *ServerTurn) Take(ctx context.Context, job string, due, now time.Time) (held context.Context,
	end func(bool, time.Time), err error) {
	c, err := t.Client(ctx)
	if err != nil {
		return nil, nil, &Wait{Away, err.Error()}
	}
	l := lease.New(c, TurnKey, turnFor, lease.Options{})
	term, err := l.Acquire(ctx)
	if busy, ok := errors.AsType[*lease.BusyError](err); ok {
		return nil, nil, &Wait{Elsewhere, "jobs of this server are done by " + busy.Owner}
	}
	if err != nil {
		return nil, nil, &Wait{Away, "the turn cannot be taken: " + err.Error()}
	}
	held, stop := l.Hold(ctx, term)
	back := func() {
		stop()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = l.Release(last)
	}
	field := t.Of + "/" + job
	raw := c.Raw()
	text, err := raw.Do(ctx, raw.B().Hget().Key(DoneKey).Field(field).Build()).ToString()
	if err != nil && !kernel.IsNil(err) {
		back()
		return nil, nil, &Wait{Away, fmt.Sprintf("%s cannot be read: %v", DoneKey, err)}
	}
	at, before := doneOf(text)
	if !at.IsZero() && !at.Before(due) {
		back()
		return nil, nil, &Done{before}
	}
	return held, func(done bool, good time.Time) {
		if done {
			if good.IsZero() {
				good = before
			}
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			for _, one := range raw.DoMulti(last,
				raw.B().Hset().Key(DoneKey).FieldValue().FieldValue(field, doneText(now, good)).Build(),
				raw.B().Pexpire().Key(DoneKey).Milliseconds(doneFor.Milliseconds()).Build()) {
				_ = one.Error() // the turn ends: another program may do the job again, which is as once
			}
		}
		back()
	}, nil
}

// doneText is what the hash has of a job: when it was done, by whom, and when it was done well; 0: it never was.
func doneText(at, good time.Time) string {
	return fmt.Sprintf("%d %s %d", at.UnixMilli(), lease.Process(), max(good.UnixMilli(), 0))
}

// doneOf reads doneText, and what programs of before wrote: they did not say when it was done well.
func doneOf(text string) (at, good time.Time) {
	words := strings.Fields(text)
	for i, to := range map[int]*time.Time{0: &at, 2: &good} {
		if i >= len(words) {
			continue
		}
		if ms, err := strconv.ParseInt(words[i], 10, 64); err == nil && ms > 0 {
			*to = time.UnixMilli(ms)
		}
	}
	return at, good
}

// Limits say when a server is left alone.
type Limits struct {
	Memory  int           // percent of maxmemory
	Latency time.Duration // of a PING; 0: any
}

// pings says how many PINGs are sent: the quickest counts.
const pings = 5

// Ready looks at a server, and says with a *Wait why it is left alone now. A job that frees
// memory is done also where that is short.
func Ready(ctx context.Context, c *keywright.Client, j *keyspace.Job, limits Limits) error {
	nodes, err := c.Primaries(ctx)
	if err != nil {
		return &Wait{Away, err.Error()}
	}
	for address, node := range nodes {
		text, err := node.Do(ctx, node.B().Info().Section("memory").Build()).ToString()
		if err != nil {
			return &Wait{Away, address + ": " + err.Error()}
		}
		if used, most := infoNumber(text, "used_memory"),
			infoNumber(text, "maxmemory"); most > 0 && !frees[j.Do] && used*100 >= most*int64(limits.Memory) {
			return &Wait{Memory,
				fmt.Sprintf("%s uses %d%% of its memory, and the job waits from %d%% on", address, used*100/most, limits.Memory)}
		}
		best := time.Duration(1<<63 - 1)
		for range pings {
			began := time.Now()
			if err := node.Do(ctx, node.B().Ping().Build()).Error(); err != nil {
				return &Wait{Away, address + ": " + err.Error()}
			}
			best = min(best, time.Since(began))
		}
		if limits.Latency > 0 && best > limits.Latency {
			return &Wait{Load, fmt.Sprintf("%s needs %s to answer a PING, and the job waits above %s", address,
				best.Round(time.Microsecond), limits.Latency)}
		}
	}
	return nil
}

// frees lists the works that free memory.
var frees = map[keyspace.Work]bool{keyspace.WorkClean: true, keyspace.WorkSweep: true}

// infoNumber returns a number in the text of INFO.
func infoNumber(text, name string) int64 {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			n, _ := strconv.ParseInt(value, 10, 64)
			return n
		}
	}
	return 0
}
