package lock

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// localWaiters describes where the waiters of one process wait, one lockWaiters per lock. Only one
// of them is in the server's queue: a process that dies leaves one dead place
// there, and a wake-up concerns one goroutine.
type localWaiters struct {
	client *keywright.Client
	ctx    context.Context
	cancel context.CancelFunc
	chores sync.WaitGroup // places being given back
	free   *kernel.Shared
	leave  *kernel.Shared
	slow   atomic.Int64 // how long calls take, in ns

	mu            sync.Mutex
	byMain        map[string]*lockWaiters
	subscriptions map[string]*subscription // by channel
	closed        bool
}

func newLocalWaiters(c *keywright.Client) *localWaiters {
	ctx, cancel := context.WithCancel(context.Background())
	return &localWaiters{client: c, ctx: ctx, cancel: cancel,
		byMain: map[string]*lockWaiters{}, subscriptions: map[string]*subscription{},
		free: kernel.NewShared(c, "lock free", script.free), leave: kernel.NewShared(c, "lock leave", script.leave)}
}

// localWaiters returns those of the lock's client.
func (l Lock) localWaiters() *localWaiters { return kernel.Part(l.client, newLocalWaiters) }

// Close ends what goes on in the background.
func (all *localWaiters) Close() {
	all.mu.Lock()
	all.closed = true
	for _, e := range all.subscriptions {
		e.timer.Stop()
	}
	all.mu.Unlock()
	all.cancel()
	done := make(chan struct{})
	go func() { all.chores.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Second): // one may be making a connection to a server that is frozen: it ends after the client's Timeout
	}
}

// run runs fn in the background; Close waits for it. False when closed.
func (all *localWaiters) run(fn func()) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.closed {
		return false
	}
	all.chores.Go(fn)
	return true
}

// chore runs fn in the background, for a second at most, after a call under way
// (nil: none).
func (all *localWaiters) chore(after <-chan struct{}, fn func(context.Context)) {
	running := all.run(func() {
		if after != nil {
			select {
			case <-after:
			case <-all.ctx.Done(): // a server that is frozen may never answer
			}
		}
		ctx, cancel := context.WithTimeout(all.ctx, time.Second)
		defer cancel()
		fn(ctx)
	})
	if !running {
		fn(all.ctx)
	}
}

// lockWaiters represents the waiters for one lock.
type lockWaiters struct {
	all  *localWaiters
	main string

	mu   sync.Mutex // its own: thousands that leave do not hold up other locks
	line line       // after the one that holds the lock or has the place in the server's queue
	came uint64     // how many have joined
}

// waiter represents one goroutine that wants the lock.
type waiter struct {
	lock       Lock
	kind       kind
	token      string
	claim      string          // how long it may take to show that it lives, in ms; set when it first asks
	peers      *lockWaiters    // nil for those that do not wait for others of their process
	link       link            // in the line of peers
	came       uint64          // its number among those who came
	gone       bool            // it has left while a call was to let it in
	group      group           // of readers
	turn       chan struct{}   // closed when it may ask the server
	place      reply           // of the release that put it into the server's queue
	known      bool            // it is there
	inbox      chan string     // what the channel says to it
	asked      <-chan struct{} // can be received from, once, when the last call has come back
	subscribed bool            // it has listened since before it was in the queue
	seen       bool            // the server has said that another one has the lock
	since      time.Time       // of the first question without an answer; zero: none
}

// member returns its place in the server's queue, "" for none.
func (w *waiter) member() string {
	if w == nil {
		return ""
	}
	return string(w.kind) + w.claims() + " " + w.token
}

// claims returns how long it may take to show that it lives: four times what calls
// have taken, if that is more than was asked for.
func (w *waiter) claims() string {
	if w.claim == "" {
		slow := 4 * time.Duration(w.lock.localWaiters().slow.Load())
		w.claim = milliseconds(min(max(w.lock.claim(), slow), w.lock.lease()))
	}
	return w.claim
}

