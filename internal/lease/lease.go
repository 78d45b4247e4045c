// Package lease lets one process act at a time: the others find the lease taken, and
// take it over when it ends. It decides which process sweeps an entity, relieves a full
// server or executes a plan.
//
// A lease is a key with the text `fence owner`, that always has a TTL. It lasts as long
// as its holder renews it, and can be checked inside a script whose keys share its slot
// (the part `lease` of internal/lua, lease_held).
//
// It is not a lock for users: nothing waits for it, no notice says when it is free, and
// only package lock has fencing for what is written elsewhere. It is not the lease of a
// job, of which a worker has many; nor the marker in a partial sum of package ranking,
// where the leased key is what is being made.
package lease

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/kernel/notice"
)

// ErrLost says that the lease is not this process's any more: its time ended, or
// it was given up.
var ErrLost = errors.New("the lease is lost: another process may act")

// BusyError represents a lease that another process has.
type BusyError struct {
	Key   string
	Owner string        // the name that its holder gave; "" if this program did not write the text
	Left  time.Duration // until it ends, unless it is renewed
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("the lease is held by %s, for %v unless it is renewed (key %s)", cmp.Or(e.Owner, "another program"),
		e.Left, e.Key)
}

// Options of a lease. The zero value is a good choice.
type Options struct {
	Entry *keywright.Entry // the entry of the key, for errors
	Err   error            // why the key could not be built: Acquire fails with it
	Owner string           // the name of the process for operators; "": host and process id
}

// Lease describes what one process knows of a lease. It may be used by several goroutines.
type Lease struct {
	client *keywright.Client
	o      Options
	key    string
	owner  string
	ttl    time.Duration

	turn  chan struct{} // one question at a time
	mu    sync.Mutex
	asked bool      // it may be held: the answer may have been lost
	since time.Time // when the work under it began; zero: none is under way
}

// New returns a lease that is not taken yet. ttl is how long its holder may be silent before
// another process takes over. Each Lease is an owner of its own.
func New(c *keywright.Client, key string, ttl time.Duration, o Options) *Lease {
	return &Lease{client: c, o: o, key: key, owner: cmp.Or(o.Owner, Process()) + " " + rand.Text(),
		ttl: max(ttl, time.Millisecond), turn: make(chan struct{}, 1)}
}

// Process returns the name of this process: host and process id.
func Process() string {
	host, _ := os.Hostname()
	return host + "-" + strconv.Itoa(os.Getpid())
}

// Holder returns the name of the process in the text of a lease; a text that was not written by this
// program is returned as it is.
func Holder(text string) string {
	fence, owner, ok := strings.Cut(text, " ")
	if _, err := strconv.ParseInt(fence, 10, 64); err != nil || !ok {
		return text
	}
	return name(owner)
}

// name returns an owner without the random part.
func name(owner string) string {
	if i := strings.LastIndexByte(owner, ' '); i > 0 {
		return owner[:i]
	}
	return owner
}

// Term represents a lease that is held.
type Term struct {
	Token string    // the text of the key, for lease_held
	Fence int64     // the server's time in µs when it was taken
	Until time.Time // when it ends by the local clock, at the earliest
}

// Owner returns the name under which the lease is taken, with a random part: unique.
func (l *Lease) Owner() string { return l.owner }

// Args returns the owner and the TTL in ms, for a script that calls lease_take itself. The
// lease may be held from then on, until Release.
func (l *Lease) Args() (owner, ttl string) {
	l.ask(true)
	return l.owner, ms(l.ttl)
}

// Acquire takes the lease, or makes it last as long again if this Lease has it already. A
// *BusyError says that another has it. One round trip, sent again after a lost reply.
func (l *Lease) Acquire(ctx context.Context) (Term, error) {
	if err := ctx.Err(); err != nil {
		return Term{}, err
	}
	began := time.Now()
	reply, err := oneAtATime(ctx, l, l.ttl, 0, func(ctx context.Context) ([]kernel.Value, error) {
		l.ask(true)
		reply, err := kernel.NewOp(kernel.Spec[[]kernel.Value]{
			Action: l.action("lease"), Script: standard.take, Keys: []string{l.key}, Args: []string{l.owner, ms(l.ttl)},
			Decode: func(r kernel.Reply) ([]kernel.Value, error) { return r.ToArray() },
		}).Do(ctx)
		if err == nil {
			token, _ := reply[0].ToString()
			l.ask(token != "")
		}
		return reply, err
	})
	if err != nil {
		return Term{}, err
	}
	token, _ := reply[0].ToString()
	if token == "" {
		busy := &BusyError{Key: l.key}
		left, _ := reply[2].AsInt64()
		owner, _ := reply[1].ToString()
		busy.Owner = name(owner)
		busy.Left = time.Duration(left) * time.Millisecond
		l.Took(ctx, false)
		return Term{}, busy
	}
	l.Took(ctx, true)
	fence, _, _ := strings.Cut(token, " ")
	t := Term{Token: token, Until: l.end(began)}
	t.Fence, err = strconv.ParseInt(fence, 10, 64)
	return t, err
}

