package lock

import (
	"context"
	"sync"
	"time"

	"github.com/keywright/keywright"
)

// rooms are where the waiters of one process wait, one room per lock. Only one
// of them stands in the server's queue: a process that dies leaves one dead
// place behind, and a wake-up concerns one goroutine.
type rooms struct {
	client *keywright.Client
	ctx    context.Context
	cancel context.CancelFunc
	chores sync.WaitGroup // places being given back
	free   *keywright.Shared
	leave  *keywright.Shared

	mu     sync.Mutex
	byMain map[string]*room
	ears   map[string]*ear // by channel
	closed bool
}

func newRooms(c *keywright.Client) *rooms {
	ctx, cancel := context.WithCancel(context.Background())
	return &rooms{client: c, ctx: ctx, cancel: cancel, byMain: map[string]*room{}, ears: map[string]*ear{},
		free: keywright.NewShared(c, "lock free", script.free), leave: keywright.NewShared(c, "lock leave", script.leave)}
}

// rooms are those of the lock's client.
func (l Lock) rooms() *rooms { return keywright.Part(l.client, newRooms) }

// Close ends what goes on in the background.
func (all *rooms) Close() {
	all.mu.Lock()
	all.closed = true
	for _, e := range all.ears {
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
func (all *rooms) run(fn func()) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.closed {
		return false
	}
	all.chores.Go(fn)
	return true
}

// chore runs fn in the background, for a second at most, behind a call under way
// (nil: none).
func (all *rooms) chore(behind <-chan struct{}, fn func(context.Context)) {
	running := all.run(func() {
		if behind != nil {
			select {
			case <-behind:
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

// room is the waiters for one lock.
type room struct {
	all  *rooms
	main string
	line []*waiter // behind the one that holds the lock or stands in the server's queue
}

// waiter is one goroutine that wants the lock.
type waiter struct {
	lock  Lock
	kind  kind
	token string
	room  *room           // nil for those that do not wait for others of their process
	turn  chan struct{}   // closed when it may ask the server
	place reply           // of the release that put it into the server's queue
	known bool            // it stands there
	mail  chan string     // what the channel says to it
	asked <-chan struct{} // can be received from, once, when the last call has come back
	heard bool            // it has listened since before it stood in the queue
}

func (w *waiter) name() string {
	if w == nil {
		return ""
	}
	return w.token
}

// told passes on what the server said to the release that put w into the queue.
// If it was not put there, it asks for itself.
func (w *waiter) told(r reply, err error) {
	if w == nil {
		return
	}
	w.known = err == nil && r.held
	w.place = r
	close(w.turn)
}

// now is the turn of who need not wait for others of its process.
var now = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// join makes a waiter. Its turn has come at once if nobody of this process is
// before it.
func (l Lock) join(k kind) *waiter {
	all := l.rooms()
	w := &waiter{lock: l, kind: k, token: l.token()}
	all.mu.Lock()
	defer all.mu.Unlock()
	if e := all.ears[l.keys.Channel]; e != nil && e.open {
		e.add(w)
	}
	if k == together {
		w.turn = now
		return w
	}
	r := all.byMain[l.keys.Main]
	if w.room = r; r != nil {
		w.turn = make(chan struct{})
		r.line = append(r.line, w)
		return w
	}
	w.room = &room{all: all, main: l.keys.Main}
	all.byMain[l.keys.Main] = w.room
	w.turn = now
	return w
}

// next is who comes after the one that held the lock or stood in the queue. If
// there is nobody, the room is gone.
func (r *room) next() *waiter {
	if r == nil {
		return nil
	}
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	if len(r.line) == 0 {
		delete(r.all.byMain, r.main)
		return nil
	}
	w := r.line[0]
	r.line = r.line[1:]
	if e := r.all.ears[w.lock.keys.Channel]; e != nil && e.open && !w.heard {
		e.add(w)
	}
	return w
}

// leave takes a waiter out that has not had its turn; false if it has.
func (w *waiter) leave() bool {
	if w.room == nil {
		return false
	}
	w.room.all.mu.Lock()
	defer w.room.all.mu.Unlock()
	for i, other := range w.room.line {
		if other == w {
			w.room.line = append(w.room.line[:i:i], w.room.line[i+1:]...)
			return true
		}
	}
	return false
}
