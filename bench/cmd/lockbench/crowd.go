package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/wirecount"
)

// crowd is many clients of one kind, each with waiters of one lock.
type crowd struct {
	server  *live.Server
	clients []client
	waiters [][]mutex // by client
	holder  mutex     // of a client of its own
	wire    wirecount.Counter
	inside  atomic.Int32 // callers that believe to have the lock
	broken  atomic.Int64 // how often that was more than one
}

// openCrowd opens the clients and warms them up, so that connections are made and
// scripts are known.
func openCrowd(ctx context.Context, server *live.Server, who contestant, o options) (*crowd, error) {
	c := &crowd{server: server}
	for i := range o.clients + 1 {
		one, err := who.open(ctx, server.Addr, &c.wire)
		if err != nil {
			return c, err
		}
		c.clients = append(c.clients, one)
		if i == o.clients {
			c.holder = one.mutex("lock:contended")
			break
		}
		var mine []mutex
		for range o.waiters {
			mine = append(mine, one.mutex("lock:contended"))
		}
		c.waiters = append(c.waiters, mine)
	}
	return c, c.warm(ctx, o.waiters)
}

// warm lets the waiters of each client contend for their own lock, so that a
// client that listens when it has to wait has its connection for that, too.
func (c *crowd) warm(ctx context.Context, each int) error {
	var all sync.WaitGroup
	errs := make([]error, len(c.clients)*each)
	for i := range errs {
		m := c.clients[i/each].mutex(fmt.Sprintf("lock:warm:%d", i/each))
		all.Go(func() { errs[i] = once(ctx, m) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (c *crowd) close() {
	for _, one := range c.clients {
		one.close()
	}
}

// hold keeps a lock that m has for d, says for how long it was held, and gives
// it back.
func (c *crowd) hold(ctx context.Context, m mutex, d time.Duration) (time.Duration, error) {
	began := time.Now()
	if c.inside.Add(1) != 1 {
		c.broken.Add(1)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
	c.inside.Add(-1)
	held := time.Since(began)
	return held, m.unlock(ctx)
}

// traffic describes what has been sent so far.
type traffic struct{ calls, commands int64 }

// traffic counts calls at the clients, and commands at the server.
func (c *crowd) traffic() (traffic, error) {
	commands, err := c.server.Commands()
	return traffic{c.wire.Calls(), commands}, err
}

// each runs f for every waiter and waits for all.
func (c *crowd) each(f func(client, waiter int, m mutex)) {
	var all sync.WaitGroup
	for i, mine := range c.waiters {
		for j, m := range mine {
			all.Go(func() { f(i, j, m) })
		}
	}
	all.Wait()
}

func (c *crowd) exclusive() error {
	if n := c.broken.Load(); n > 0 {
		return fmt.Errorf("the lock was held by two at once, %d times", n)
	}
	return nil
}
