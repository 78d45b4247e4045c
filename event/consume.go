package event

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/maphash"
	"os"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/notice"
)

// RunOptions of a consumer. The zero value is a good choice.
type RunOptions[M any] struct {
	// Concurrency is how many messages are handled at once; 0: 1.
	Concurrency int
	// Key keeps the order: messages with the same key are handled one after the
	// other, in the order of the stream, and one that fails holds up those after
	// it until it is done or dead. It holds within one consumer: a second one in
	// the same group gets other messages, whatever their key. nil: all messages
	// have the same key if Concurrency is 1, else no order. If it panics, its
	// message becomes a dead letter.
	Key func(M) string
	// Batch is how many messages a consumer has in hand at most; 0: 100.
	Batch int
	// Lease is how long a consumer may be silent before others claim its
	// messages; 0: 30 s. It gives a sign of life eight times as often.
	Lease time.Duration
	// Backoff is the wait before a failed message is tried again; it doubles up
	// to Lease. 0: 100 ms.
	Backoff time.Duration
	// Grace is how long handlers may go on when Run is to end; 0: 10 s.
	Grace time.Duration
	// New begins a group that does not exist yet after the newest message; else
	// it begins with the oldest that is kept.
	New bool
	// Name of the consumer; "": host, process id and a random part. No two that
	// live may have the same. A consumer with a name that was used before first
	// handles what is pending for that name.
	Name string
	// OnError hears of failed calls, dead letters (*Buried), messages that were
	// trimmed before they were acknowledged (*Trimmed), and messages that are left
	// to other consumers (*NewerForm, or sealed with a key that is not here); nil:
	// the logger of the client does, at most once a second. The consumer goes on
	// when it has returned. Several goroutines may call it at once.
	OnError func(error)
}

// Buried says that a message has become a dead letter.
type Buried struct {
	ID     string
	Reason error // the handler's error, ErrAbandoned, or what was wrong with the message
}

func (b *Buried) Error() string {
	return fmt.Sprintf("the message %s became a dead letter: %v", b.ID, b.Reason)
}

// Unwrap returns the reason.
func (b *Buried) Unwrap() error { return b.Reason }

// Trimmed says that messages were trimmed before anybody had acknowledged them.
type Trimmed struct{ IDs []string }

func (t *Trimmed) Error() string {
	return fmt.Sprintf("%d messages were trimmed before they were acknowledged; keep more of them (maxlen, age)",
		len(t.IDs))
}

// What ends a handler's context early; see context.Cause.
var (
	ErrLost     = errors.New("the message is not this consumer's any more: it gave no sign of life for too long")
	ErrShutdown = errors.New("the consumer is to end")
)

// ErrAbandoned reports the reason of a dead letter whose handlers never returned: its
// consumers died, or were silent for a lease.
var ErrAbandoned = errors.New("its consumers died or lost it")

// Discard wraps an error of a handler so that the message becomes a dead letter
// at once.
func Discard(err error) error { return &discard{err} }

type discard struct{ error }

func (d *discard) Unwrap() error { return d.error }

// StreamHandler handles one message. nil acknowledges it; an error brings it
// again after a while, and makes it a dead letter after the declared number of
// deliveries. A panic and runtime.Goexit count as errors. It must return soon
// when ctx ends.
type StreamHandler[M any] func(ctx context.Context, m Stored[M]) error

// Run hands the messages of a consumer group to handle until ctx ends, and
// returns when the last handler has; what was not done is given back. It makes
// the group if there is none. A right or a command that is missing, or a key of
// another type, ends it with a *keywright.Error that names it. An idle one blocks at
// the server and sends about two commands a second. Any number of consumers may run, in any process: each
// message goes to one of them at a time, at least once. When the client closes it
// ends with keywright.ErrClosed.
func (s Stream[M]) Run(ctx context.Context, group string, handle StreamHandler[M], o RunOptions[M]) error {
	if err := s.runnable(group, handle, o); err != nil {
		return s.invalid("run", err)
	}
	ctx, end := s.client.While(ctx)
	defer end()
	ctx, halt := context.WithCancelCause(ctx)
	defer halt(nil)
	c := newConsumer(s, group, handle, o)
	c.halt = halt
	alive, die := context.WithCancelCause(context.WithoutCancel(ctx)) // handlers end later than ctx
	defer die(nil)
	stop := context.AfterFunc(ctx, func() { c.expire(ctx, alive, die) })
	defer stop()
	var wg sync.WaitGroup
	over, stopKeeping := context.WithCancel(context.WithoutCancel(ctx))
	defer stopKeeping()
	wg.Go(func() { c.keep(over) })
	var lanes sync.WaitGroup
	for _, lane := range c.lanes {
		lanes.Go(func() { c.work(ctx, alive, lane) })
	}
	c.read(ctx)
	for _, lane := range c.lanes {
		close(lane)
	}
	lanes.Wait()
	stopKeeping()
	wg.Wait()
	if err := s.client.Ended(ctx, "run", s.entry); err != nil {
		return err
	}
	c.end(ctx)
	return nil
}

