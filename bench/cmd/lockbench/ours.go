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
		c, err := connect(ctx, addr, count)
		if err != nil {
			return client{}, err
		}
		return client{func(name string) mutex {
			var held *lock.Lease
			l := lock.Open(c, name, lock.Options{Lease: lease, Mode: mode})
			return mutex{func(ctx context.Context) (err error) { held, err = l.Acquire(ctx); return err },
				func(ctx context.Context) error { return held.Release(ctx) }}
		}, c.Close}, nil
	}}
}

func connect(ctx context.Context, addr string, count *wirecount.Counter) (*keywright.Client, error) {
	if count == nil {
		return keywright.Open(ctx, "redis://"+addr, keywright.Options{})
	}
	raw, err := rueidis.NewClient(rueidisOption(addr, count))
	if err != nil {
		return nil, err
	}
	return kernel.New(raw, keywright.Options{}), nil
}
