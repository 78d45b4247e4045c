package kernel

import (
	"context"
	"log/slog"
	"sync"

	"github.com/keywright/keywright/notice"
)

// Notice represents something that happened to a construct or a connection.
type Notice = notice.Notice

// heard lists the notices that a logger writes down, as a warning. The rest is for
// hooks: a normal start, a day of work and a normal stop write nothing.
var heard = map[notice.Kind]string{
	notice.JobDead:     "a job is dead",
	notice.DeadLetter:  "a message is a dead letter",
	notice.JobLost:     "a job was lost: another worker may run it",
	notice.MessageLost: "a message was lost: another consumer may handle it",
	notice.LockLost:    "a lock was lost",
	notice.LeaseLost:   "a lease was lost: another process may act",
	notice.Reconnected: "a lost connection was made again",

	notice.ChannelRefused: "the login may not subscribe to a channel any more",
}

// Noticed reports whether a notice of this kind goes to a hook or the
// logger. It is for constructs: where it is false a notice need not be made.
func (c *Client) Noticed(kind notice.Kind) bool {
	return c.noticing || c.log != nil && heard[kind] != ""
}

// Notice gives a notice to all hooks, and writes one line to the logger if its
// kind is one that people must see. One without a kind is none. The hooks get the values of ctx, but not its end:
// what it is about may have ended together with it. It is for constructs.
func (c *Client) Notice(ctx context.Context, n Notice) {
	if n.Kind == "" || !c.Noticed(n.Kind) {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if c.noticing {
		for _, h := range c.hooks {
			if h.Notice != nil {
				h.Notice(ctx, n)
			}
		}
	}
	message := heard[n.Kind]
	if c.log == nil || message == "" {
		return
	}
	attrs := make([]slog.Attr, 0, 4)
	if n.Entry != "" {
		attrs = append(attrs, slog.String("entry", n.Entry))
	}
	if n.Elapsed > 0 {
		attrs = append(attrs, slog.Duration("elapsed", n.Elapsed))
	}
	if n.Dropped > 0 {
		attrs = append(attrs, slog.Int("not_told", n.Dropped))
	}
	if n.Err != nil {
		attrs = append(attrs, slog.String("error", loggable(n.Err)))
	}
	c.log.LogAttrs(ctx, slog.LevelWarn, message, attrs...)
}

// maxWaiting says how many notices of connections may wait for a slow hook. Then the oldest are
// dropped: the newest says how it is now. The next one that is delivered has their number in Dropped.
const maxWaiting = 100

// connections tells of connections in the order in which it happened. It is called by the
// goroutines that read them, which no hook may hold up.
type connections struct {
	client *Client

	mu      sync.Mutex
	waiting []Notice
	dropped int // before the first that waits
	telling bool
}

func (x *connections) tell(n Notice) {
	if !x.client.Noticed(n.Kind) {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.waiting) >= maxWaiting {
		x.waiting = x.waiting[1:]
		x.dropped++
	}
	x.waiting = append(x.waiting, n)
	if !x.telling {
		x.telling = true
		go x.drain()
	}
}

// drain ends when none is waiting.
func (x *connections) drain() {
	for {
		x.mu.Lock()
		if len(x.waiting) == 0 {
			x.telling = false
			x.mu.Unlock()
			return
		}
		n := x.waiting[0]
		n.Dropped, x.dropped = x.dropped, 0
		x.waiting = x.waiting[1:]
		x.mu.Unlock()
		x.client.Notice(x.client.life, n)
	}
}
