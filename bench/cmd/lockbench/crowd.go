package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright/bench/costs"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/bench/wirecount"
)

// crowd is many clients of one kind, each with waiters of one lock.
type crowd struct {
	f       *field
	clients []client
	waiters [][]mutex // by client
	holder  mutex     // of a client of its own
	wire    wirecount.Counter
	inside  atomic.Int32 // callers that believe to have the lock
	broken  atomic.Int64 // how often that was more than one
}

// openCrowd opens the clients and warms them up, so that connections are made and
// scripts are known: the waiters of each client contend for their own lock, so that a
// client that listens when it has to wait has its connection for that, too.
func (f *field) openCrowd(ctx context.Context, who contestant) (*crowd, error) {
	c := &crowd{f: f}
	for i := range f.clients + 1 {
		one, err := who.open(ctx, f.server.Addr, &c.wire)
		if err != nil {
			return c, err
		}
		c.clients = append(c.clients, one)
		if i == f.clients {
			c.holder = one.mutex("lock:contended")
			break
		}
		var mine []mutex
		for range f.waiters {
			mine = append(mine, one.mutex("lock:contended"))
		}
		c.waiters = append(c.waiters, mine)
	}
	n := len(c.clients) * f.waiters
	return c, turns.Each(n, n, func(_, i int) error {
		return once(ctx, c.clients[i/f.waiters].mutex(fmt.Sprintf("lock:warm:%d", i/f.waiters)))
	})
}

func (c *crowd) close() {
	for _, one := range c.clients {
		one.close()
	}
}

// hold keeps a lock that m has, says for how long it was held, and gives
// it back.
func (c *crowd) hold(ctx context.Context, m mutex) (time.Duration, error) {
	began := time.Now()
	if c.inside.Add(1) != 1 {
		c.broken.Add(1)
	}
	live.Pause(context.WithoutCancel(ctx), c.f.hold)
	c.inside.Add(-1)
	held := time.Since(began)
	return held, m.unlock(ctx)
}

// traffic describes what has been sent: calls of the clients, commands of the server.
type traffic struct{ calls, commands float64 }

func (t traffic) per(locks int) traffic {
	return traffic{t.calls / float64(locks), t.commands / float64(locks)}
}

// traffic counts what is sent while do runs, during which the lock must have been held by one at a time.
func (c *crowd) traffic(do func() error) (t traffic, err error) {
	var used costs.Costs
	before := c.wire.Calls()
	err = used.Count(c.f.server, do)
	t = traffic{float64(c.wire.Calls() - before), used.Commands}
	if n := c.broken.Load(); n > 0 && err == nil {
		err = fmt.Errorf("the lock was held by two at once, %d times", n)
	}
	return t, err
}

// each runs f for every waiter and waits for all.
func (c *crowd) each(f func(client, waiter int, m mutex)) {
	n := c.f.clients * c.f.waiters
	_ = turns.Each(n, n, func(_, i int) error {
		client, waiter := i/c.f.waiters, i%c.f.waiters
		f(client, waiter, c.waiters[client][waiter])
		return nil
	})
}
