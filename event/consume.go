package event

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/kernel/notice"
)

// RunOptions of a consumer. The zero value is a good choice.
type RunOptions[M any] struct {
	// Concurrency sets how many messages are handled at the same time. 0: 1.
	Concurrency int
	// Key names the order that a message belongs to: messages with one key are handled one after the other, in the order
	// of the stream. A message that fails or hangs delays the later ones of its key until it is done or dead; other keys
	// go on, as long as there is a free handler. The order holds within one consumer: a second one in the group gets
	// other messages of the same key. If Key panics, its message becomes a dead letter. nil: one key for all messages if
	// Concurrency is 1, else no order.
	Key func(M) string
	// Batch bounds how many messages a consumer holds. While handlers are free and all held messages wait for their key
	// or for the next attempt, it may hold ten times as many, at most 10,000. 0: 100.
	Batch int
	// Lease bounds how long a consumer may be silent before others claim its messages. The consumer renews it eight
	// times in that time. 0: 30 s.
	Lease time.Duration
	// Backoff sets the wait before a failed message is tried again. It doubles with each attempt, up to Lease. 0:
	// 100 ms.
	Backoff time.Duration
	// Grace bounds how long handlers may continue when Run stops. Their contexts end a second earlier, or after half of
	// a Grace below two seconds. If the server does not answer, Run takes at most a second longer than Grace and what a
	// handler takes. After it messages that have not begun are given back, also while a handler hangs.
	// 0: 10 s.
	Grace time.Duration
	// New lets a group that does not exist yet begin after the newest message. false: it begins with the oldest one that
	// is kept.
	New bool
	// Name identifies the consumer. Two running consumers must not have one name. A consumer with a name that was used
	// before first handles what is pending for that name. "": host, process id and a random part.
	Name string
	// OnError receives failed calls, dead letters (*Buried), messages that were trimmed before they were acknowledged
	// (*Trimmed), and messages that are left to other consumers (*NewerForm, or sealed with a key that this process does
	// not have). The consumer waits for it. Several goroutines may call it at the same time. nil: the logger of the
	// client gets the error, at most once a second.
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
	ErrTimeout  = errors.New("its time limit is over")
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

// Run hands the messages of a consumer group to handle until ctx ends, and returns when the last handler has; what
// was not done is given back, and others may claim it at once. It creates the group if necessary. It ends with a
// *keywright.Error that names the cause if a right or a command is missing, or a key has another type. An idle
// consumer blocks at the server and sends about two commands a second. Any number of consumers may run, in any
// process: each message goes to one of them at a time, at least once. When the client closes it ends with
// keywright.ErrClosed.
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
	defer kernel.Part(s.client, newRunning).add(place{s.keys.Main, group}, c)()
	alive, die := context.WithCancelCause(context.WithoutCancel(ctx)) // handlers end later than ctx
	defer die(nil)
	stop := context.AfterFunc(ctx, func() { c.expire(ctx, alive, die) })
	defer stop()
	var wg sync.WaitGroup
	grace, stopGrace := lingering(ctx, c.o.Grace)
	defer stopGrace()
	over, stopKeeping := context.WithCancel(context.WithoutCancel(ctx))
	defer stopKeeping()
	wg.Go(func() { c.keep(over) })
	var workers sync.WaitGroup
	for range c.o.Concurrency {
		workers.Go(func() { c.work(ctx, alive) })
	}
	c.read(ctx)
	ended := time.Now()
	idle := make(chan struct{})
	wg.Go(func() { workers.Wait(); close(idle) })
	select {
	case <-idle:
	case <-grace.Done():
		last, cancel := lingering(ctx, c.calls())
		c.tell(c.giveBack(last))
		cancel()
		<-idle
	}
	stopKeeping()
	wg.Wait()
	if err := s.client.Ended(ctx, "run", s.entry); err != nil {
		return err
	}
	c.end(ctx, max(c.o.Grace-time.Since(ended), lastSecond))
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
	case s.config.Timeout < 0:
		return errors.New("the timeout is negative")
	case o.Concurrency < 0 || o.Batch < 0 || o.Lease < 0 || o.Backoff < 0 || o.Grace < 0:
		return errors.New("an option is negative")
	case o.Concurrency > mostInHand || o.Batch > mostInHand:
		return fmt.Errorf("the concurrency or the batch is over %d", mostInHand)
	}
	return nil
}

// mostInHand bounds what a consumer has in hand.
const mostInHand = 10_000

// lastSecond is what of Grace is left when the contexts of handlers end, unless that is
// more than half of it.
const lastSecond = time.Second

