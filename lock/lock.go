// Package lock is a lock on one key of a Redis or Valkey server, for many
// processes: leases that their holders renew, a context that ends when a lease
// is lost, fencing tokens, fair or fast waiting, locks that several hold
// together.
//
// What it promises, and under which failure (docs/locks.md has the whole table):
// one holder at a time on one healthy primary. A holder that is cut off, frozen
// or slow knows by its own clock when its lease is over: its context ends before
// the server gives the lock to another one. After a failover that lost the
// last writes, or a jump of the server's clock, two may hold it; their fencing
// tokens still grow, so a resource that checks them (Gate, ExecFenced) refuses
// the older one. It is no consensus: for that use a consensus system.
//
// It is not a mutex within a process (sync.Mutex is), and no queue of work.
//
// API: may change until 1.0.
package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/connect/slot"
)

// ErrLost reports a lease that is over: it expired, or a caller broke it. It is the
// cause of the end of the lease's context, and what Release and Renew give then.
var ErrLost = errors.New("the lock is not held any more")

// ErrHeld is what Try gives when another one has the lock, or when the lock was given for so short a time that its
// lease was over before the reply came; the text says which.
var ErrHeld = errors.New("the lock is held by another owner")

// errOver represents a lock that was given and was over before the caller knew: it is ErrHeld for those that ask.
type errOver time.Duration

func (e errOver) Error() string {
	return fmt.Sprintf(
		"the lease of %v was over before the reply came: make the lease longer, or find what makes the server slow",
		time.Duration(e))
}

func (errOver) Is(target error) bool { return target == ErrHeld }

// ErrReplicas reports a strict lock that too few replicas have confirmed.
var ErrReplicas = errors.New("too few replicas have confirmed the lock")

// Keys holds the names of a lock's keys and of its channel. In a cluster all keys
// must lie in one slot.
type Keys struct {
	Main    string // string: the holder's token
	Fence   string // string: the last fencing token
	Waiters string // zset: who waits, by when it came
	Shared  string // zset: who holds it together with others
	Channel string // on which it is handed on
}

// KeysOf derives all names from the main key, as a declaration does.
func KeysOf(main string) Keys {
	base := slot.Sibling(main)
	return Keys{main, base + ":fence", base + ":waiters", base + ":shared", base + ":released"}
}

// Mode describes who comes next.
type Mode uint8

// The modes.
const (
	// Fair hands the lock to the process that has waited longest. No waiter overtakes another.
	Fair Mode = iota
	// Fast frees the lock and wakes one waiter, but another caller may be faster. It has more throughput where holds are
	// shorter than a round trip; a waiter may starve.
	Fast
)

// Options of a lock. The zero value is a good choice.
type Options struct {
	// Lease bounds how long the server keeps the lock for a holder that does not renew it. The holder renews it after a
	// third. 0: the entry's TTL, or 30 s.
	Lease time.Duration
	// Mode says which waiter is next. 0: Fair, in the order in which processes came.
	Mode Mode
	// Claim bounds how long a waiter that got the lock may take to confirm it; a dead waiter delays the next one by as
	// much. It grows to four round trips where calls are slow, and to the lease at most. 0: 1 s, or the lease if that is
	// shorter.
	Claim time.Duration
	// Owner names the holder to people who read the key: the token is "owner/random". "": the name of the host and the
	// process id.
	Owner string
	// Replicas makes the lock strict: it is held only when so many replicas have confirmed it, by WAIT on the connection
	// that wrote it. A failover then loses the lock less often, but still may
	// (https://redis.io/docs/latest/commands/wait/). It costs a connection while it waits, and ReplicaTimeout if a
	// replica is slow. 0: no replica is asked.
	Replicas int
	// ReplicaTimeout bounds how long WAIT takes. 0: 1 s.
	ReplicaTimeout time.Duration
	// NoRenewal leaves renewal to the holder. A waiter that gets the lock then needs one round trip more, to have the
	// whole lease.
	NoRenewal bool
	// Announce publishes "released" on the channel also when no one waits, for other programs that subscribe to it.
	Announce bool
}

// Lock represents one lock. It is a small value: make it where it is needed. What
// waiters of one process share belongs to the client.
type Lock struct {
	client *keywright.Client
	entry  *keywright.Entry
	keys   Keys
	err    error
	o      *Options
}

