package lock

import (
	"context"
	"time"

	"github.com/redis/rueidis"
)

// unwatched is how long a hold lasts before it begins to hear of changes of its
// key: most are shorter, and are not to pay for it.
const unwatched = 100 * time.Millisecond

// watched tells a holder at once that its key was deleted, overwritten or given
// another TTL, by server-assisted client-side caching. It is an early warning
// only: what a holder relies on is its deadline.
type watched struct {
	changed chan struct{}
	stop    func()
	on      bool
}

func (lease *Lease) listen() watched {
	w := watched{changed: make(chan struct{}, 1), stop: func() {}}
	if lease.kind == alone {
		w.stop, w.on = lease.lock.client.OnInvalidation(lease.lock.keys.Main, w.tell)
	}
	return w
}

func (w watched) tell() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// look reads the key in a way that makes the server tell the next change, and
// ends the lease if it holds the token of somebody else, or none.
func (lease *Lease) look(w watched) {
	if !w.on {
		return
	}
	raw := lease.lock.client.Raw()
	ctx, cancel := context.WithDeadline(lease.life.context(), lease.Deadline())
	defer cancel()
	token, err := raw.DoCache(ctx, raw.B().Get().Key(lease.lock.keys.Main).Cache(), lease.lock.lease()).ToString()
	if rueidis.IsRedisNil(err) || err == nil && token != lease.token {
		lease.life.lose()
	}
}
