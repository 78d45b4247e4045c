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
	// Lost is called when the server refuses a channel that was heard before, since
	// the login may not hear it any more (NOPERM): no message comes until Gap. It
	// may be nil.
	Lost func(err error)
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
// (https://redis.io/docs/latest/develop/interact/pubsub/): what needs them
// also looks now and then. A channel that the login may not hear fails alone, with
// NOPERM.
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
	all      map[*Listener]bool // none left: to be unsubscribed
	answered chan struct{}      // closed when the server has confirmed or refused
	asked    bool               // on the present connection
	heard    bool               // it was confirmed once
	refused  error              // by the server, at the last time
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
	stop := sync.OnceFunc(func() { s.remove(ch, l) })
	var err error
	class := NotApplied
	select {
	case <-ch.answered:
		if err = s.refusal(ch); err == nil {
			return stop, nil
		}
		class = Refused
	case <-ctx.Done():
		err = ctx.Err()
	case <-s.ctx.Done():
		err = ErrClosed
	}
	stop()
	return nil, &Error{Class: class, Op: "subscribe", Server: s.client.server, Err: err, Hint: refusals[refusal(err)].hint}
}

func (s *subscriptions) refusal(ch *listened) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ch.refused
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

// keep connects, and connects again until the client is closed. Without a channel
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
		refused, err := s.settle(conn)
		if err != nil {
			return lived
		}
		lived = true
		var idle, again <-chan time.Time
		if s.lean && s.empty() {
			idle = time.After(linger)
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

// askAgain is how often a channel is asked for that was taken away from its
// listeners.
const askAgain = time.Second

// linger is how long a connection for sharded channels is kept without one.
const linger = 10 * time.Second

// ended hears that a subscription is over. If none here asked for that, the
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
