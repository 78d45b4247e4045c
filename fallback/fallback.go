// Package fallback keeps a second store for items of Redis or Valkey: reads are
// answered from it while the server is away, and say so; writes are kept in a
// bounded log and applied when the server is back, in order per item, and never
// over newer data.
//
// A Guard is between a caller and a Target (a store of items with versions,
// such as an entity's). Its second store is a Store: Memory here, a file in the
// module fallback/bbolt, or another.
//
// What it promises, and under which failure, is in docs/fallback.md. It is not a
// replica: it holds what this process has read or written, as old as it says. It
// does not make two stores agree at any one time. A write that was accepted while
// the server was away is not done: it may lose against a newer one, and then it is
// reported.
//
// API: may change until 1.0.
package fallback

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/breaker"
)

// ErrConflict reports a conditional write whose condition does not hold: the item has
// another version, or is there although it was to be created, or is not there.
var ErrConflict = errors.New("the condition of the write does not hold")

// ErrNoCopy reports an operation that needs what the second store does not have.
var ErrNoCopy = errors.New("the second store has no copy of the item")

// ErrAway reports an operation that was not sent because the server has failed often
// just now.
var ErrAway = errors.New("the server has failed several times in a row and is left alone for a moment")

// Item represents one item as the target has it.
type Item[T any] struct {
	Value   T
	Version int64     // above 0, never used for another state of the item; each write adds 1
	Expires time.Time // by this machine's clock; zero: never
}

// Kind describes what a write does.
type Kind uint8

// The kinds.
const (
	Put    Kind = iota // the whole item, whatever was there
	Update             // some fields of an item that is there
	Delete             // the item
)

// String implements fmt.Stringer.
func (k Kind) String() string { return [...]string{"put", "update", "delete"}[k] }

// Conditions of a write, beside a version.
const (
	Any    int64 = -1 // whatever is there
	Absent int64 = 0  // only if nothing is there
)

// Change represents one write.
type Change struct {
	Kind    Kind
	Fields  Fields    // Put: all of them; Update: those that change
	Drop    []string  // Update: fields to remove
	Expires time.Time // by this machine's clock; zero: Put: never, Update: as it was
	If      int64     // the version that must be there, or Any, or Absent

	Asked time.Duration // the TTL that the caller asked for with ExpiresIn, for Prepare to check; not kept
}

// Target describes where items live: Redis or Valkey, by whatever keeps them there.
// Errors are those of package keywright; their class decides whether the server
// counts as away.
type Target[T any] interface {
	// Get is the item, or keywright.ErrNotFound.
	Get(ctx context.Context, id string) (Item[T], error)
	// Write applies a change in one atomic step and gives the version that is there
	// then, 0 after a Delete. If the condition does not hold, nothing is changed
	// and the error is ErrConflict; an Update of nothing is keywright.ErrNotFound
	// if it has no condition. A write with a version adds exactly 1 to it.
	Write(ctx context.Context, id string, c Change) (version int64, err error)
	// Prepare completes a change before it is sent or kept: a deadline that the
	// declaration demands, checks of what cannot be. It asks no server.
	Prepare(id string, c Change) (Change, error)
	// Ping reports whether the server answers.
	Ping(ctx context.Context) error
	// Encode and Decode are between a value and its fields. Encode seals what is
	// declared encrypted: the second store holds what it gives.
	Encode(id string, v T) (Fields, error)
	Decode(id string, f Fields) (T, error)
	// Same reports whether fields that are stored are those that were wanted.
	// For most: maps.Equal. Sealed text differs each time it is sealed.
	Same(id string, stored, wanted Fields) bool
}

// Stamper represents a Target whose server may add to what is written, as times. Where Stamps says so, the copy of an
// item that was written is read from the server: of each Options.Flush at most 128 items, a round trip each, which no
// caller waits for. What more is written lacks what the server has added until it is read.
type Stamper interface{ Stamps() bool }

