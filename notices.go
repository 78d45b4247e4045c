package keywright

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Notice is something that happened to a construct: a job died, a lease was
// lost, a value came from a cache. It has the names of the declaration and never
// an id, a key or a value.
type Notice struct {
	Kind    NoticeKind
	Entry   string        // "tasks", "" for what belongs to the client
	Elapsed time.Duration // what Kind says it is; 0: it says nothing
	Attempt int           // of Reconnecting: which one since the connection was lost; else 0
	Dropped int           // of a notice of a connection: how many just before it were dropped, as a hook was slow
	Err     error         // why, without keys and values; nil where there is no reason
}

// NoticeKind says what happened.
type NoticeKind string

// The kinds of notices.
const (
	JobDone    NoticeKind = "job_done"    // a handler returned nil; Elapsed is how long it ran
	JobFailed  NoticeKind = "job_failed"  // a handler returned an error or panicked; Elapsed is how long it ran
	JobRetried NoticeKind = "job_retried" // a failed job waits for its next attempt; Elapsed is how long it waits
	JobDead    NoticeKind = "job_dead"    // a job is dead: its attempts are used up, or its workers died too often

	MessageDone   NoticeKind = "message_done"   // a consumer has handled a message; Elapsed is how long it took
	MessageFailed NoticeKind = "message_failed" // its handler returned an error or panicked; Elapsed is how long it ran
	DeadLetter    NoticeKind = "dead_letter"    // a message was put among the dead letters

	LockAcquired NoticeKind = "lock_acquired" // Elapsed is how long the caller waited
	LockReleased NoticeKind = "lock_released" // Elapsed is how long it was held
	LockLost     NoticeKind = "lock_lost"     // a holder was told that its lease is over; Elapsed as for LockReleased

	// LeaseLost is of the process that swept, relieved a full server or executed a plan:
	// it is not the one that may any more. Elapsed is how long it was.
	LeaseLost NoticeKind = "lease_lost"

	CacheHit   NoticeKind = "cache_hit"   // a value was there
	CacheMiss  NoticeKind = "cache_miss"  // no value was there, and this caller did not load it
	CacheLoad  NoticeKind = "cache_load"  // a loader ran; Elapsed is how long
	CacheStale NoticeKind = "cache_stale" // an old value was returned: a new one is loaded, or loading failed

	Disconnected NoticeKind = "disconnected" // connections to a server are lost; Err is why
	Reconnecting NoticeKind = "reconnecting" // a lost connection is tried again; Elapsed is how long there is none
	Reconnected  NoticeKind = "reconnected"  // a lost connection was made again; Elapsed is how long there was none

	// ChannelRefused is of a channel that the login has heard and may not hear any more:
	// waiters and workers ask once a second.
	ChannelRefused NoticeKind = "channel_refused"
)

// heard says which notices a logger writes down, as a warning. The rest is for
// hooks: a normal start, a day of work and a normal stop write nothing.
var heard = map[NoticeKind]string{
	JobDead:     "a job is dead",
	DeadLetter:  "a message is a dead letter",
	LockLost:    "a lock was lost",
	LeaseLost:   "a lease was lost: another process may act",
	Reconnected: "a lost connection was made again",

	ChannelRefused: "a channel may not be heard any more",
}

// Noticed reports whether a notice of this kind is heard by a hook or the
// logger. It is for constructs: where it is false a notice need not be made.
func (c *Client) Noticed(kind NoticeKind) bool {
	return c.noticing || c.log != nil && heard[kind] != ""
}

// Notice gives a notice to all hooks, and writes one line to the logger if its
// kind is one that people must hear of. It is for constructs.
func (c *Client) Notice(ctx context.Context, n Notice) {
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

// maxWaiting is how many notices of connections may wait for a slow hook. Then the oldest are
// dropped: the newest says how it is now. The next one that is told has their number in Dropped.
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
