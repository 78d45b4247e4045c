package queue

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/coalesce"
	"github.com/keywright/keywright/kernel"
)

// senders let many goroutines of a client that enqueue one job each share calls
// to the server.
type senders struct {
	byQueue *shared[line, coalesce.Coalescer[piece, put]]
	rooms   *shared[string, room] // by the first lane
}

// line describes what jobs that travel together have in common: the form of the call and
// all that its header has.
type line struct {
	form                                        form
	entry, ttl                                  string
	lanes                                       string
	plain                                       string // the key of the default lane
	job                                         Name
	leases, delayed, dead, runs, state, channel string
}

func newSenders(*keywright.Client) *senders {
	return &senders{newShared[line, coalesce.Coalescer[piece, put]](), newShared[string, room]()}
}

// Close has nothing to end: waiting ends with the client's life, and calls with its
// connections.
func (*senders) Close() {}

// byForm holds the senders that a Queue has used.
type byForm [full + 1]atomic.Pointer[coalesce.Coalescer[piece, put]]

// piece represents one job as the script takes it.
type piece struct{ keys, args []string }

// piece returns one with room for a job.
func (f form) piece() piece {
	keys, args := 2, 7
	if f == plain {
		keys, args = 1, 1
	}
	all := make([]string, keys+args)
	return piece{all[:0:keys], all[keys:keys:len(all)]}
}

// put describes what has become of it.
type put struct {
	said string // why it is not there, see instead
	err  error
}

// mostPut says how many jobs of different callers travel together.
const mostPut = 128

// heavyPut says how many bytes of different callers travel together; a job alone may
// have more.
const heavyPut = 1 << 20

func (p piece) size() (n int) {
	for _, text := range p.keys {
		n += len(text)
	}
	for _, text := range p.args {
		n += len(text)
	}
	return n
}

// sender returns where jobs of a form get on. A Queue asks for it once.
func (q Queue[T]) sender(f form) *coalesce.Coalescer[piece, put] {
	g := q.senders[f].Load()
	if g == nil {
		g = q.findSender(f)
		q.senders[f].Store(g)
	}
	return g
}

func (q Queue[T]) findSender(f form) *coalesce.Coalescer[piece, put] {
	k := q.keys
	name := line{f, q.entry.Name, q.ttl(), strings.Join(q.laneKeys(), "\n"), k.plain().Key, k.Job, k.Leases,
		k.Delayed, k.Dead, k.Runs, k.State, k.Channel}
	return kernel.Part(q.client, newSenders).byQueue.get(name, func() *coalesce.Coalescer[piece, put] {
		put := func(ctx context.Context, p []piece) []put { return q.putAll(ctx, f, p) }
		return coalesce.New(mostPut, put).Weigh(heavyPut, piece.size).Until(q.client.Life())
	})
}

// putAll returns one call for the jobs of several callers.
func (q Queue[T]) putAll(ctx context.Context, f form, pieces []piece) []put {
	keys, args := q.header(f, len(pieces))
	for _, p := range pieces {
		keys, args = append(keys, p.keys...), append(args, p.args...)
	}
	out := make([]put, len(pieces))
	others, err := q.run(ctx, "enqueue", f.script(), keywright.Idempotent, keys, args)
	for i := range out {
		if err != nil || i >= len(others) {
			out[i].err = err
		} else {
			out[i].said, _ = others[i].ToString()
		}
	}
	return out
}

// mostBulks says how many calls with many jobs each are under way at a time. More of
// them do not make a server faster: they fill the buffers in between, which then
// leave the caches, and take a tenth longer together.
const mostBulks = 16

// room represents the calls with many jobs each that are under way.
type room struct{ calls chan struct{} }

// enter waits until there is room for one more of these calls, or until ctx ends.
func (q Queue[T]) enter(ctx context.Context) (leave func()) {
	r := kernel.Part(q.client, newSenders).rooms.get(q.keys.Lanes[0].Key, func() *room {
		return &room{make(chan struct{}, mostBulks)}
	})
	select {
	case r.calls <- struct{}{}:
		return func() { <-r.calls }
	case <-ctx.Done(): // the call says so
	case <-q.client.Life().Done():
	}
	return func() {}
}
