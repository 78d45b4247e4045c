package event

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"

	"github.com/keywright/keywright"
)

// post describes where a client receives the answers to its calls: one subscription for
// each channel of answers while calls wait for them, however many do.
type post struct {
	name string // on whose channels the answers come

	mu    sync.Mutex
	boxes map[address]*box
}

func newPost(*keywright.Client) *post {
	return &post{name: rand.Text(), boxes: map[address]*box{}}
}

// Close does nothing: calls end by themselves when the client closes.
func (p *post) Close() {}

type address struct {
	channel string
	sharded bool
}

// box represents one channel of answers.
type box struct {
	post  *post
	at    address
	ready chan struct{} // closed when the server has confirmed, or err is set
	err   error
	close func()

	// Guarded by the lock of the post.
	users int
	calls map[string]*inbox // by the id of the request
}

// listening subscribes to a channel of answers.
type listening = func(context.Context) (in *inbox, leave func(), err error)

// answersWaiting says how many answers of all calls may wait for the goroutine that
// gives them to the calls.
const answersWaiting = 1 << 16

// join returns the box of a channel, made by the first one that wants it. If it
// could not be made each one that waited for it tries again.
func (p *post) join(ctx context.Context, at address, listen listening) (*box, error) {
	for {
		p.mu.Lock()
		b := p.boxes[at]
		first := b == nil
		if first {
			b = &box{post: p, at: at, ready: make(chan struct{}), calls: map[string]*inbox{}}
			p.boxes[at] = b
		}
		b.users++
		p.mu.Unlock()
		if first {
			b.open(ctx, listen)
		}
		select {
		case <-b.ready:
			if b.err == nil {
				return b, nil
			}
		case <-ctx.Done():
		}
		b.leave()
		if first || ctx.Err() != nil {
			var err error
			if first { // the others may not look: it is still being opened
				err = b.err
			}
			if err == nil {
				err = &keywright.Error{Class: keywright.NotApplied, Op: "call", Err: context.Cause(ctx)}
			}
			return nil, err
		}
	}
}

// open subscribes, and starts the goroutine that gives answers to calls.
func (b *box) open(ctx context.Context, listen listening) {
	defer close(b.ready)
	in, leave, err := listen(ctx)
	if err != nil {
		b.post.forget(b)
		b.err = err
		return
	}
	run, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			next, ok := in.next(run)
			if !ok {
				return
			}
			b.give(next)
		}
	}()
	b.close = func() { leave(); stop(); <-done }
}

// give hands an item to the call that it is for; a notice to all.
func (b *box) give(next item) {
	var to struct {
		ID string `json:"id"`
	}
	if next.notice == nil && json.Unmarshal([]byte(next.text), &to) != nil {
		return // no answer
	}
	b.post.mu.Lock()
	defer b.post.mu.Unlock()
	if next.notice == nil {
		if call := b.calls[to.ID]; call != nil {
			call.put(next)
		}
		return
	}
	for _, call := range b.calls {
		call.notice(next)
	}
}

// await returns where the answers to one request come, at most n.
func (b *box) await(id string, n int) *inbox {
	in := newInbox(min(max(n, 1), 1024))
	b.post.mu.Lock()
	b.calls[id] = in
	b.post.mu.Unlock()
	return in
}

// done ends the answers of a call.
func (b *box) done(id string) {
	b.post.mu.Lock()
	delete(b.calls, id)
	b.post.mu.Unlock()
	b.leave()
}

// leave closes the box with its last user.
func (b *box) leave() {
	b.post.mu.Lock()
	b.users--
	last := b.users == 0 && b.close != nil
	if last {
		b.post.drop(b)
	}
	b.post.mu.Unlock()
	if last {
		b.close()
	}
}

func (p *post) forget(b *box) {
	p.mu.Lock()
	p.drop(b)
	p.mu.Unlock()
}

// drop is called with the lock held.
func (p *post) drop(b *box) {
	if p.boxes[b.at] == b {
		delete(p.boxes, b.at)
	}
}