// Quick represents a Target that can do without the deadline: it is asked for items whose
// copy is fresh.
type Quick[T any] interface {
	// GetQuick is Get whose Item.Expires does not matter.
	GetQuick(ctx context.Context, id string) (Item[T], error)
}

// Options of a Guard. The zero value is a good choice.
type Options struct {
	Name string // of the items, in errors and logs; "": "item"

	// Patience bounds how long a read takes before it counts as a failure of the server, WritePatience a write. After
	// five failures in a row no call is sent for about a second; then one call tries again. 0: 250 ms and 1 s.
	Patience, WritePatience time.Duration
	// MissesToo reads the second store also when Redis does not have the item. false: Redis is believed.
	MissesToo bool
	// Blind sends an unconditional write as it is: if its reply is lost it may reach the server late and then overwrites
	// newer data. false: the write gets the condition of the last version seen, which costs one round trip more if none
	// was seen or if another program has written since.
	Blind bool
	// MaxAge bounds how old a copy may be that a reader gets. 0: any age until the item's own deadline.
	MaxAge time.Duration

	// Fresh sets how long a copy in the second store counts as new: another read of the same version does not write it
	// again. 0: 1 s; -1: each read writes it.
	Fresh time.Duration
	// Flush bounds how long a copy waits in memory before it is written. 0: 100 ms.
	Flush time.Duration
	// Waiting bounds how many copies wait in memory. Further copies are dropped and counted. 0: 4096.
	Waiting int

	// Probe sets how often a server is asked that is away or that has writes waiting for it, half of it at random. 0:
	// 500 ms.
	Probe time.Duration
	// Rate bounds how many waiting writes are applied per second. 0: 1000.
	Rate int
	// Lease runs the replay under a lease, so that one process at a time does it: the method Do of a lock.Lock. No
	// process applies the log of another. nil: each process replays when it can.
	Lease func(ctx context.Context, replay func(context.Context) error) error

	// OnConflict receives each write that lost against newer data, which is in Store.Conflicts, too. nil: no call.
	OnConflict func(Conflict)
	// OnEvent receives what happens, for metrics. It must be quick. nil: no call.
	OnEvent func(Event)
	Logger  *slog.Logger // names and counts, never an id or a value; nil: nothing
}

// Event represents something that happened.
type Event uint8

// The events.
const (
	WentAway   Event = iota // the server has begun to fail
	CameBack                // it answers again
	FromCopy                // a read was answered from the second store
	Accepted                // a write was put into the log
	Full                    // a write was refused because the log is full
	Replayed                // a write of the log was applied, or was there already
	Expired                 // a write of the log whose item has expired meanwhile
	Conflicted              // a write of the log lost against newer data
	Stuck                   // the server refuses a write of the log; it stays there
	Dropped                 // a copy was not stored: too many were waiting, or the store failed
)

var eventNames = [...]string{"went away", "came back", "from copy", "accepted", "full", "replayed", "expired",
	"conflicted", "stuck", "dropped"}

// String implements fmt.Stringer.
func (e Event) String() string { return eventNames[e] }

// Guard represents a target with a second store. It is safe for concurrent use.
// A Store belongs to one Guard at a time.
type Guard[T any] struct {
	target  Target[T]
	quick   Quick[T] // nil if the target is none
	stamps  bool     // the server adds to what is written
	store   Store
	o       Options
	breaker breaker.Breaker
	away    atomic.Bool
	replays atomic.Bool
	copies  waiting

	waitingIDs atomic.Int64 // of pending, so that most calls need no lock
	mu         sync.Mutex
	pending    map[string]int // writes in the log per item

	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup
}

// New makes a guard, reads what is left in the store's log (O(its length)) and
// starts its two goroutines, which Close ends. ErrGuarded if another guard has the
// store.
func New[T any](t Target[T], s Store, o Options) (*Guard[T], error) {
	o = o.withDefaults()
	g := &Guard[T]{target: t, store: s, o: o, pending: map[string]int{}, copies: newWaiting(o)}
	g.quick, _ = t.(Quick[T])
	if s, ok := t.(Stamper); ok {
		g.stamps = s.Stamps()
	}
	if err := claim(s, g); err != nil {
		return nil, err
	}
	g.ctx, g.stop = context.WithCancel(context.Background())
	if err := g.readLog(); err != nil {
		g.stop()
		release(s, g)
		return nil, err
	}
	g.work.Go(g.flushes)
	g.work.Go(g.keep)
	return g, nil
}

