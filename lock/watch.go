package lock

import (
	"context"
	"sync"
	"time"

	"github.com/keywright/keywright/kernel"
)

// unwatched says how long a hold lasts before it subscribes to changes of its
// key: most are shorter, and are not to pay for it.
const unwatched = 100 * time.Millisecond

// watched tells a holder at once that its key was deleted, overwritten or given
// another TTL, by server-assisted client-side caching. It is an early warning
// only: what a holder relies on is its deadline.
type watched struct {
	lease   *Lease
	changed chan struct{}
	stop    func()
	on      bool

	looks sync.WaitGroup
	mu    sync.Mutex
	busy  bool // a caller looks
	again bool // and is to look once more
}

func (lease *Lease) listen() *watched {
	w := &watched{lease: lease, changed: make(chan struct{}, 1), stop: func() {}}
	if lease.kind == alone {
		w.stop, w.on = lease.lock.client.OnInvalidation(lease.lock.keys.Main, w.tell)
	}
	return w
}

// end ends the hearing. The lease is over by then, and so is every look.
func (w *watched) end() {
	w.stop()
	w.looks.Wait()
}

// look looks at the key in the background, after a look that goes on.
func (w *watched) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !w.on:
	case w.busy:
		w.again = true
	default:
		w.busy = true
		w.looks.Go(w.run)
	}
}

func (w *watched) run() {
	for more := true; more; {
		w.lease.look()
		w.mu.Lock()
		more, w.again = w.again, false
		w.busy = more
		w.mu.Unlock()
	}
}

func (w *watched) tell() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// look reads the key in a way that makes the server tell the next change, and
// ends the lease if it holds the token of another one, or none.
func (lease *Lease) look() {
	raw := lease.lock.client.Raw()
	ctx, cancel := context.WithDeadline(lease.life.context(), lease.Deadline())
	defer cancel()
	token, err := raw.DoCache(ctx, raw.B().Get().Key(lease.lock.keys.Main).Cache(), lease.lock.lease()).ToString()
	if kernel.IsNil(err) || err == nil && token != lease.token {
		lease.life.lose()
	}
}
