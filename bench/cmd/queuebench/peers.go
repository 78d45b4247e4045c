package main

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/keywright/keywright/bench/turns"
	"github.com/redis/rueidis"
)

// contestant represents one way to have a queue. open makes a client with connections of
// its own.
type contestant struct {
	name  string
	batch int           // how many jobs its worker takes at once
	poll  time.Duration // how often its worker looks when there is nothing; 0: it is woken
	open  func(ctx context.Context, addr string) (jobs, error)
}

func (c contestant) String() string { return c.name }

// jobs represents a queue of texts.
type jobs interface {
	enqueue(ctx context.Context, payload string) error
	enqueueAll(ctx context.Context, payloads []string) error // in one call, if it has one
	// work starts a worker; stop waits until it has ended.
	work(ctx context.Context, concurrency, batch int, handle func(payload string)) (stop func() error, err error)
	close()
}

// bareRueidis is LPUSH, BLMOVE and LREM by hand: no lease, no retry, no way to
// find what a dead worker had. It is the measure of what a list costs.
func bareRueidis() contestant {
	return contestant{"bare rueidis, a list", 1, 0, func(ctx context.Context, addr string) (jobs, error) {
		c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableRetry: true,
			BlockingPoolSize: 256})
		return bare{c}, err
	}}
}

type bare struct{ rueidis.Client }

func (b bare) close() { b.Client.Close() }

func (b bare) enqueue(ctx context.Context, payload string) error {
	return b.Do(ctx, b.B().Lpush().Key("bare:{q}:ready").Element(payload).Build()).Error()
}

func (b bare) enqueueAll(ctx context.Context, payloads []string) error {
	return b.Do(ctx, b.B().Lpush().Key("bare:{q}:ready").Element(payloads...).Build()).Error()
}

func (b bare) work(ctx context.Context, concurrency, _ int, handle func(string)) (func() error, error) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for range concurrency {
		all.Go(func() {
			for ctx.Err() == nil {
				b.one(ctx, handle)
			}
		})
	}
	return func() error { cancel(); all.Wait(); return nil }, nil
}

func (b bare) one(ctx context.Context, handle func(string)) {
	payload, err := b.Do(ctx,
		b.B().Blmove().Source("bare:{q}:ready").Destination("bare:{q}:active").Right().Left().Timeout(1).Build()).ToString()
	if err == nil {
		handle(payload)
		b.Do(ctx, b.B().Lrem().Key("bare:{q}:active").Count(1).Element(payload).Build())
	}
}

// withAsynq has a pool that fits the concurrency; interval 0 is its own second.
func withAsynq(name string, interval time.Duration) contestant {
	poll := interval
	if poll == 0 {
		poll = time.Second
	}
	return contestant{name, 1, poll, func(ctx context.Context, addr string) (jobs, error) {
		option := asynq.RedisClientOpt{Addr: addr, PoolSize: 128}
		return &asynqJobs{option, asynq.NewClient(option), interval}, nil
	}}
}

type asynqJobs struct {
	option   asynq.RedisClientOpt
	client   *asynq.Client
	interval time.Duration
}

func (a *asynqJobs) close() { a.client.Close() }

func (a *asynqJobs) enqueue(ctx context.Context, payload string) error {
	return turns.Err(a.client.EnqueueContext(ctx, asynq.NewTask("bench", []byte(payload))))
}

// enqueueAll has no call of its own in this version: as many at once as are good
// for it.
func (a *asynqJobs) enqueueAll(ctx context.Context, payloads []string) error {
	return turns.Each(16*runtime.GOMAXPROCS(0), len(payloads),
		func(_, i int) error { return a.enqueue(ctx, payloads[i]) })
}

func (a *asynqJobs) work(ctx context.Context, concurrency, _ int, handle func(string)) (func() error, error) {
	server := asynq.NewServer(a.option, asynq.Config{Concurrency: concurrency, TaskCheckInterval: a.interval,
		LogLevel:    asynq.FatalLevel,
		BaseContext: func() context.Context { return ctx }})
	err := server.Start(asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
		handle(string(t.Payload()))
		return nil
	}))
	return func() error { server.Shutdown(); return nil }, err
}
