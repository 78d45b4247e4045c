// Package pubsub keeps subscriptions to channels, patterns and sharded channels: one connection for all of them, or one
// per slot of a cluster, made again when it breaks. A channel that the server refuses fails alone.
//
// It is for package kernel: Client.Subscribe and its siblings are what constructs call.
//
// API: no promise, at no version.
package pubsub

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// Listener receives the messages of one channel, or of those a pattern names. The
// functions are called by the goroutine that reads the connection, one at a time:
// they must not wait, send commands or subscribe.
type Listener struct {
	Message func(text string)
	// From receives messages with their channel. Only one of Message and From is set.
	From func(channel, text string)
	// Gap is called when messages may have been missed: the connection broke and
	// a new one has subscribed again.
	Gap func()
	// Lost is called when the server refuses a channel that was received before, since
	// the login may not subscribe to it any more (NOPERM): no message comes until Gap. It
	// may be nil.
	Lost func(err error)
}

func (l *Listener) deliver(channel, text string) {
	if l.From != nil {
		l.From(channel, text)
		return
	}
	l.Message(text)
}

// Hooks are what an engine needs of its client.
type Hooks struct {
	// Delay returns how long to wait before a connection is made the nth time in a row.
	Delay func(n int) time.Duration
	// Denies reports whether an error of a server is about one channel, and not a passing state.
	Denies func(err error) bool
	// Refused is called once when the server refuses a channel that was received before.
	Refused func(ctx context.Context, err error)
	// Closed is the error of a subscription to a client that is closed.
	Closed error
}

// Way describes how a topic is subscribed to.
type Way uint8

// The ways.
const (
	OfChannel Way = iota
	OfPattern
	OfShard
)

// Topic describes what a connection is subscribed to.
type Topic struct {
	Way  Way
	Name string
}

// Engine keeps one connection that listens. keep owns it and is the only one that sends on it.
type Engine struct {
	raw    rueidis.Client
	hooks  *Hooks
	lean   bool // for sharded channels; without one it soon has no connection
	ctx    context.Context
	cancel context.CancelFunc
	wake   chan struct{} // something has changed in channels
	moved  chan struct{} // the server has ended a subscription of its own accord
	done   chan struct{} // keep has ended; nil before it begins

	mu       sync.Mutex
	channels map[Topic]*listened
}

// listened represents one channel.
type listened struct {
	all      map[*Listener]bool // none left: to be unsubscribed
	answered chan struct{}      // closed when the server has confirmed or refused
	asked    bool               // on the present connection
	heard    bool               // it was confirmed once
	refused  error              // by the server, at the last time
}

// New makes an engine without a connection: the first subscription makes it. lean is for sharded channels: the
// connection goes when it is not needed any more.
func New(raw rueidis.Client, hooks *Hooks, lean bool) *Engine {
	ctx, cancel := context.WithCancel(context.Background())
	return &Engine{raw: raw, hooks: hooks, lean: lean, ctx: ctx, cancel: cancel, wake: make(chan struct{}, 1),
		moved: make(chan struct{}, 1), channels: map[Topic]*listened{}}
}

// Close ends the connection.
func (s *Engine) Close() {
	s.cancel()
	s.mu.Lock()
	done := s.done
	s.mu.Unlock()
	if done == nil {
		return
	}
	select {
	case <-done:
	case <-time.After(time.Second): // it is connecting to a server that is frozen, and ends with Options.Timeout
	}
}

