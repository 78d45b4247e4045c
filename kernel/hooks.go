package kernel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright/kernel/notice"
)

// Call represents one operation as hooks see it. It has the names of the declaration and
// never a key or a value.
type Call struct {
	Entry string // "product_detail", "" for operations without one
	Op    string // "get", "set", "batch" …
	Write bool
	Size  int // operations in a batch or transaction, else 1
}

// Outcome describes how a call ended.
type Outcome struct {
	Elapsed  time.Duration // over all attempts
	Attempts int
	Err      error // nil, ErrNotFound, an *Error or *DecodeError, or what the function of a transaction returned
}

// Kind returns the outcome in a word or two: "ok", "not found", "decode", the class of
// the error, or "caller" for an error that the function of a transaction returned.
func (o Outcome) Kind() string {
	switch {
	case o.Err == nil:
		return "ok"
	case o.Err == ErrNotFound:
		return "not found"
	}
	if class, ok := ClassOf(o.Err); ok {
		return class.String()
	}
	if _, ok := errors.AsType[*DecodeError](o.Err); ok {
		return "decode"
	}
	return "caller"
}

// Hook is called around every operation. Start may return a context of its own
// (with a span in it, say) that the operation then runs under; Done gets the
// same context. They are called by the goroutine of the caller. Notice is called
// for what happens to constructs, by a goroutine of the constructs. Each may be nil, and
// should be quick.
type Hook struct {
	Start  func(ctx context.Context, call Call) context.Context
	Done   func(ctx context.Context, call Call, outcome Outcome)
	Notice func(ctx context.Context, notice Notice)
}

// observed represents a call under way: what the hooks need at its end.
type observed struct {
	c     *Client
	ctx   context.Context
	call  Call
	began time.Time
}

// Observed reports whether hooks or a logger want to know of operations. It is for
// typed handles.
func (c *Client) Observed() bool { return len(c.hooks) > 0 || c.talks }

// observe begins a call. Without hooks and logger it costs two comparisons.
func (c *Client) observe(ctx context.Context, call Call) observed {
	o := observed{c: c, ctx: ctx, call: call}
	if !c.Observed() {
		return o
	}
	o.began = c.now()
	for _, h := range c.hooks {
		if h.Start != nil {
			o.ctx = h.Start(o.ctx, call)
		}
	}
	return o
}

func (o observed) done(attempts int, err error) {
	if o.began.IsZero() {
		return
	}
	outcome := Outcome{Elapsed: o.c.now().Sub(o.began), Attempts: attempts, Err: err}
	for i := len(o.c.hooks) - 1; i >= 0; i-- {
		if h := o.c.hooks[i]; h.Done != nil {
			h.Done(o.ctx, o.call, outcome)
		}
	}
	o.c.logOutcome(o.ctx, o.call, outcome)
}

func (c *Client) logOutcome(ctx context.Context, call Call, o Outcome) {
	if !c.talks {
		return
	}
	if o.Err == nil || o.Err == ErrNotFound {
		c.log.DebugContext(ctx, "keyspace operation", "entry", call.Entry, "op", call.Op, "elapsed", o.Elapsed, "attempts",
			o.Attempts, "found", o.Err == nil)
		return
	}
	kind := o.Kind()
	// It knows, and its text may hold anything. One that has closed the client knows, too.
	if kind == "caller" || errors.Is(o.Err, ErrClosed) {
		c.log.DebugContext(ctx, "keyspace operation ended by its caller", "entry", call.Entry, "op", call.Op, "elapsed",
			o.Elapsed, "attempts", o.Attempts)
		return
	}
	c.log.WarnContext(ctx, "keyspace operation failed", "entry", call.Entry, "op", call.Op, "elapsed", o.Elapsed,
		"attempts", o.Attempts, "class", kind, "error", loggable(o.Err))
}

// loggable returns an error without what a log must not hold: the key of a
// DecodeError. Error replies of a server may quote arguments of a script, so of
// those only the code is logged.
func loggable(err error) string {
	switch e := err.(type) {
	case interface{ Unwrap() []error }: // of a batch
		all := e.Unwrap()
		if len(all) == 0 {
			return ""
		}
		text := loggable(all[0])
		if len(all) > 1 {
			text += fmt.Sprintf(", and %d more", len(all)-1)
		}
		return text
	case *DecodeError:
		return e.Entry + " does not decode"
	case *Error:
		if word := refusal(e.Err); word != "" {
			return strings.TrimSpace(word + " " + e.Command)
		}
	}
	return err.Error()
}

// unheard counts the errors that no caller gets, and when the last one was logged.
type unheard struct {
	at      atomic.Int64 // in ms
	dropped atomic.Int64
}

// Unheard logs an error that no caller gets, as of a worker that has no OnError: one a second, with how many were left
// out since. It is for constructs.
func (c *Client) Unheard(op string, e *Entry, err error) {
	if c.log == nil || err == nil {
		return
	}
	now, last := c.now().UnixMilli(), c.unheard.at.Load()
	if now-last < 1000 || !c.unheard.at.CompareAndSwap(last, now) {
		c.unheard.dropped.Add(1)
		return
	}
	c.log.Warn("keyspace work failed", "entry", e.Name, "op", op, "error", loggable(err), "not_told",
		c.unheard.dropped.Swap(0))
}

// Notice represents something that happened to a construct or a connection.
type Notice = notice.Notice

// loggedKinds says which notices a logger writes down, as a warning. The rest is for
// hooks: a normal start, a day of work and a normal stop write nothing.
var loggedKinds = map[notice.Kind]string{
	notice.JobDead:     "a job is dead",
	notice.DeadLetter:  "a message is a dead letter",
	notice.JobLost:     "a job was lost: another worker may run it",
	notice.MessageLost: "a message was lost: another consumer may handle it",
	notice.LockLost:    "a lock was lost",
	notice.LeaseLost:   "a lease was lost: another process may act",
	notice.Reconnected: "a lost connection was made again",

	notice.ChannelRefused: "the client may not receive a channel any more",
}

// Noticed reports whether a notice of this kind goes to a hook or the
// logger. It is for constructs: where it is false a notice need not be made.
func (c *Client) Noticed(kind notice.Kind) bool {
	return c.noticing || c.log != nil && loggedKinds[kind] != ""
}

// Notice gives a notice to all hooks, and writes one line to the logger if its
// kind is one that people must know of. One without a kind is none. The hooks get the values of ctx, but not its end:
// the reported call may have ended together with it. It is for constructs.
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
	message := loggedKinds[n.Kind]
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
// dropped: the newest says how it is now. The next one that is reported has their number in Dropped.
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
