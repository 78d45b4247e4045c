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
type client interface {
	mutex(name string) mutex // for one goroutine
	close()
}

type mutex interface {
	lock(ctx context.Context) error
	unlock(ctx context.Context) error
}

// bareRueidis is SET NX PX and a script that compares and deletes, by hand: it
// has no fence, no renewal and no way to wait, and is the measure of what a lock
// costs.
func bareRueidis() contestant {
	return contestant{"bare rueidis", func(ctx context.Context, addr string, count *wirecount.Counter) (client, error) {
		c, err := rueidis.NewClient(rueidisOption(addr, count))
		return bareClient{c}, err
	}}
}

func rueidisOption(addr string, count *wirecount.Counter) rueidis.ClientOption {
	o := rueidis.ClientOption{InitAddress: []string{addr}, DisableRetry: true}
	if count != nil {
		o.DialCtxFn = func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return counting(count)(d.DialContext(ctx, "tcp", addr))
		}
	}
	return o
}

func counting(count *wirecount.Counter) func(net.Conn, error) (net.Conn, error) {
	return func(conn net.Conn, err error) (net.Conn, error) {
		if err != nil || count == nil {
			return conn, err
		}
		return count.Wrap(conn), nil
	}
}

type bareClient struct{ rueidis.Client }

func (c bareClient) close()                  { c.Client.Close() }
func (c bareClient) mutex(name string) mutex { return &bareMutex{client: c.Client, name: name} }

type bareMutex struct {
	client      rueidis.Client
	name, token string
}

var compareAndDelete = rueidis.NewLuaScript(
	`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

func (m *bareMutex) lock(ctx context.Context) error {
	m.token = strconv.FormatUint(rand.Uint64(), 36)
	return m.client.Do(ctx, m.client.B().Set().Key(m.name).Value(m.token).Nx().Px(lease).Build()).Error()
}

func (m *bareMutex) unlock(ctx context.Context) error {
	return compareAndDelete.Exec(ctx, m.client, []string{m.name}, []string{m.token}).Error()
}

// goRedis returns the client of redsync and redislock. pool is its connections.
func goRedis(addr string, pool int, count *wirecount.Counter) *redis.Client {
	o := &redis.Options{Addr: addr, PoolSize: pool, MaxRetries: -1}
	if count != nil {
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			return counting(count)((&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, network, addr))
		}
	}
	return redis.NewClient(o)
}

// withRedsync tries for as long as the context lets it; wait 0 is redsync's own
// choice of 50 to 250 ms.
func withRedsync(name string, pool int, wait time.Duration) contestant {
	return contestant{name, func(ctx context.Context, addr string, count *wirecount.Counter) (client, error) {
		c := goRedis(addr, pool, count)
		options := []redsync.Option{redsync.WithExpiry(lease), redsync.WithTries(1 << 30)}
		if wait > 0 {
			options = append(options, redsync.WithRetryDelay(wait))
		}
		return redsyncClient{c, redsync.New(goredis.NewPool(c)), options}, nil
	}}
}

type redsyncClient struct {
	redis   *redis.Client
	redsync *redsync.Redsync
	options []redsync.Option
}

func (c redsyncClient) close() { c.redis.Close() }
func (c redsyncClient) mutex(name string) mutex {
	return redsyncMutex{c.redsync.NewMutex(name, c.options...)}
}

type redsyncMutex struct{ *redsync.Mutex }

func (m redsyncMutex) lock(ctx context.Context) error { return m.LockContext(ctx) }
func (m redsyncMutex) unlock(ctx context.Context) error {
	return turns.Err(m.UnlockContext(ctx))
}

func withRedislock(name string, pool int, wait time.Duration) contestant {
	return contestant{name, func(ctx context.Context, addr string, count *wirecount.Counter) (client, error) {
		c := goRedis(addr, pool, count)
		return redislockClient{c, redislock.New(c), wait}, nil
	}}
}

type redislockClient struct {
	redis  *redis.Client
	client *redislock.Client
	wait   time.Duration
}

func (c redislockClient) close() { c.redis.Close() }
func (c redislockClient) mutex(name string) mutex {
	return &redislockMutex{client: c.client, name: name,
		options: redislock.Options{RetryStrategy: redislock.LinearBackoff(c.wait)}}
}

type redislockMutex struct {
	client  *redislock.Client
	name    string
	options redislock.Options
	held    *redislock.Lock
}

func (m *redislockMutex) lock(ctx context.Context) (err error) {
	m.held, err = m.client.Obtain(ctx, m.name, lease, &m.options)
	return err
}

func (m *redislockMutex) unlock(ctx context.Context) error { return m.held.Release(ctx) }

// withRueidislock is helped twice: one key per lock, as everybody else has here,
// not its default of two of three, and two seconds to get an answer, not 20 ms,
// after which it takes a free lock for a held one.
func withRueidislock() contestant {
	return contestant{"rueidislock, 1 key",
		func(ctx context.Context, addr string, count *wirecount.Counter) (client, error) {
			c, err := rueidislock.NewLocker(rueidislock.LockerOption{ClientOption: rueidisOption(addr, count), KeyMajority: 1,
				TryNextAfter: 2 * time.Second, KeyValidity: lease, NoLoopTracking: true})
			return rueidislockClient{c}, err
		}}
}

type rueidislockClient struct{ rueidislock.Locker }

func (c rueidislockClient) close() { c.Locker.Close() }
func (c rueidislockClient) mutex(name string) mutex {
	return &rueidislockMutex{locker: c.Locker, name: name}
}

type rueidislockMutex struct {
	locker rueidislock.Locker
	name   string
	cancel context.CancelFunc
}

func (m *rueidislockMutex) lock(ctx context.Context) (err error) {
	_, m.cancel, err = m.locker.WithContext(ctx, m.name)
	return err
}

func (m *rueidislockMutex) unlock(context.Context) error {
	m.cancel()
	return nil
}
