package kernel

import (
	"context"
	"errors"
	"sync"

	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/kernel/notice"
	"github.com/keywright/keywright/kernel/pubsub"
	"github.com/redis/rueidis"
)

// Listener receives the messages of one channel, or of those a pattern names.
type Listener = pubsub.Listener

// Subscribe subscribes l to a channel until stop is called. When it returns, the
// server has confirmed: no later message is missed while the connection lives.
// All subscriptions of a client share one connection; a second one to the same
// channel costs nothing. Messages are at most once
// (https://redis.io/docs/latest/develop/interact/pubsub/): what needs them
// also looks now and then. A channel that the login may not subscribe to fails alone, with
// NOPERM.
//
// In a cluster it is one node that is listened to; PUBLISH reaches all nodes.
func (c *Client) Subscribe(ctx context.Context, channel string, l Listener) (stop func(), err error) {
	return c.subscribe(ctx, Part(c, newEngine), pubsub.Topic{Way: pubsub.OfChannel, Name: channel}, &l)
}

// SubscribePattern is Subscribe to all channels that match a glob.
func (c *Client) SubscribePattern(ctx context.Context, glob string, l Listener) (stop func(), err error) {
	return c.subscribe(ctx, Part(c, newEngine), pubsub.Topic{Way: pubsub.OfPattern, Name: glob}, &l)
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
	return c.subscribe(ctx, Part(c, newShards).Of(at), pubsub.Topic{Way: pubsub.OfShard, Name: channel}, &l)
}

func newEngine(c *Client) *pubsub.Engine { return pubsub.New(c.raw, c.pubsubHooks(), false) }

func newShards(c *Client) *pubsub.Shards { return pubsub.NewShards(c.raw, c.pubsubHooks()) }

func (c *Client) pubsubHooks() *pubsub.Hooks {
	return &pubsub.Hooks{
		Delay:  c.retry.delay,
		Denies: func(err error) bool { return refusals[refusal(err)].class == Refused },
		Refused: func(ctx context.Context, err error) {
			c.Notice(ctx, Notice{Kind: notice.ChannelRefused, Err: err})
		},
		Closed: ErrClosed,
	}
}

func (c *Client) subscribe(ctx context.Context, e *pubsub.Engine, at pubsub.Topic, l *Listener) (func(), error) {
	if c.life.Err() != nil { // a channel that is still listened to would take it
		return nil, &Error{Class: NotApplied, Op: "subscribe", Server: c.server, Err: ErrClosed}
	}
	stop, err := e.Add(ctx, at, l)
	if err == nil {
		return stop, nil
	}
	class := NotApplied
	if denied, ok := errors.AsType[*pubsub.Denied](err); ok {
		class, err = Refused, denied.Err
	}
	return nil, &Error{Class: class, Op: "subscribe", Server: c.server, Err: err, Hint: refusals[refusal(err)].hint}
}

// invalidations tells who asked for it when the server says that a key which this
// client has read by client-side caching has changed. It is called by the
// goroutine that reads a connection: what waits in it stops that connection.
type invalidations struct {
	mu   sync.RWMutex
	next uint64
	keys map[string]map[uint64]func()
	all  map[uint64]func(keys []string)
}

func newInvalidations() *invalidations {
	return &invalidations{keys: map[string]map[uint64]func(){}, all: map[uint64]func([]string){}}
}

// OnInvalidation calls fn when the server says that key has changed, was deleted
// or has expired, and when everything is void: a flush, or a connection that
// broke. It is notified of a key only after a tracked read of it (Cached, or DoCache
// of Raw) and once per such read: first register, then read. fn must not wait,
// send commands or call stop. ok is false for a client without client-side
// caching (Options.NoCache, New): fn is never called then. No round trips.
func (c *Client) OnInvalidation(key string, fn func()) (stop func(), ok bool) {
	h := c.hub
	if h == nil {
		return func() {}, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next++
	id := h.next
	if h.keys[key] == nil {
		h.keys[key] = map[uint64]func(){}
	}
	h.keys[key][id] = fn
	return func() { h.forget(key, id) }, true
}

// OnInvalidations works as OnInvalidation does, for every key that this client has read by
// client-side caching; keys is nil when everything is void.
func (c *Client) OnInvalidations(fn func(keys []string)) (stop func(), ok bool) {
	h := c.hub
	if h == nil {
		return func() {}, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next++
	id := h.next
	h.all[id] = fn
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.all, id)
	}, true
}

func (h *invalidations) forget(key string, id uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if delete(h.keys[key], id); len(h.keys[key]) == 0 {
		delete(h.keys, key)
	}
}

// tell is rueidis' callback; nil says that everything is void.
func (h *invalidations) tell(messages []rueidis.RedisMessage) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if len(h.keys) == 0 && len(h.all) == 0 {
		return
	}
	var keys []string
	for _, m := range messages {
		key, _ := m.ToString()
		keys = append(keys, key)
		for _, fn := range h.keys[key] {
			fn()
		}
	}
	if messages == nil {
		for _, interested := range h.keys {
			for _, fn := range interested {
				fn()
			}
		}
	}
	for _, fn := range h.all {
		fn(keys)
	}
}