// took notes how long a call took: of the last ones the slowest, which is
// forgotten by and by.
func (all *localWaiters) took(d time.Duration) {
	old := all.slow.Load()
	if n := int64(d); n < old {
		all.slow.Store(old - (old-n)/8)
	} else {
		all.slow.Store(n)
	}
}

// wakeWith wakes w with the reply of the release that queued it.
// If it was not put there, it asks for itself.
func (w *waiter) wakeWith(r reply, err error) {
	if w == nil {
		return
	}
	w.known = err == nil && r.held
	w.place = r
	close(w.turn)
}

// now is a closed channel, for a caller that need not wait for others of its process.
var now = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// busy reports whether a caller of this process waits for the lock, or holds it
// alone.
func (l Lock) busy() bool {
	all := l.localWaiters()
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.byMain[l.keys.Main] != nil
}

// join adds a waiter to those of its lock. Its turn has come at once if
// none of this process is before it.
func (w *waiter) join() {
	all, main := w.lock.localWaiters(), w.lock.keys.Main
	all.mu.Lock()
	defer all.mu.Unlock()
	if r := all.byMain[main]; r != nil {
		w.peers, w.turn = r, make(chan struct{})
		w.claims() // others read it from now on
		r.mu.Lock()
		defer r.mu.Unlock()
		r.came++
		w.came = r.came
		r.line.push(w)
		return
	}
	w.peers, w.turn = &lockWaiters{all: all, main: main}, now
	all.byMain[main] = w.peers
	all.open(w)
}

// open adds w to an existing subscription. The caller holds mu.
func (all *localWaiters) open(w *waiter) {
	if e := all.subscriptions[w.lock.keys.Channel]; e != nil && e.open && !w.subscribed {
		e.add(w)
	}
}

// next returns the waiter after the one that held the lock or was in the queue. Without one r is removed.
func (r *lockWaiters) next() *waiter {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	w := r.line.pop()
	r.mu.Unlock()
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	if w == nil {
		r.mu.Lock()
		if w = r.line.pop(); w == nil && r.all.byMain[r.main] == r { // none has come meanwhile
			delete(r.all.byMain, r.main)
		}
		r.mu.Unlock()
	}
	if w != nil {
		r.all.open(w)
	}
	return w
}

// leave takes a waiter out that has not had its turn; false if it has, or is
// just having it.
func (w *waiter) leave() bool {
	if w.peers == nil {
		return false
	}
	w.peers.mu.Lock()
	defer w.peers.mu.Unlock()
	w.gone = true
	return w.peers.line.remove(w)
}

// line is waiters in the order in which they came. Each is taken out in one
// step, wherever it is.
type line struct {
	first, last *waiter
	n           int
}

// link describes where a waiter is in a line.
type link struct {
	before, after *waiter
	in            bool
}

func (l *line) push(w *waiter) {
	w.link = link{before: l.last, in: true}
	if l.last == nil {
		l.first = w
	} else {
		l.last.link.after = w
	}
	l.last = w
	l.n++
}

// putBack puts one that was first in front again.
func (l *line) putBack(w *waiter) {
	w.link = link{after: l.first, in: true}
	if l.first == nil {
		l.last = w
	} else {
		l.first.link.before = w
	}
	l.first = w
	l.n++
}

// remove takes w out; false if it is not in the line.
func (l *line) remove(w *waiter) bool {
	if !w.link.in {
		return false
	}
	if w.link.before == nil {
		l.first = w.link.after
	} else {
		w.link.before.link.after = w.link.after
	}
	if w.link.after == nil {
		l.last = w.link.before
	} else {
		w.link.after.link.before = w.link.before
	}
	w.link = link{}
	l.n--
	return true
}

// pop takes the first one out, nil if there is none.
func (l *line) pop() *waiter {
	w := l.first
	if w != nil {
		l.remove(w)
	}
	return w
}
