package kernel

import (
	"context"
	"errors"

	"github.com/keywright/keywright/kernel/pubsub"
	"github.com/keywright/keywright/notice"
	"github.com/keywright/keywright/slot"
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
