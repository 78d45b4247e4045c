package event

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/maphash"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/redis/rueidis"
)

// RunOptions of a consumer. The zero value is a good choice.
type RunOptions[M any] struct {
	// Concurrency is how many messages are handled at once; 0: 1.
	Concurrency int
	// Key keeps the order: messages with the same key are handled one after the
	// other, in the order of the stream, and one that fails holds up those behind
	// it until it is done or dead. It holds within one consumer: a second one in
	// the same group gets other messages, whatever their key. nil: all messages
	// have the same key if Concurrency is 1, else no order.
	Key func(M) string
	// Batch is how many messages a consumer has in hand at most; 0: 100.
	Batch int
	// Lease is how long a consumer may be silent before others claim its
	// messages; 0: 30 s. It gives a sign of life three times as often.
	Lease time.Duration
	// Backoff is the wait before a failed message is tried again; it doubles up
	// to Lease. 0: 100 ms.
	Backoff time.Duration
	// Grace is how long handlers may go on when Run is to end; 0: 10 s.
	Grace time.Duration
	// New begins a group that does not exist yet behind the newest message; else
	// it begins with the oldest that is kept.
	New bool
	// Name of the consumer; "": host, process id and a random part. No two that
	// live may have the same.
	Name string
	// OnError hears of failed calls, dead letters (*Buried), messages that were
	// trimmed before they were acknowledged (*Trimmed), and panics; nil: nobody
	// does. The consumer goes on. Several goroutines may call it at once.
	OnError func(error)
}

// Buried says that a message has become a dead letter.
type Buried struct {
	ID     string
	Reason error // nil: its consumers died or lost it; counted in Messages
	// Messages is how many there were.
	Messages int
}

func (b *Buried) Error() string {
	if b.Reason == nil {
		return fmt.Sprintf("%d messages became dead letters: their consumers died or lost them", b.Messages)
	}
	return fmt.Sprintf("the message %s became a dead letter: %v", b.ID, b.Reason)
}

// Trimmed says that messages were trimmed before anybody had acknowledged them.
type Trimmed struct{ IDs []string }

func (t *Trimmed) Error() string {
	return fmt.Sprintf("%d messages were trimmed before they were acknowledged; keep more of them (maxlen, age)", len(t.IDs))
}

// What ends a handler's context early; see context.Cause.
var (
	ErrLost     = errors.New("the message is not this consumer's any more: it gave no sign of life for too long")
	ErrShutdown = errors.New("the consumer is to end")
)

// Discard wraps an error of a handler so that the message becomes a dead letter
// at once.
func Discard(err error) error { return &discard{err} }

type discard struct{ error }

func (d *discard) Unwrap() error { return d.error }

// StreamHandler handles one message. nil acknowledges it; an error brings it
// again after a while, and makes it a dead letter after the declared number of
// deliveries. A panic counts as an error. It must return soon when ctx ends.
type StreamHandler[M any] func(ctx context.Context, m Stored[M]) error

// Run hands the messages of a consumer group to handle until ctx ends, and
// returns when the last handler has; what was not done is given back. It makes
// the group if there is none. An idle one blocks at the server and sends about
// two commands a second. Any number of consumers may run, in any process: each
// message goes to one of them at a time, at least once.
func (s Stream[M]) Run(ctx context.Context, group string, handle StreamHandler[M], o RunOptions[M]) error {
	if s.err != nil || group == "" || o.Concurrency < 0 || o.Batch < 0 || o.Lease < 0 || o.Backoff < 0 {
		return &keywright.Error{Class: keywright.Invalid, Op: "run", Entry: s.entry.Name, Err: cause(s.err, "the group has no name, or an option is negative")}
	}
	c := newConsumer(s, group, handle, o)
	var wg sync.WaitGroup
	alive, die := context.WithCancelCause(context.WithoutCancel(ctx)) // handlers end later than ctx
	over := make(chan struct{})
	wg.Go(func() { c.keep(alive, over) })
	var lanes sync.WaitGroup
	for _, lane := range c.lanes {
		lanes.Go(func() { c.work(ctx, alive, lane) })
	}
	c.read(ctx)
	for _, lane := range c.lanes {
		close(lane)
	}
	timer := time.AfterFunc(c.o.Grace, func() { die(ErrShutdown) })
	lanes.Wait()
	timer.Stop()
	close(over)
	wg.Wait()
	die(nil)
	c.leave()
	return nil
}