// Open returns a lock without a declaration: its keys are derived from main.
func Open(c *keywright.Client, main string, o Options) Lock {
	e := &keywright.Entry{Name: "lock", Pattern: main, Type: "string"}
	return New(keywright.Binding{Client: c, Entry: e}, KeysOf(main), &o)
}

// New returns a lock of a declared entry. Generated code calls it.
func New(b keywright.Binding, keys Keys, o *Options) Lock {
	return Lock{b.Client, b.Entry, keys, b.Invalid("lock"), o}
}

// With returns the same lock with other options.
func (l Lock) With(o Options) Lock {
	l.o = &o
	return l
}

// As returns the same lock with another owner in its token.
func (l Lock) As(owner string) Lock {
	o := *l.o
	o.Owner = owner
	return l.With(o)
}

// Name returns the main key, "" if it could not be built.
func (l Lock) Name() string { return l.keys.Main }

// The bounds of a lease. Below, a round trip is most of it; above, TTLs of a
// server come to their end.
const (
	minLease = 10 * time.Millisecond
	maxLease = 365 * 24 * time.Hour
	// helpers says how long a fence, the waiters and who shares live unused. A
	// fence that is gone begins at the server's clock, and so still grows.
	helpers = 24 * time.Hour
)

func (l Lock) lease() time.Duration {
	return cmp.Or(l.o.Lease, l.entry.TTL.Default, 30*time.Second)
}

func (l Lock) claim() time.Duration { return min(cmp.Or(l.o.Claim, time.Second), l.lease()) }

// check returns what would make every operation fail.
func (l Lock) check() error {
	d := l.lease()
	switch {
	case l.err != nil:
		return l.err
	case d < minLease || d > maxLease:
		return l.refuse("a lease of "+d.String()+" was asked for", "choose one between 10ms and a year")
	case l.entry.TTL.Policy == keywright.Expires && (d < l.entry.TTL.Min || d > l.entry.TTL.Max):
		return l.refuse("a lease of "+d.String()+" was asked for, and the declaration allows "+l.entry.TTL.Text,
			"choose one within the bounds")
	case l.o.Claim < 0 || l.o.Replicas < 0 || l.o.ReplicaTimeout < 0:
		return l.refuse("an option is negative", "")
	}
	return nil
}

func (l Lock) refuse(what, hint string) error {
	return &keywright.Error{Class: keywright.Invalid, Op: "lock", Entry: l.entry.Name, Err: errors.New(what), Hint: hint}
}

// Acquire waits until the lock is held, or ctx ends. In Fair mode it waits for the callers that came before. While
// the server cannot be reached it keeps trying until ctx ends.
//
// If ctx comes from a lease of this lock that is still held, it returns that lease once more: a function that holds
// the lock may call another one that acquires it. Each must be released; the last release gives the lock back.
// Goroutines with that ctx share the lease: it does not exclude them from each other.
//
// One round trip when the lock is free. A waiter needs one call to join the queue and none to get the lock: the
// release of the holder hands it on.
func (l Lock) Acquire(ctx context.Context) (*Lease, error) { return l.take(ctx, alone, true) }

// Try takes the lock if it is free now, else the error is ErrHeld. One round
// trip.
func (l Lock) Try(ctx context.Context) (*Lease, error) { return l.take(ctx, alone, false) }

// AcquireShared works as Acquire does, for readers: several may hold the lock at the same time, and Acquire excludes
// them all. In Fair mode a reader waits after a writer that waits.
func (l Lock) AcquireShared(ctx context.Context) (*Lease, error) { return l.take(ctx, together, true) }

// TryShared works as Try does, for readers.
func (l Lock) TryShared(ctx context.Context) (*Lease, error) { return l.take(ctx, together, false) }

// Do runs fn while the lock is held. The context of fn ends when the lock is
// lost: fn must then stop, as another one may hold it. The error is that of
// acquiring, of fn, or ErrLost if it was lost before fn returned.
func (l Lock) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	lease, err := l.Acquire(ctx)
	if err != nil {
		return err
	}
	return lease.run(fn)
}

// DoShared works as Do does, together with others.
func (l Lock) DoShared(ctx context.Context, fn func(ctx context.Context) error) error {
	lease, err := l.AcquireShared(ctx)
	if err != nil {
		return err
	}
	return lease.run(fn)
}

// run runs fn under the lease. A panic of fn gives the lock back too.
func (lease *Lease) run(fn func(context.Context) error) (err error) {
	defer func() {
		err = errors.Join(err, lease.Release(lease.life.parent))
	}()
	return fn(lease.Context())
}
