package keywright

import (
	"context"
	"sync"
	"time"

	"github.com/keywright/keywright/slot"
	"github.com/redis/rueidis"
)

// Listener hears the messages of one channel, or of those a pattern names. The
// functions are called by the goroutine that reads the connection, one at a time:
// they must not wait, send commands or subscribe.
type Listener struct {
	Message func(text string)
	// From is Message for who must know the channel; only one of the two is set.
	From func(channel, text string)
	// Gap is called when messages may have been missed: the connection broke and
	// a new one has subscribed again.
	Gap func()
}

func (l *Listener) hear(channel, text string) {
	if l.From != nil {
		l.From(channel, text)
		return
	}
	l.Message(text)
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
	return Part(c, newSubscriptions).add(ctx, topic{ofChannel, channel}, &l)
}

// SubscribePattern is Subscribe to all channels that match a glob.
func (c *Client) SubscribePattern(ctx context.Context, glob string, l Listener) (stop func(), err error) {
	return Part(c, newSubscriptions).add(ctx, topic{ofPattern, glob}, &l)
}

// SubscribeShard is Subscribe to a sharded channel (SPUBLISH; Redis 7.0). In a
// cluster it takes a connection per slot that is listened to, to the node that
// has the slot: when the slot moves or the node fails, the new one is subscribed
// to and Gap is called.
func (c *Client) SubscribeShard(ctx context.Context, channel string, l Listener) (stop func(), err error) {
	var at uint16
	if c.slots {
		at = slot.Of([]byte(channel))
	}
	return Part(c, newShards).of(at).add(ctx, topic{ofShard, channel}, &l)
}

// shards are the subscriptions of a cluster's slots, each on a connection of its
// own.
type shards struct {
	client *Client
	mu     sync.Mutex
	bySlot map[uint16]*subscriptions
	closed bool
}

func newShards(c *Client) *shards {
	return &shards{client: c, bySlot: map[uint16]*subscriptions{}}
}

func (s *shards) of(slot uint16) *subscriptions {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.bySlot[slot]
	if one == nil {
		one = newSubscriptions(s.client)
		one.lean = true
		s.bySlot[slot] = one
	}
	if s.closed {
		one.Close()
	}
	return one
}

// Close ends the connections.
func (s *shards) Close() {
	s.mu.Lock()
	s.closed = true
	all := s.bySlot
	s.mu.Unlock()
	for _, one := range all {
		one.cancel()
	}
	for _, one := range all {
		one.Close()
	}
}

// way is how a topic is subscribed to.
type way uint8

const (
	ofChannel way = iota
	ofPattern
	ofShard
)

// topic is what a connection is subscribed to.
type topic struct {
	way  way
	name string
}

// subscriptions is one connection that listens. keep owns it and is the only one
// that sends on it.
type subscriptions struct {
	client *Client
	lean   bool // for sharded channels; without one it soon has no connection
	ctx    context.Context
	cancel context.CancelFunc
	wake   chan struct{} // something has changed in channels
	moved  chan struct{} // the server has ended a subscription of its own accord
	done   chan struct{} // keep has ended; nil before it begins

	mu       sync.Mutex
	channels map[topic]*listened
}

// listened is one channel.
type listened struct {
	all       map[*Listener]bool // none left: to be unsubscribed
	confirmed chan struct{}      // closed when the server has confirmed
	asked     bool               // on the present connection
}

func newSubscriptions(c *Client) *subscriptions {
	ctx, cancel := context.WithCancel(context.Background())
	return &subscriptions{client: c, ctx: ctx, cancel: cancel, wake: make(chan struct{}, 1), moved: make(chan struct{}, 1), channels: map[topic]*listened{}}
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

func (s *subscriptions) add(ctx context.Context, channel topic, l *Listener) (func(), error) {
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
	stop := sync.OnceFunc(func() { s.remove(ch, l) })
	select {
	case <-confirmed:
		return stop, nil
	case <-ctx.Done():
		stop()
		return nil, &Error{Class: NotApplied, Op: "subscribe", Server: s.client.server, Err: ctx.Err()}
	case <-s.ctx.Done():
		stop()
		return nil, &Error{Class: NotApplied, Op: "subscribe", Server: s.client.server, Err: ErrClosed}
	}
}

func (s *subscriptions) remove(ch *listened, l *Listener) {
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
		_ = sleep(s.ctx, s.client.retry.delay(max(attempt, 1)))
	}
}