func (s Stream[M]) runnable(group string, handle StreamHandler[M], o RunOptions[M]) error {
	switch {
	case s.usable() != nil:
		return s.usable()
	case group == "":
		return errors.New("the group has no name")
	case handle == nil:
		return errors.New("there is no handler")
	case o.Concurrency < 0 || o.Batch < 0 || o.Lease < 0 || o.Backoff < 0 || o.Grace < 0:
		return errors.New("an option is negative")
	case o.Concurrency > mostInHand || o.Batch > mostInHand:
		return fmt.Errorf("the concurrency or the batch is over %d", mostInHand)
	}
	return nil
}

// mostInHand bounds what a consumer has in hand.
const mostInHand = 10_000

// expire ends the context of handlers: at once when the client closes, since
// nothing can be acknowledged then, else after Grace.
func (c *consumer[M]) expire(ctx, alive context.Context, die context.CancelCauseFunc) {
	if errors.Is(context.Cause(ctx), keywright.ErrClosed) {
		die(keywright.ErrClosed)
		return
	}
	timer := time.AfterFunc(c.o.Grace, func() { die(ErrShutdown) })
	context.AfterFunc(alive, func() { timer.Stop() })
}

// consumer represents one Run.
type consumer[M any] struct {
	stream Stream[M]
	group  string
	handle StreamHandler[M]
	o      RunOptions[M]
	lanes  []chan *delivery[M]
	seed   maphash.Seed
	life   context.Context         // until the client closes
	halt   context.CancelCauseFunc // ends the Run, for a refusal that time does not heal

	// Of the goroutine that reads.
	turn    int
	made    bool            // the group is there, as far as is known
	began   bool            // the group has been there
	last    string          // what was delivered up to here is known
	doubt   time.Time       // until then a lost reply may have delivered more
	recount bool            // what was delivered since last is to be asked for
	from    string          // where claiming goes on
	due     time.Time       // of the next claim
	tidy    time.Time       // of the next removal of dead consumers
	fresh   map[string]bool // consumers with a message that is not to be claimed yet, in this walk
	left    map[string]bool // messages that are left to other consumers

	room chan struct{} // something has left the hand

	mu   sync.Mutex
	hand map[string]*delivery[M]
	good time.Time // when the last sign of life, that has arrived, was sent
}

// delivery represents a message in hand.
type delivery[M any] struct {
	Stored[M]
	raw    []kernel.XRangeFieldValue
	count  int64 // as the server has it: the handlers that have begun, and one
	taken  time.Time
	doom   error // why it cannot be handled
	cancel context.CancelCauseFunc
	lost   bool // the server says that it is another's
	cut    bool // its handler was told to stop, since it may be another's
}

func newConsumer[M any](s Stream[M], group string, handle StreamHandler[M], o RunOptions[M]) *consumer[M] {
	o.Concurrency, o.Batch = cmp.Or(o.Concurrency, 1), cmp.Or(o.Batch, 100)
	o.Lease, o.Backoff = max(cmp.Or(o.Lease, 30*time.Second), time.Millisecond), cmp.Or(o.Backoff, 100*time.Millisecond)
	o.Grace = cmp.Or(o.Grace, 10*time.Second)
	if o.Name == "" {
		host, _ := os.Hostname()
		o.Name = fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:8])
	}
	c := &consumer[M]{
		stream: s, group: group, handle: handle, o: o, seed: maphash.MakeSeed(),
		life: s.client.Life(), room: make(chan struct{}, 1),
		last: "0-0", recount: true, from: "-", fresh: map[string]bool{}, left: map[string]bool{},
		hand: map[string]*delivery[M]{}, good: time.Now(),
	}
	c.tidy = time.Now().Add(share(c.tidying()))
	for range o.Concurrency {
		c.lanes = append(c.lanes, make(chan *delivery[M], o.Batch))
	}
	return c
}

// tell hands an error to the user. What fails because the client closes is said
// once, by Run.
func (c *consumer[M]) tell(err error) {
	if err == nil {
		return
	}
	if _, call := keywright.ClassOf(err); call && c.life.Err() != nil {
		return
	}
	if _, buried := err.(*Buried); c.o.OnError == nil && buried { // a notice tells the logger
		return
	}
	if c.o.OnError == nil {
		c.stream.client.Unheard("run", c.stream.entry, err)
		return
	}
	_ = guarded("OnError", func() error { c.o.OnError(err); return nil })
}

// notice reports what happened to a message.
func (c *consumer[M]) notice(kind notice.Kind, elapsed time.Duration, err error) {
	s := c.stream
	if s.client.Noticed(kind) {
		s.client.Notice(context.Background(), keywright.Notice{Kind: kind, Entry: s.entry.Name, Elapsed: elapsed, Err: err})
	}
}

func (c *consumer[M]) held() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.hand)
}

// drop takes a message out of the hand.
func (c *consumer[M]) drop(d *delivery[M]) {
	c.mu.Lock()
	if c.hand[d.ID] == d {
		delete(c.hand, d.ID)
	}
	c.mu.Unlock()
	select {
	case c.room <- struct{}{}:
	default:
	}
}