// Add subscribes l to a topic until stop is called. When it returns, the server has confirmed. An error that the server
// answered is a *Denied.
func (s *Engine) Add(ctx context.Context, channel Topic, l *Listener) (stop func(), err error) {
	s.mu.Lock()
	ch := s.channels[channel]
	if ch == nil {
		ch = &listened{all: map[*Listener]bool{}, answered: make(chan struct{})}
		s.channels[channel] = ch
	}
	ch.all[l] = true
	if s.done == nil && s.ctx.Err() == nil {
		s.done = make(chan struct{})
		go s.keep(s.done)
	}
	s.mu.Unlock()
	s.changed()
	stop = sync.OnceFunc(func() { s.remove(ch, l) })
	select {
	case <-ch.answered:
		if err = s.refusal(ch); err == nil {
			return stop, nil
		}
		err = &Denied{err}
	case <-ctx.Done():
		err = ctx.Err()
	case <-s.ctx.Done():
	}
	// A context that ends with the client may be seen to end first, or this engine may.
	if s.ctx.Err() != nil || errors.Is(context.Cause(ctx), s.hooks.Closed) {
		err = s.hooks.Closed
	}
	stop()
	return nil, err
}

// Denied reports a channel that the server has refused.
type Denied struct{ Err error }

// Error implements error.
func (d *Denied) Error() string { return d.Err.Error() }

// Unwrap returns what the server answered.
func (d *Denied) Unwrap() error { return d.Err }

func (s *Engine) refusal(ch *listened) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ch.refused
}

func (s *Engine) remove(ch *listened, l *Listener) {
	s.mu.Lock()
	delete(ch.all, l)
	last := len(ch.all) == 0
	s.mu.Unlock()
	if last {
		s.changed()
	}
}

func (s *Engine) changed() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// keep connects, and connects again until the client is closed. Without a channel
// it waits for one.
func (s *Engine) keep(done chan struct{}) {
	defer close(done)
	for attempt := 1; s.ctx.Err() == nil; attempt++ {
		if s.lean && s.empty() {
			select {
			case <-s.wake:
			case <-s.ctx.Done():
			}
			attempt = 0
			continue
		}
		began := time.Now()
		if lived := s.once(); lived && s.lean && s.empty() {
			attempt = 0 // it was not needed any more
			continue
		} else if lived && time.Since(began) > time.Second {
			attempt = 0
		}
		s.pause(s.hooks.Delay(max(attempt, 1)))
	}
}

// pause waits for a time, or until the client is closed.
func (s *Engine) pause(d time.Duration) {
	select {
	case <-s.ctx.Done():
	case <-time.After(d):
	}
}

func (s *Engine) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.channels) == 0
}

// once is one connection's life; it reports whether it lived at all.
func (s *Engine) once() (lived bool) {
	conn, _ := s.raw.Dedicate()
	defer conn.Close() // and not back into the pool: that would ask a server that may be frozen to unsubscribe
	lost := conn.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: s.message, OnSubscription: s.ended})
	s.forget()
	for {
		refused, err := s.syncSubscriptions(conn)
		if err != nil {
			return lived
		}
		lived = true
		var idle, again <-chan time.Time
		if s.lean && s.empty() {
			idle = time.After(idleTimeout)
		}
		if refused {
			again = time.After(askAgain)
		}
		select {
		case <-s.ctx.Done():
			return true
		case <-lost:
			return true
		case <-s.moved:
			return true
		case <-idle:
			return true
		case <-again:
		case <-s.wake:
		}
	}
}

// askAgain says how often a channel is asked for that was taken away from its
// listeners.
const askAgain = time.Second

// idleTimeout says how long a connection for sharded channels is kept without one.
const idleTimeout = 10 * time.Second

// ended notes that a subscription is over. If none here asked for that, the
// slot of a sharded channel has moved to another node.
func (s *Engine) ended(sub rueidis.PubSubSubscription) {
	if sub.Kind != "sunsubscribe" {
		return
	}
	s.mu.Lock()
	ch := s.channels[Topic{OfShard, sub.Channel}]
	moved := ch != nil && ch.asked
	s.mu.Unlock()
	if moved {
		select {
		case s.moved <- struct{}{}:
		default:
		}
	}
}

// forget notes that a new connection has subscribed to nothing.
func (s *Engine) forget() {
	select {
	case <-s.moved:
	default:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ch := range s.channels {
		ch.asked = false
	}
}
