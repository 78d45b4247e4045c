// Package send lets many goroutines of a client that put one job each into a queue share calls to the server, and
// bounds how many calls with many jobs each are under way.
//
// It knows no script: what a call is, its caller says.
package send

import (
	"context"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/coalesce"
	"github.com/keywright/keywright/kernel"
)

// senders holds what a client keeps of its queues.
type senders struct {
	byQueue *shared[Line, Sender]
	rooms   *shared[string, room] // by the first lane
}

// Line describes what jobs that travel together have in common: the form of the call and
// all that its header has.
type Line struct {
	Form                                        int
	Entry, TTL                                  string
	Lanes                                       string
	Plain                                       string // the key of the default lane
	JobBefore, JobAfter                         string
	Leases, Delayed, Dead, Runs, State, Channel string
}

func newSenders(*keywright.Client) *senders {
	return &senders{newShared[Line, Sender](), newShared[string, room]()}
}

// Close has nothing to end: waiting ends with the client's life, and calls with its
// connections.
func (*senders) Close() {}

// Piece represents one job as the script takes it.
type Piece struct{ Keys, Args []string }

func (p Piece) size() (n int) {
	for _, text := range p.Keys {
		n += len(text)
	}
	for _, text := range p.Args {
		n += len(text)
	}
	return n
}

// Put describes what has become of it.
type Put struct {
	Said string // why it is not there
	Err  error
}

// Sender puts jobs of several callers into a queue together.
type Sender = coalesce.Coalescer[Piece, Put]

// mostPut says how many jobs of different callers travel together.
const mostPut = 128

// heavyPut says how many bytes of different callers travel together; a job alone may
// have more.
const heavyPut = 1 << 20

// To returns where jobs of a line get on; put makes one call for the jobs of several callers.
func To(c *keywright.Client, name Line, put func(context.Context, []Piece) []Put) *Sender {
	return kernel.Part(c, newSenders).byQueue.get(name, func() *Sender {
		return coalesce.New(mostPut, put).Weigh(heavyPut, Piece.size).Until(c.Life())
	})
}

// mostBulks says how many calls with many jobs each are under way at a time. More of
// them do not make a server faster: they fill the buffers in between, which then
// leave the caches, and take a tenth longer together.
const mostBulks = 16

// room represents the calls with many jobs each that are under way.
type room struct{ calls chan struct{} }

// Enter waits until there is room for one more call with many jobs, or until ctx ends; lane is the first one of the
// queue.
func Enter(ctx context.Context, c *keywright.Client, lane string) (leave func()) {
	r := kernel.Part(c, newSenders).rooms.get(lane, func() *room {
		return &room{make(chan struct{}, mostBulks)}
	})
	select {
	case r.calls <- struct{}{}:
		return func() { <-r.calls }
	case <-ctx.Done(): // the call says so
	case <-c.Life().Done():
	}
	return func() {}
}

// Bulks returns how many calls with many jobs each are under way. It is for tests.
func Bulks(c *keywright.Client, lane string) int {
	return len(kernel.Part(c, newSenders).rooms.get(lane, func() *room { return &room{} }).calls)
}

// Kept returns how many queues a client keeps something of. It is for tests.
func Kept(c *keywright.Client) int {
	s := kernel.Part(c, newSenders)
	return s.byQueue.size() + s.rooms.size()
}
