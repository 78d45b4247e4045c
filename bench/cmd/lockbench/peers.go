package main

import (
	"context"
	"crypto/tls"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/bench/wirecount"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// lease says how long a lock is held at most, everywhere.
const lease = 30 * time.Second

// contestant represents one way to lock. open makes a client with connections of its
// own, whose calls are counted if count is not nil.
type contestant struct {
	name string
	open func(ctx context.Context, addr string, count *wirecount.Counter) (client, error)
}

func (c contestant) String() string { return c.name }

// client describes what one process would have.
type client struct {
	mutex func(name string) mutex // for one goroutine
	close func()
}

type mutex struct {
	lock, unlock func(ctx context.Context) error
}

var compareAndDelete = rueidis.NewLuaScript(
	`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

// bareRueidis is SET NX PX and a script that compares and deletes, by hand: it
// has no fence, no renewal and no way to wait, and is the measure of what a lock
// costs.
func bareRueidis() contestant {
	return contestant{"bare rueidis", func(ctx context.Context, addr string, count *wirecount.Counter) (client, error) {
		c, err := rueidis.NewClient(rueidisOption(addr, count))
		if err != nil {
			return client{}, err
		}
		return client{func(name string) mutex {
			var token string
			return mutex{func(ctx context.Context) error {
				token = strconv.FormatUint(rand.Uint64(), 36)
				return c.Do(ctx, c.B().Set().Key(name).Value(token).Nx().Px(lease).Build()).Error()
			}, func(ctx context.Context) error {
				return compareAndDelete.Exec(ctx, c, []string{name}, []string{token}).Error()
			}}
		}, c.Close}, nil
	}}
}

func rueidisOption(addr string, count *wirecount.Counter) rueidis.ClientOption {
	return rueidis.ClientOption{InitAddress: []string{addr}, DisableRetry: true,
		DialCtxFn: func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return count.Wrap(d.DialContext(ctx, "tcp", addr))
		}}
}

// goRedis returns the client of redsync and redislock. pool is its connections.
func goRedis(addr string, pool int, count *wirecount.Counter) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, PoolSize: pool, MaxRetries: -1,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return count.Wrap((&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, network, addr))
		}})
}

// withRedsync tries for as long as the context lets it; wait 0 is redsync's own
// choice of 50 to 250 ms.
func withRedsync(name string, pool int, wait time.Duration) contestant {
	return contestant{name, func(ctx context.Context, addr string, count *wirecount.Counter) (client, error) {
		c := goRedis(addr, pool, count)
		sync := redsync.New(goredis.NewPool(c))
		options := []redsync.Option{redsync.WithExpiry(lease), redsync.WithTries(1 << 30)}
		if wait > 0 {
			options = append(options, redsync.WithRetryDelay(wait))
		}
		return client{func(name string) mutex {
			m := sync.NewMutex(name, options...)
			return mutex{m.LockContext, func(ctx context.Context) error { return turns.Err(m.UnlockContext(ctx)) }}
		}, func() { c.Close() }}, nil
	}}
}

func withRedislock(name string, pool int, wait time.Duration) contestant {
	return contestant{name, func(ctx context.Context, addr string, count *wirecount.Counter) (client, error) {
		c := goRedis(addr, pool, count)
		locks := redislock.New(c)
		return client{func(name string) mutex {
			var held *redislock.Lock
			options := &redislock.Options{RetryStrategy: redislock.LinearBackoff(wait)}
			return mutex{func(ctx context.Context) (err error) {
				held, err = locks.Obtain(ctx, name, lease, options)
				return err
			}, func(ctx context.Context) error { return held.Release(ctx) }}
		}, func() { c.Close() }}, nil
	}}
}

// withRueidislock is helped twice: one key per lock, as everybody else has here,
// not its default of two of three, and two seconds to get an answer, not 20 ms,
// after which it takes a free lock for a held one.
func withRueidislock() contestant {
	return contestant{"rueidislock, 1 key", func(ctx context.Context, addr string, count *wirecount.Counter) (client,
		error) {
		c, err := rueidislock.NewLocker(rueidislock.LockerOption{ClientOption: rueidisOption(addr, count), KeyMajority: 1,
			TryNextAfter: 2 * time.Second, KeyValidity: lease, NoLoopTracking: true})
		if err != nil {
			return client{}, err
		}
		return client{func(name string) mutex {
			var cancel context.CancelFunc
			return mutex{func(ctx context.Context) (err error) {
				_, cancel, err = c.WithContext(ctx, name)
				return err
			}, func(context.Context) error { cancel(); return nil }}
		}, c.Close}, nil
	}}
}
