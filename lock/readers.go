package lock

import (
	"context"
	"errors"
)

// Readers of one process have one place in the server's queue, as writers have.
// The one that is there, once it is served, lets in the readers next in line that
// had come by then: many in one call, with leases of their own. One of those goes
// on where many are not all.

// mostReaders says how many are let in by one call: it holds up the server.
const mostReaders = 250

// group describes what a reader has to do with those that are let in together.
type group struct {
	in    bool   // another one lets it in
	given bool   // it was let in: waiter.place is its lease
	leads bool   // it lets in the others once it is in
	until uint64 // that came up to here
}

// isFirst reports whether w is the one of its process that is in the server's queue,
// and takes the others along.
func (w *waiter) isFirst() bool { return !w.group.in || w.group.leads }

// readers takes the readers out that are next in line and came up to until.
func (r *lockWaiters) readers(until uint64) (out []*waiter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for w := r.line.first; w != nil && len(out) < mostReaders; w = r.line.first {
		if w.kind != together || w.lock.o.Replicas > 0 || w.came > until {
			break
		}
		r.line.remove(w)
		w.group = group{in: true}
		out = append(out, w)
	}
	return out
}

// putBack puts readers back to the front of the line, in their order.
func (r *lockWaiters) putBack(all []*waiter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(all) - 1; i >= 0; i-- {
		if w := all[i]; w.gone {
			close(w.turn)
		} else {
			w.group.in = false
			r.line.putBack(w)
		}
	}
}

// seen returns how many waiters have joined.
func (r *lockWaiters) seen() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.came
}

// bring lets in the readers that waited for w, which holds the lock together with
// others now; after them the next of this process asks for itself. One call at
// most.
func (w *waiter) bring(ctx context.Context) {
	if w.peers == nil || !w.isFirst() {
		return
	}
	until := w.group.until
	if !w.group.leads {
		until = w.peers.seen()
	}
	all := w.peers.readers(until)
	if len(all) > 0 {
		switch r, err := w.lock.share(ctx, w.token, all); {
		case err != nil: // some may be in: each asks for itself
			all[0].group.leads, all[0].group.until = true, until
			for _, other := range all {
				other.wakeWith(reply{}, err)
			}
			return
		case r.held:
			all[0].group.leads, all[0].group.until = true, until
			for i, other := range all {
				other.group.given = true
				other.wakeWith(reply{held: true, fence: r.fence + int64(i), sent: r.sent}, nil)
			}
			return
		}
		w.peers.putBack(all)
	}
	w.peers.next().wakeWith(reply{}, errAsk)
}

// errAsk tells a waiter to ask for itself.
var errAsk = errors.New("nothing was asked for it")

// share lets readers in beside the holder of a token.
func (l Lock) share(ctx context.Context, token string, all []*waiter) (reply, error) {
	args := make([]string, 0, 2+2*len(all))
	args = append(args, token, helpersText)
	for _, w := range all {
		args = append(args, milliseconds(w.lock.lease()), w.token)
	}
	return l.call(ctx, "share", script.share, []string{l.keys.Shared, l.keys.Fence}, args...)
}
