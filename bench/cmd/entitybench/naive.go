package main

import (
	"context"
	"strconv"
	"time"

	"github.com/keywright/keywright/value"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// bare describes what programs do by hand over rueidis: index entries beside the hash,
// with MULTI, and nothing that takes them away when the hash expires.
type bare struct {
	rueidis.Client
	keys
}

func (c bare) do(ctx context.Context, commands ...rueidis.Completed) error {
	all := append([]rueidis.Completed{c.B().Multi().Build()}, commands...)
	for _, r := range c.DoMulti(ctx, append(all, c.B().Exec().Build())...) {
		if err := r.Error(); err != nil {
			return err
		}
	}
	return nil
}

func (c bare) create(ctx context.Context, t *item, ttl time.Duration, events ...rueidis.Completed) error {
	b, now, v := c.B(), time.Now(), t.values()
	return c.do(ctx, append([]rueidis.Completed{
		b.Hset().Key(c.item(t.ID)).FieldValue().FieldValue(names[0], v[0]).FieldValue(names[1], v[1]).FieldValue(
			names[2], v[2]).
			FieldValue(names[3], v[3]).FieldValue(names[4], v[4]).FieldValue(names[5], v[5]).Build(),
		b.Pexpire().Key(c.item(t.ID)).Milliseconds(ttl.Milliseconds()).Build(),
		b.Sadd().Key(c.kind(t)).Member(t.ID).Build(),
		b.Sadd().Key(c.context(t.Context)).Member(t.ID).Build(),
		b.Zadd().Key(c.priority(t)).ScoreMember().ScoreMember(float64(now.UnixMilli()), t.ID).Build(),
		b.Zadd().Key(c.expiry()).ScoreMember().ScoreMember(float64(now.Add(ttl).UnixMilli()), t.ID).Build(),
	}, events...)...)
}

// announce returns the event of a creation.
func (c bare) announce(t *item) rueidis.Completed {
	type data struct {
		ID      string `json:"id"`
		Type    string `json:"type"`
		Context string `json:"contextId"`
	}
	body, _ := value.Marshal(struct {
		Timestamp int64 `json:"timestamp"`
		Data      data  `json:"data"`
	}{time.Now().UnixMilli(), data{t.ID, t.Kind, t.Context}})
	return c.B().Publish().Channel(created).Message(string(body)).Build()
}

// update moves an item to another type and priority. It believes that the item
// is where the caller has last seen it, and that it is there.
func (c bare) update(ctx context.Context, old, t *item) error {
	b := c.B()
	return c.do(ctx,
		b.Hset().Key(c.item(t.ID)).FieldValue().FieldValue(names[1], t.Kind).FieldValue(names[4],
			strconv.FormatInt(t.Priority, 10)).Build(),
		b.Srem().Key(c.kind(old)).Member(t.ID).Build(),
		b.Sadd().Key(c.kind(t)).Member(t.ID).Build(),
		b.Zrem().Key(c.priority(old)).Member(t.ID).Build(),
		b.Zadd().Key(c.priority(t)).ScoreMember().ScoreMember(float64(t.Created.UnixMilli()), t.ID).Build())
}

func (c bare) remove(ctx context.Context, t *item) error {
	b := c.B()
	return c.do(ctx,
		b.Srem().Key(c.kind(t)).Member(t.ID).Build(),
		b.Srem().Key(c.context(t.Context)).Member(t.ID).Build(),
		b.Zrem().Key(c.priority(t)).Member(t.ID).Build(),
		b.Zrem().Key(c.expiry()).Member(t.ID).Build(),
		b.Del().Key(c.item(t.ID)).Build())
}

func (c bare) get(ctx context.Context, id string) (item, error) {
	m, err := c.Do(ctx, c.B().Hgetall().Key(c.item(id)).Build()).AsStrMap()
	if err != nil {
		return item{}, err
	}
	return itemFrom(m)
}

func (c bare) cached(ctx context.Context, id string) (item, error) {
	m, err := c.DoCache(ctx, c.B().Hgetall().Key(c.item(id)).Cache(), time.Hour).AsStrMap()
	if err != nil {
		return item{}, err
	}
	return itemFrom(m)
}

// list returns the items of a set: two round trips.
func (c bare) list(ctx context.Context, index string) ([]item, error) {
	ids, err := c.Do(ctx, c.B().Smembers().Key(index).Build()).AsStrSlice()
	if err != nil {
		return nil, err
	}
	commands := make([]rueidis.Completed, len(ids))
	for i, id := range ids {
		commands[i] = c.B().Hgetall().Key(c.item(id)).Build()
	}
	out := make([]item, len(ids))
	for i, r := range c.DoMulti(ctx, commands...) {
		m, err := r.AsStrMap()
		if err == nil {
			out[i], err = itemFrom(m)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// piped represents the same over go-redis as the page of the example has it: a pipeline,
// without MULTI.
type piped struct {
	*redis.Client
	keys
}

func (c piped) create(ctx context.Context, t *item) error {
	now, v := time.Now(), t.values()
	_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, c.item(t.ID), names[0], v[0], names[1], v[1], names[2], v[2], names[3], v[3], names[4], v[4],
			names[5], v[5])
		p.PExpire(ctx, c.item(t.ID), ttl)
		p.SAdd(ctx, c.kind(t), t.ID)
		p.SAdd(ctx, c.context(t.Context), t.ID)
		p.ZAdd(ctx, c.priority(t), redis.Z{Score: float64(now.UnixMilli()), Member: t.ID})
		p.ZAdd(ctx, c.expiry(), redis.Z{Score: float64(now.Add(ttl).UnixMilli()), Member: t.ID})
		return nil
	})
	return err
}