func (s *subscriptions) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.channels) == 0
}

// once is one connection's life; it reports whether it lived at all.
func (s *subscriptions) once() (lived bool) {
	conn, _ := s.client.raw.Dedicate()
	defer conn.Close() // and not back into the pool: that would ask a server that may be frozen to unsubscribe
	lost := conn.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: s.message, OnSubscription: s.ended})
	s.forget()
	for {
		if err := s.settle(conn); err != nil {
			return lived
		}
		lived = true
		var idle <-chan time.Time
		if s.lean && s.empty() {
			idle = time.After(linger)
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
		case <-s.wake:
		}
	}
}

// linger is how long a connection for sharded channels is kept without one.
const linger = 10 * time.Second

// ended hears that a subscription is over. If nobody here asked for that, the
// slot of a sharded channel has moved to another node.
func (s *subscriptions) ended(sub rueidis.PubSubSubscription) {
	if sub.Kind != "sunsubscribe" {
		return
	}
	s.mu.Lock()
	ch := s.channels[topic{ofShard, sub.Channel}]
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
func (s *subscriptions) forget() {
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

// settle brings what the connection is subscribed to in line with what is
// wanted.
func (s *subscriptions) settle(conn rueidis.DedicatedClient) error {
	join, leave := s.difference()
	ctx, cancel := context.WithTimeout(s.ctx, 5*time.Second)
	defer cancel()
	for way := ofChannel; way <= ofShard; way++ {
		if names := join[way]; len(names) > 0 {
			if err := conn.Do(ctx, subscribe(conn.B(), way, names)).Error(); err != nil {
				return err
			}
			s.confirm(way, names)
		}
	}
	for way := ofChannel; way <= ofShard; way++ {
		if names := leave[way]; len(names) > 0 {
			if err := conn.Do(ctx, unsubscribe(conn.B(), way, names)).Error(); err != nil {
				return err
			}
		}
	}
	return nil
}

func subscribe(b rueidis.Builder, way way, names []string) rueidis.Completed {
	switch way {
	case ofPattern:
		return b.Psubscribe().Pattern(names...).Build()
	case ofShard:
		return b.Ssubscribe().Channel(names...).Build()
	}
	return b.Subscribe().Channel(names...).Build()
}

func unsubscribe(b rueidis.Builder, way way, names []string) rueidis.Completed {
	switch way {
	case ofPattern:
		return b.Punsubscribe().Pattern(names...).Build()
	case ofShard:
		return b.Sunsubscribe().Channel(names...).Build()
	}
	return b.Unsubscribe().Channel(names...).Build()
}

// difference is what is to be subscribed to and what no more, by way.
func (s *subscriptions) difference() (join, leave [ofShard + 1][]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, ch := range s.channels {
		switch {
		case len(ch.all) == 0:
			delete(s.channels, at)
			if ch.asked {
				leave[at.way] = append(leave[at.way], at.name)
			}
		case !ch.asked:
			join[at.way] = append(join[at.way], at.name)
		}
	}
	return join, leave
}

// confirm tells who waits for the subscription, and those that had one before
// that there was a gap.
func (s *subscriptions) confirm(way way, names []string) {
	var gaps []func()
	s.mu.Lock()
	for _, name := range names {
		ch := s.channels[topic{way, name}]
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

// message is called by the reader of the connection. What comes for a pattern
// says so; a sharded message looks as any other, but has its own connection.
func (s *subscriptions) message(m rueidis.PubSubMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := topic{ofChannel, m.Channel}
	switch {
	case m.Pattern != "":
		at = topic{ofPattern, m.Pattern}
	case s.lean:
		at.way = ofShard
	}
	if ch := s.channels[at]; ch != nil {
		for l := range ch.all {
			l.hear(m.Channel, m.Message)
		}
	}
}