// expire ends the context of handlers: at once when the client closes, since
// nothing can be acknowledged then, else before Grace is over.
func (c *consumer[M]) expire(ctx, alive context.Context, die context.CancelCauseFunc) {
	if errors.Is(context.Cause(ctx), keywright.ErrClosed) {
		die(keywright.ErrClosed)
		return
	}
	timer := time.AfterFunc(c.o.Grace-min(c.o.Grace/2, lastSecond), func() { die(ErrShutdown) })
	context.AfterFunc(alive, func() { timer.Stop() })
}

// consumer represents one Run.
type consumer[M any] struct {
	stream Stream[M]
	group  string
	handle StreamHandler[M]
	o      RunOptions[M]
	life   context.Context         // until the client closes
	halt   context.CancelCauseFunc // ends the Run, for a refusal that time does not heal

	// Of the goroutine that reads.
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

	room  chan struct{}     // something has left the hand, or a worker waits
	ready chan *delivery[M] // may begin: none of its key is before it. It has room for the whole hand
	idle  atomic.Int64      // workers that wait

	mu    sync.Mutex
	hand  map[string]*delivery[M]
	lines map[string][]*delivery[M] // by the keys that are busy: what waits for them
	good  time.Time                 // when the last sign of life, that has arrived, was sent
}

// delivery represents a message in hand.
type delivery[M any] struct {
	Stored[M]
	raw   []kernel.XRangeFieldValue
	count int64 // as the server has it: the handlers that have begun, and one
	taken time.Time
	doom  error // why it cannot be handled
	key   string
	keyed bool // its key is busy with it, or it waits for its key

	// Of the worker that has it.
	failures int   // here, in a row
	reason   error // of its last failure

	// Guarded by the lock of the consumer.
	begun  bool        // its handler runs, or has ended and it is not known yet what becomes of it
	timer  *time.Timer // after which it is tried again
	cancel context.CancelCauseFunc
	since  time.Time // of its handler, while that runs
	lost   bool      // the server says that it is another's
	cut    bool      // its handler was asked to stop, since it may be another's
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
		stream: s, group: group, handle: handle, o: o, life: s.client.Life(),
		room: make(chan struct{}, 1), ready: make(chan *delivery[M], min(10*o.Batch, mostInHand)),
		last: "0-0", recount: true, from: "-", fresh: map[string]bool{}, left: map[string]bool{},
		hand: map[string]*delivery[M]{}, lines: map[string][]*delivery[M]{}, good: time.Now(),
	}
	c.tidy = time.Now().Add(share(c.tidying()))
	return c
}

// tell passes an error to the user. Run alone returns the error of a closed client.
func (c *consumer[M]) tell(err error) {
	if err == nil {
		return
	}
	if _, call := keywright.ClassOf(err); call && c.life.Err() != nil {
		return
	}
	if _, buried := err.(*Buried); c.o.OnError == nil && (buried || err == ErrLost) { // a notice tells the logger
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

// free returns how many messages may be taken into the hand now.
func (c *consumer[M]) free() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	free := c.o.Batch - len(c.hand)
	if free <= 0 && c.idle.Load() > 0 && len(c.ready) == 0 && !c.inTurn() && c.waits() {
		free = min(c.o.Batch, cap(c.ready)-len(c.hand))
	}
	return min(free, fetchMost)
}

// waits reports whether something in hand has not begun. The caller holds mu.
func (c *consumer[M]) waits() bool {
	for _, d := range c.hand {
		if !d.begun {
			return true
		}
	}
	return false
}

// inTurn reports whether all messages are handled one after the other.
func (c *consumer[M]) inTurn() bool { return c.o.Key == nil && c.o.Concurrency == 1 }

// signal lets the goroutine that reads look again.
func (c *consumer[M]) signal() {
	select {
	case c.room <- struct{}{}:
	default:
	}
}

// lingering returns a context that ends d after ctx.
func lingering(ctx context.Context, d time.Duration) (context.Context, func()) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(d, cancel)
		context.AfterFunc(out, func() { timer.Stop() })
	})
	return out, func() { stop(); cancel() }
}

// guarded calls a function of the user in a goroutine of its own and waits for
// it. A panic and runtime.Goexit become errors.
func guarded(what string, fn func() error) (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		returned := false
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("%s panicked: %v", what, p)
			} else if !returned {
				err = fmt.Errorf("%s called runtime.Goexit", what)
			}
		}()
		err = fn()
		returned = true
	}()
	<-done
	return err
}

// errUnmade reports the error of a zero Topic, Stream or Exchange.
var errUnmade = errors.New("it was not made by generated code: the zero value has no channel")