// consumer is one Run.
type consumer[M any] struct {
	stream Stream[M]
	group  string
	handle StreamHandler[M]
	o      RunOptions[M]
	lanes  []chan *delivery[M]
	seed   maphash.Seed
	turn   int
	from   string // where claiming goes on
	began  bool   // the group has been there

	room chan struct{} // something has left the hand

	mu   sync.Mutex
	hand map[string]*delivery[M]
	good time.Time // when the last sign of life, that has arrived, was sent
}

// delivery is a message in hand.
type delivery[M any] struct {
	Stored[M]
	cancel context.CancelCauseFunc // nil until its handler runs
	lost   bool
}

func newConsumer[M any](s Stream[M], group string, handle StreamHandler[M], o RunOptions[M]) *consumer[M] {
	o.Concurrency, o.Batch = cmp.Or(o.Concurrency, 1), cmp.Or(o.Batch, 100)
	o.Lease, o.Backoff, o.Grace = cmp.Or(o.Lease, 30*time.Second), cmp.Or(o.Backoff, 100*time.Millisecond), cmp.Or(o.Grace, 10*time.Second)
	if o.Name == "" {
		host, _ := os.Hostname()
		o.Name = fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:8])
	}
	c := &consumer[M]{stream: s, group: group, handle: handle, o: o, seed: maphash.MakeSeed(), from: "0-0", room: make(chan struct{}, 1), hand: map[string]*delivery[M]{}, good: time.Now()}
	for range o.Concurrency {
		c.lanes = append(c.lanes, make(chan *delivery[M], o.Batch))
	}
	return c
}

func (c *consumer[M]) tell(err error) {
	if err != nil && c.o.OnError != nil {
		c.o.OnError(err)
	}
}

// read fetches messages until ctx ends: those that others have left first, then
// new ones.
func (c *consumer[M]) read(ctx context.Context) {
	var due time.Time
	for failures := 0; ctx.Err() == nil; {
		free := c.o.Batch - c.held()
		if free <= 0 {
			c.await(ctx)
			continue
		}
		var err error
		if !time.Now().Before(due) {
			due = time.Now().Add(min(c.o.Lease/4, 5*time.Second))
			var more bool
			if more, err = c.claim(ctx, free); more {
				due = time.Time{}
			}
		} else {
			err = c.fetch(ctx, free, min(time.Until(due), time.Second))
		}
		if err == nil || ctx.Err() != nil {
			failures, c.began = 0, true
			continue
		}
		failures++
		c.recover(ctx, err, failures)
	}
}

// recover makes the group if that is what is missing, else waits a little.
func (c *consumer[M]) recover(ctx context.Context, err error, failures int) {
	if strings.Contains(err.Error(), "NOGROUP") {
		if err = c.create(ctx); err == nil {
			return
		}
	}
	c.tell(err)
	select {
	case <-ctx.Done():
	case <-time.After(min(time.Second, 10*time.Millisecond<<min(failures, 10))):
	}
}

func (c *consumer[M]) create(ctx context.Context) error {
	begin := "0"
	if c.o.New && !c.began { // one that begins anew with its stream must miss nothing
		begin = "$"
	}
	s := c.stream
	_, err := script("group", s.client, s.entry, keywright.Idempotent, groupScript, nil, []string{s.keys.Main}, []string{c.group, begin, ms(s.config.Age)}, number).Do(ctx)
	c.began = c.began || err == nil
	return err
}

func (c *consumer[M]) held() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.hand)
}

func (c *consumer[M]) await(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-c.room:
	}
}

// fetch waits at the server for new messages. A reply that is lost leaves them
// pending, where nobody gives a sign of life for them: they are claimed.
func (c *consumer[M]) fetch(ctx context.Context, free int, block time.Duration) error {
	key := c.stream.keys.Main
	wait, cancel := context.WithTimeout(ctx, block+5*time.Second)
	defer cancel()
	entries, err := keywright.NewOp(keywright.Spec[[]rueidis.XRangeEntry]{
		Action: keywright.Action{Client: c.stream.client, Name: "fetch", Entry: c.stream.entry, Effect: keywright.Writes, Key: key},
		Build: func(b rueidis.Builder) rueidis.Completed {
			return b.Xreadgroup().Group(c.group, c.o.Name).Count(int64(free)).Block(max(block.Milliseconds(), 1)).Streams().Key(key).Id(">").Build()
		},
		Decode: func(r rueidis.RedisResult) ([]rueidis.XRangeEntry, error) {
			found, err := r.AsXRead()
			if rueidis.IsRedisNil(err) {
				return nil, nil
			}
			return found[key], err
		},
	}).Do(wait)
	for _, e := range entries {
		c.take(ctx, e.ID, 1, e.FieldValues)
	}
	return err
}

