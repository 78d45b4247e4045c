package main

import (
	"context"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bench/wirecount"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/lock"
	"github.com/redis/rueidis"
)

// ours has everything on that it has by default: fencing token, renewal, a
// context that ends with the lease.
func ours(name string, mode lock.Mode) contestant {
	return contestant{name, func(ctx context.Context, addr string, count *wirecount.Counter) (client, error) {
		if count == nil {
			c, err := keywright.Open(ctx, "redis://"+addr, keywright.Options{})
			return oursClient{c, mode}, err
		}
		raw, err := rueidis.NewClient(rueidisOption(addr, count))
		if err != nil {
			return nil, err
		}
		return oursClient{kernel.New(raw, keywright.Options{}), mode}, nil
	}}
}

type oursClient struct {
	*keywright.Client
	mode lock.Mode
}

func (c oursClient) close() { c.Client.Close() }
func (c oursClient) mutex(name string) mutex {
	return &oursMutex{of: lock.Open(c.Client, name, lock.Options{Lease: lease, Mode: c.mode})}
}

type oursMutex struct {
	of   lock.Lock
	held *lock.Lease
}

func (m *oursMutex) lock(ctx context.Context) (err error) {
	m.held, err = m.of.Acquire(ctx)
	return err
}

func (m *oursMutex) unlock(ctx context.Context) error { return m.held.Release(ctx) }
