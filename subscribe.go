package keywright

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// Listener hears the messages of one channel. Both functions are called by the
// goroutine that reads the connection, one at a time: they must not wait, send
// commands or subscribe.
type Listener struct {
	Message func(text string)
	// Gap is called when messages may have been missed: the connection broke and
	// a new one has subscribed again.
	Gap func()
}

// Subscribe lets l hear a channel until stop is called. When it returns, the
// server has confirmed: no later message is missed while the connection lives.
// All subscriptions of a client share one connection; a second one to the same
// channel costs nothing. Messages are at most once
// (https://redis.io/docs/latest/develop/interact/pubsub/): whoever needs them
// also looks now and then.
//
// In a cluster it is one node that is listened to; PUBLISH reaches all nodes.
func (c *Client) Subscribe(ctx context.Context, channel string, l Listener) (stop func(), err error) {
	return Part(c, newSubscriptions).add(ctx, channel, &l)
}

// subscriptions is the one connection of a client that listens. keep owns it and
// is the only one that sends on it.
type subscriptions struct {
	client *Client
	ctx    context.Context
	cancel context.CancelFunc
	wake   chan struct{} // something has changed in channels
	done   chan struct{} // keep has ended; nil before it begins

	mu       sync.Mutex
	channels map[string]*listened
}

// listened is one channel.
type listened struct {
	all       map[*Listener]bool // none left: to be unsubscribed
	confirmed chan struct{}      // closed when the server has confirmed
	asked     bool               // on the present connection
}

func newSubscriptions(c *Client) *subscriptions {
	ctx, cancel := context.WithCancel(context.Background())
	return &subscriptions{client: c, ctx: ctx, cancel: cancel, wake: make(chan struct{}, 1), channels: map[string]*listened{}}
}

// Close ends the connection.
func (s *subscriptions) Close() {
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

var errClosed = errors.New("the client is closed")

func (s *subscriptions) add(ctx context.Context, channel string, l *Listener) (func(), error) {
	s.mu.Lock()
	ch := s.channels[channel]
	if ch == nil {
		ch = &listened{all: map[*Listener]bool{}, confirmed: make(chan struct{})}
		s.channels[channel] = ch
	}
	ch.all[l] = true
	if s.done == nil && s.ctx.Err() == nil {
		s.done = make(chan struct{})
		go s.keep(s.done)
	}
	confirmed := ch.confirmed
	s.mu.Unlock()
	s.changed()
	stop := sync.OnceFunc(func() { s.remove(channel, ch, l) })
	select {
	case <-confirmed:
		return stop, nil
	case <-ctx.Done():
		stop()
		return nil, &Error{Class: NotApplied, Op: "subscribe", Server: s.client.server, Err: ctx.Err()}
	case <-s.ctx.Done():
		stop()
		return nil, &Error{Class: NotApplied, Op: "subscribe", Server: s.client.server, Err: errClosed}
	}
}

func (s *subscriptions) remove(channel string, ch *listened, l *Listener) {
	s.mu.Lock()
	delete(ch.all, l)
	last := len(ch.all) == 0
	s.mu.Unlock()
	if last {
		s.changed()
	}
}

func (s *subscriptions) changed() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// keep connects, and connects anew until the client is closed. Without a channel
// it waits for one.
func (s *subscriptions) keep(done chan struct{}) {
	defer close(done)
	for attempt := 1; s.ctx.Err() == nil; attempt++ {
		if began := time.Now(); s.once() && time.Since(began) > time.Second {
			attempt = 0
		}
		_ = sleep(s.ctx, s.client.retry.delay(max(attempt, 1)))
	}
}

// once is one connection's life; it reports whether it lived at all.
func (s *subscriptions) once() (lived bool) {
	conn, _ := s.client.raw.Dedicate()
	defer conn.Close() // and not back into the pool: that would ask a server that may be frozen to unsubscribe
	lost := conn.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: s.message})
	s.forget()
	for {
		if err := s.settle(conn); err != nil {
			return lived
		}
		lived = true
		select {
		case <-s.ctx.Done():
			return true
		case <-lost:
			return true
		case <-s.wake:
		}
	}
}

// forget notes that a new connection has subscribed to nothing.
func (s *subscriptions) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ch := range s.channels {
		ch.asked = false
	}
}

// settle brings what the connection is subscribed to in line with what is
// wanted.
func (s *subscriptions) settle(conn rueidis.DedicatedClient) error {
	join, leave := s.difference()
	ctx, cancel := context.WithTimeout(s.ctx, 5*time.Second)
	defer cancel()
	if len(join) > 0 {
		if err := conn.Do(ctx, conn.B().Subscribe().Channel(join...).Build()).Error(); err != nil {
			return err
		}
		s.confirm(join)
	}
	if len(leave) > 0 {
		return conn.Do(ctx, conn.B().Unsubscribe().Channel(leave...).Build()).Error()
	}
	return nil
}

func (s *subscriptions) difference() (join, leave []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, ch := range s.channels {
		switch {
		case len(ch.all) == 0:
			delete(s.channels, name)
			if ch.asked {
				leave = append(leave, name)
			}
		case !ch.asked:
			join = append(join, name)
		}
	}
	return join, leave
}

// confirm tells who waits for the subscription, and those that had one before
// that there was a gap.
func (s *subscriptions) confirm(names []string) {
	var gaps []func()
	s.mu.Lock()
	for _, name := range names {
		ch := s.channels[name]
		if ch == nil {
			continue
		}
		ch.asked = true
		select {
		case <-ch.confirmed:
			for l := range ch.all {
				gaps = append(gaps, l.Gap)
			}
		default:
			close(ch.confirmed)
		}
	}
	s.mu.Unlock()
	for _, gap := range gaps {
		if gap != nil {
			gap()
		}
	}
}

// message is called by the reader of the connection.
func (s *subscriptions) message(m rueidis.PubSubMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.channels[m.Channel]
	if ch == nil {
		return
	}
	for l := range ch.all {
		l.Message(m.Message)
	}
}