// readLog counts the writes that wait.
func (g *Guard[T]) readLog() error {
	for after := uint64(0); ; {
		entries, err := g.store.Next(g.ctx, after, batch)
		if err != nil {
			return err
		}
		for _, e := range entries {
			after = e.Seq
			g.count(e.ID, 1)
		}
		if len(entries) < batch {
			return nil
		}
	}
}

func (o Options) withDefaults() Options {
	o.Name = cmp.Or(o.Name, "item")
	o.Patience = cmp.Or(o.Patience, 250*time.Millisecond)
	o.WritePatience = cmp.Or(o.WritePatience, time.Second)
	o.Fresh = cmp.Or(o.Fresh, time.Second)
	o.Flush = cmp.Or(o.Flush, 100*time.Millisecond)
	o.Waiting = cmp.Or(o.Waiting, 4096)
	o.Probe = max(cmp.Or(o.Probe, 500*time.Millisecond), time.Millisecond)
	o.Rate = max(cmp.Or(o.Rate, 1000), 1)
	return o
}

// Close writes the copies that wait in memory and ends the goroutines. A replay
// under way stops after the write it is at; the rest stays in the log. The store
// stays open.
func (g *Guard[T]) Close() error {
	g.stop()
	g.work.Wait()
	defer release(g.store, g)
	return g.flush(context.Background())
}

// count says that so many more writes of an item are in the log.
func (g *Guard[T]) count(id string, by int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pending[id] += by; g.pending[id] <= 0 {
		delete(g.pending, id)
	}
	g.waitingIDs.Store(int64(len(g.pending)))
}

// isPending reports whether writes of an item are in the log.
func (g *Guard[T]) isPending(id string) bool {
	if g.waitingIDs.Load() == 0 {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pending[id] > 0
}

// failing reports whether an error says that the server cannot be reached or takes
// nothing now, rather than that it has said no.
func failing(err error) bool {
	class, ok := keywright.ClassOf(err)
	return ok && !errors.Is(err, keywright.ErrNotFound) && class != keywright.Invalid && class != keywright.Refused
}

// recordResult reports the result of a call to the breaker, unless its caller ended it.
func (g *Guard[T]) recordResult(ctx context.Context, err error) {
	if err != nil && ctx.Err() != nil {
		return
	}
	bad := failing(err)
	g.breaker.Note(!bad)
	if g.away.Load() != bad && g.away.CompareAndSwap(!bad, bad) {
		if bad {
			g.tell(WentAway)
		} else {
			g.tell(CameBack)
		}
	}
}

func (g *Guard[T]) tell(e Event) {
	if g.o.OnEvent != nil {
		g.o.OnEvent(e)
	}
	if g.o.Logger != nil {
		g.o.Logger.Debug("fallback", "items", g.o.Name, "event", e.String())
	}
}

// Phase describes how a guard is doing.
type Phase uint8

// The phases.
const (
	Up        Phase = iota // the server answers and nothing waits for it
	Away                   // it does not answer
	Replaying              // it answers, and writes are waiting or being applied
)

// String implements fmt.Stringer.
func (p Phase) String() string { return [...]string{"up", "away", "replaying"}[p] }

// State describes how a guard and its store are doing.
type State struct {
	Phase Phase
	Stats
}

// State asks the store how much it holds, and no server.
func (g *Guard[T]) State(ctx context.Context) (State, error) {
	stats, err := g.store.Stats(ctx)
	s := State{Stats: stats}
	switch {
	case g.away.Load() || g.breaker.Open():
		s.Phase = Away
	case stats.Pending > 0 || g.replays.Load():
		s.Phase = Replaying
	}
	return s, err
}