// Renew makes the lease last as long again, or fails with ErrLost: it never takes a lease
// that was lost, as another process may have acted since. One round trip.
func (l *Lease) Renew(ctx context.Context, t Term) (Term, error) {
	began := time.Now()
	bounded, cancel := context.WithTimeout(ctx, l.ttl)
	defer cancel()
	held, err := Keep(l.action("renew lease"), l.key, t.Token, l.ttl).Do(bounded)
	if err != nil {
		if !time.Now().Before(t.Until) {
			l.Took(ctx, false)
		}
		return t, err
	}
	if !held {
		l.Took(ctx, false)
		return t, ErrLost
	}
	t.Until = l.end(began)
	return t, nil
}

// end returns when a lease that was asked for at a moment ends by the local clock. It counts
// from before the question: the server cannot give it to another process earlier.
func (l *Lease) end(began time.Time) time.Time { return began.Add(l.ttl - l.ttl/100) }

// parting is how long the server has for a Release, and lastWord how long Release waits
// for it after the end of its context.
const (
	parting  = 2 * time.Second
	lastWord = 50 * time.Millisecond
)

// Release gives the lease back, if it may be held, also after ctx has ended. If that
// fails it ends by itself.
func (l *Lease) Release(ctx context.Context) error {
	l.Rest()
	_, err := oneAtATime(ctx, l, parting, lastWord, func(ctx context.Context) (int64, error) {
		if !l.ask(false) || l.o.Err != nil {
			return 0, nil
		}
		n, err := kernel.NewOp(kernel.Spec[int64]{
			Action: l.action("release lease"), Script: standard.free, Keys: []string{l.key}, Args: []string{l.owner},
			Decode: kernel.Reply.AsInt64,
		}).Do(ctx)
		if err != nil {
			l.ask(true)
		}
		return n, err
	})
	return err
}

// Took notes whether the lease is this process's. One that it had while it worked, and
// has not any more, is a notice, also when ctx has ended: it may have ended with the lease.
// It is for scripts that call lease_take themselves.
func (l *Lease) Took(ctx context.Context, held bool) {
	l.mu.Lock()
	since := l.since
	switch {
	case !held:
		l.since = time.Time{}
	case since.IsZero():
		l.since = time.Now()
	}
	l.mu.Unlock()
	if held || since.IsZero() {
		return
	}
	n := keywright.Notice{Kind: notice.LeaseLost, Elapsed: time.Since(since), Err: ErrLost}
	if l.o.Entry != nil {
		n.Entry = l.o.Entry.Name
	}
	l.client.Notice(ctx, n)
}

// Rest notes that no work is under way: the lease may end unheard.
func (l *Lease) Rest() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since = time.Time{}
}

// ask notes whether the lease may be held, and reports whether it might be before.
func (l *Lease) ask(held bool) (before bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, l.asked = l.asked, held
	return before
}

// oneAtATime asks a question about the lease, and waits for its answer until ctx ends, and a
// little more. A question that is given up may be overtaken by Release, and would then
// leave a lease without a holder: it goes on to its end, for limit at most, and the next
// one waits for that.
func oneAtATime[T any](ctx context.Context, l *Lease, limit, more time.Duration,
	question func(context.Context) (T, error)) (none T, _ error) {
	waiting, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(more, end) })()
	select {
	case l.turn <- struct{}{}:
	case <-waiting.Done():
		return none, ctx.Err()
	}
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		defer func() { <-l.turn }()
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer cancel()
		value, err := question(bounded)
		done <- answer{value, err}
	}()
	select {
	case a := <-done:
		return a.value, a.err
	case <-waiting.Done():
		return none, ctx.Err()
	}
}

func (l *Lease) action(name string) kernel.Action {
	return kernel.Action{Client: l.client, Name: name, Entry: l.o.Entry, Effect: keywright.Idempotent, Err: l.o.Err,
		Key: l.key}
}