// claim takes over what dead consumers have left.
func (c *consumer[M]) claim(ctx context.Context, free int) (more bool, err error) {
	s := c.stream
	args := []string{c.group, c.o.Name, ms(c.o.Lease), fmt.Sprint(min(free, 100)), fmt.Sprint(s.config.Retry), c.from, fmt.Sprint(deadLetters), ms(s.config.Age), ms(max(10*c.o.Lease, time.Minute))}
	reply, err := script("claim", s.client, s.entry, keywright.Idempotent, claimScript, nil, []string{s.keys.Main, s.keys.Dead}, args, list).Do(ctx)
	if err != nil || len(reply) < 4 {
		return false, err
	}
	c.from, _ = reply[0].ToString()
	taken, _ := reply[1].ToArray()
	for _, t := range taken {
		if one, err := t.ToArray(); err == nil && len(one) == 3 {
			id, _ := one[0].ToString()
			deliveries, _ := one[1].AsInt64()
			fields, _ := one[2].AsStrMap()
			c.take(ctx, id, deliveries, fields)
		}
	}
	if trimmed, _ := reply[2].AsStrSlice(); len(trimmed) > 0 {
		c.tell(&Trimmed{trimmed})
	}
	if n, _ := reply[3].AsInt64(); n > 0 {
		c.tell(&Buried{Messages: int(n)})
	}
	return c.from != "0-0", nil
}

// take puts a message into the lane of its key. What does not decode will not do
// so later either.
func (c *consumer[M]) take(ctx context.Context, id string, deliveries int64, fields map[string]string) {
	m, err := c.stream.stored(id, fields)
	m.Deliveries = deliveries
	d := &delivery[M]{Stored: m}
	c.mu.Lock()
	_, twice := c.hand[id] // claimed from ourselves
	if !twice {
		c.hand[id] = d
	}
	c.mu.Unlock()
	_, sealed := keywright.ClassOf(err)
	switch {
	case twice:
	case sealed: // who has the key can handle it: it is claimed after a lease
		c.tell(err)
		c.drop(d)
	case err != nil:
		c.bury(ctx, d, err)
		c.drop(d)
	default:
		c.lanes[c.lane(m.Data)] <- d // a lane has room for all that may be in hand
	}
}

func (c *consumer[M]) lane(m M) int {
	if c.o.Key == nil {
		c.turn++
		return c.turn % len(c.lanes)
	}
	return int(maphash.String(c.seed, c.o.Key(m)) % uint64(len(c.lanes)))
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

// work handles the messages of a lane, one after the other.
func (c *consumer[M]) work(ctx, alive context.Context, lane chan *delivery[M]) {
	for d := range lane {
		c.one(ctx, alive, d)
		c.drop(d)
	}
}

// one tries a message until it is done, dead, lost or given back.
func (c *consumer[M]) one(ctx, alive context.Context, d *delivery[M]) {
	for try := 0; ; try++ {
		if ctx.Err() != nil {
			c.settle(alive, d, "release", nil)
			return
		}
		err, lost := c.try(alive, d)
		switch {
		case err == nil:
			c.tell(c.ack(d))
			return
		case lost:
			c.tell(ErrLost)
			return
		case ctx.Err() != nil && alive.Err() != nil: // it failed because it had to stop
			c.settle(alive, d, "release", nil)
			return
		}
		if over := (*discard)(nil); errors.As(err, &over) || d.Deliveries >= int64(c.stream.config.Retry) {
			c.bury(alive, d, err)
			return
		}
		c.pause(ctx, min(c.o.Backoff<<min(try, 20), c.o.Lease))
		if ctx.Err() == nil {
			if d.Deliveries = c.settle(alive, d, "again", nil); d.Deliveries == 0 {
				return // another consumer has it, or it will be claimed
			}
		}
	}
}

func (c *consumer[M]) pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		d = c.o.Lease
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// try calls the handler once.
func (c *consumer[M]) try(alive context.Context, d *delivery[M]) (err error, lost bool) {
	ctx, cancel := context.WithCancelCause(alive)
	defer cancel(nil)
	c.mu.Lock()
	d.cancel, lost = cancel, d.lost
	c.mu.Unlock()
	if lost {
		return ErrLost, true
	}
	func() {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("the handler panicked: %v", p)
			}
		}()
		err = c.handle(ctx, d.Stored)
	}()
	c.mu.Lock()
	defer c.mu.Unlock()
	return err, d.lost
}
