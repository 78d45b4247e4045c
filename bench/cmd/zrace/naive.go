package main

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// ttl is that of every item that is not to expire during a measurement.
const ttl = 15 * time.Minute

// bare is what programs do by hand over rueidis: index entries beside the hash,
// with MULTI, and nobody who takes them away when the hash expires.
type bare struct{ rueidis.Client }

func (c bare) do(ctx context.Context, commands ...rueidis.Completed) error {
	b := c.B()
	all := append([]rueidis.Completed{b.Multi().Build()}, commands...)
	for _, r := range c.DoMulti(ctx, append(all, b.Exec().Build())...) {
		if err := r.Error(); err != nil {
			return err
		}
	}
	return nil
}

func (c bare) create(ctx context.Context, t item, ttl time.Duration) error {
	b, now, v := c.B(), time.Now(), t.values()
	return c.do(ctx,
		b.Hset().Key(t.hash()).FieldValue().FieldValue(names[0], v[0]).FieldValue(names[1], v[1]).FieldValue(names[2], v[2]).
			FieldValue(names[3], v[3]).FieldValue(names[4], v[4]).FieldValue(names[5], v[5]).Build(),
		b.Pexpire().Key(t.hash()).Milliseconds(ttl.Milliseconds()).Build(),
		b.Sadd().Key(t.byKind()).Member(t.id).Build(),
		b.Sadd().Key(t.byContext()).Member(t.id).Build(),
		b.Zadd().Key(t.byPriority()).ScoreMember().ScoreMember(float64(now.UnixMilli()), t.id).Build(),
		b.Zadd().Key(byExpiry).ScoreMember().ScoreMember(float64(now.Add(ttl).UnixMilli()), t.id).Build())
}

// update moves an item to another type and priority; it believes that the item
// is still where the caller last saw it.
func (c bare) update(ctx context.Context, old, t item) error {
	b := c.B()
	return c.do(ctx,
		b.Hset().Key(t.hash()).FieldValue().FieldValue(names[1], t.kind).FieldValue(names[4], strconv.Itoa(t.priority)).Build(),
		b.Srem().Key(old.byKind()).Member(t.id).Build(),
		b.Sadd().Key(t.byKind()).Member(t.id).Build(),
		b.Zrem().Key(old.byPriority()).Member(t.id).Build(),
		b.Zadd().Key(t.byPriority()).ScoreMember().ScoreMember(float64(t.created.UnixMilli()), t.id).Build())
}

func (c bare) remove(ctx context.Context, t item) error {
	b := c.B()
	return c.do(ctx,
		b.Srem().Key(t.byKind()).Member(t.id).Build(),
		b.Srem().Key(t.byContext()).Member(t.id).Build(),
		b.Zrem().Key(t.byPriority()).Member(t.id).Build(),
		b.Zrem().Key(byExpiry).Member(t.id).Build(),
		b.Del().Key(t.hash()).Build())
}

func (c bare) get(ctx context.Context, id string) (item, error) {
	m, err := c.Do(ctx, c.B().Hgetall().Key(prefix+id).Build()).AsStrMap()
	if err != nil {
		return item{}, err
	}
	return itemOfMap(m)
}

func (c bare) cached(ctx context.Context, id string) (item, error) {
	m, err := c.DoCache(ctx, c.B().Hgetall().Key(prefix+id).Cache(), time.Hour).AsStrMap()
	if err != nil {
		return item{}, err
	}
	return itemOfMap(m)
}

func (c bare) list(ctx context.Context, index string) ([]item, error) {
	ids, err := c.Do(ctx, c.B().Smembers().Key(index).Build()).AsStrSlice()
	if err != nil {
		return nil, err
	}
	commands := make([]rueidis.Completed, len(ids))
	for i, id := range ids {
		commands[i] = c.B().Hgetall().Key(prefix + id).Build()
	}
	out := make([]item, 0, len(ids))
	for _, r := range c.DoMulti(ctx, commands...) {
		m, err := r.AsStrMap()
		if err != nil {
			return nil, err
		}
		if len(m) == 0 {
			continue // a stale id
		}
		t, err := itemOfMap(m)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// piped is the same over go-redis, as the page of the example has it: a
// pipeline, no MULTI.
type piped struct{ *redis.Client }

func (c piped) create(ctx context.Context, t item, ttl time.Duration) error {
	now, v := time.Now(), t.values()
	_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, t.hash(), names[0], v[0], names[1], v[1], names[2], v[2], names[3], v[3], names[4], v[4], names[5], v[5])
		p.PExpire(ctx, t.hash(), ttl)
		p.SAdd(ctx, t.byKind(), t.id)
		p.SAdd(ctx, t.byContext(), t.id)
		p.ZAdd(ctx, t.byPriority(), redis.Z{Score: float64(now.UnixMilli()), Member: t.id})
		p.ZAdd(ctx, byExpiry, redis.Z{Score: float64(now.Add(ttl).UnixMilli()), Member: t.id})
		return nil
	})
	return err
}
