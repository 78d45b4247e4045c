// Package cache is get-or-load over a declared string key: one load per cold key
// over all processes, early refresh, negative answers, invalidation that a load
// under way cannot undo, tags and versions, and copies in the process that the
// server takes back.
//
// A cached value has two keys in one cluster slot: main holds the value as it is
// declared and nothing else, so that any other reader can read it; fill is
// `absent` (a caller looked, there is nothing) or the token of the process that
// is loading, for a short lease. A load is stored only while its token is there.
//
// It is not a copy of a database: what it gives may be as old as the page
// docs/cache.md says, and a write to main past this package (a plain SET or DEL)
// does not stop a load under way. Errors are those of package keywright; those of
// a loader are given as they are.
//
// API: may change until 1.0.
package cache

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/breaker"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/kernel/notice"
	"github.com/keywright/keywright/typed"
	"github.com/keywright/keywright/value"
)

// Down describes what to do while the server does not answer.
type Down uint8

// What to do.
const (
	Fail        Down = iota // give the error
	LoadThrough             // load, once at a time per key and process, and store nothing
	ServeStale              // give the last copy that this process has seen, else LoadThrough
)

// Options of a cache. The zero value is get-or-load and nothing else.
type Options struct {
	// TTL sets how long a filled value lives, within the declared bounds; the declared jitter is added. 0: the declared
	// default.
	TTL time.Duration
	// ByCost chooses the TTL of a loaded value by the time that its loader took, in place of TTL. The result is brought
	// within the declared bounds. If one call loads several values, each has an equal share of the time. It cannot be
	// combined with Fresh, which needs a known TTL. nil: TTL.
	ByCost func(spent time.Duration) time.Duration
	// Fresh sets how long a value is fresh. For the rest of its TTL it is served stale while one process loads it again.
	// With jitter it varies by as much. It adds a PTTL to the round trip of every read. 0: fresh for all of its TTL.
	Fresh time.Duration
	// Early refreshes a value at random before its TTL ends, the earlier the longer it takes to load (XFetch); 1 is the
	// usual factor. It adds a PTTL as Fresh does. 0: no early refresh.
	Early float64
	// Absent sets how long it is remembered that a loader found nothing. 0: not at all.
	Absent time.Duration
	// Lease bounds how long others wait for a process that died while it was loading. It is renewed while the loader
	// runs. 0: 5 s.
	Lease time.Duration
	// Limit bounds how long a loader runs before its context ends. 0: 1 minute.
	Limit time.Duration
	// Local keeps what was read in this process, at most for so long; the server invalidates it when it changes. It
	// needs client-side caching. 0: no local copies.
	Local time.Duration
	// Down says what a read does while the server does not answer. 0: Fail.
	Down Down
	// Patience bounds how long a read or a claim takes before it counts as a failure of the server. After five failures
	// in a row no call is sent for a second; then one call tries again. 0: 250 ms; with Fail no limit but the
	// context's, and no breaker.
	Patience time.Duration
	// Fill returns the key that coordinates the loads of a main key, where a declaration names it. nil: FillKey.
	Fill func(main string) string
	// Copies bounds how many values ServeStale keeps. 0: 10,000.
	Copies int
	// CopyAge bounds how old a copy may be. 0: an hour.
	CopyAge time.Duration
}

// Cache describes what belongs to one entry and is shared by all its keys: loads under
// way, the breaker, measured load times. Make one per entry and client and keep
// it. It is safe for concurrent use.
type Cache[V any] struct {
	client  *keywright.Client
	entry   *keywright.Entry
	codec   *value.Codec[V]
	scripts scripts
	o       Options
	write   []keywright.WriteOption
	err     error // of the options: every operation gives it
	stale   int64 // ms left of the TTL from which on a value is stale
	timed   bool  // reads need to know the TTL that is left
	way     way   // of reading
	tier    *tier[V]
	guard   *breaker.Breaker
	copies  *copies[V]
	spent   average
	heeded  bool // a hook receives hits, misses and loads

	mu        sync.Mutex
	flights   map[string]*localLoad[V]
	refreshes map[string]struct{}
}

// way describes how values are read: the short ways are those that need nothing else.
type way uint8

const (
	thorough way = iota
	direct       // GET
	local        // DoCache
)

// New makes the cache of an entry. Options that cannot be are what every
// operation then gives as an error, of class Invalid.
// b has no key: Key gives the items of them.
func New[V any](b keywright.Binding, codec *value.Codec[V], o Options) *Cache[V] {
	c, e := b.Client, b.Entry
	o.Lease = cmp.Or(o.Lease, 5*time.Second)
	o.Limit = cmp.Or(o.Limit, time.Minute)
	if o.Down != Fail {
		o.Patience = cmp.Or(o.Patience, 250*time.Millisecond)
	}
	x := &Cache[V]{client: c, entry: e, codec: codec, scripts: standard, o: o, timed: o.Fresh > 0 || o.Early > 0,
		heeded: c.Noticed(notice.CacheHit), flights: map[string]*localLoad[V]{}, refreshes: map[string]struct{}{}}
	if o.TTL > 0 {
		x.write = []keywright.WriteOption{keywright.ExpiresIn(o.TTL)}
	}
	if o.Fresh > 0 {
		x.stale = (x.ttl() - o.Fresh).Milliseconds()
	}
	if o.Patience > 0 {
		x.guard = &breaker.Breaker{}
	}
	if x.guard == nil && !x.timed {
		if x.way = direct; o.Local > 0 {
			x.way = local
		}
	}
	if o.Down == ServeStale {
		x.copies = newCopies[V](cmp.Or(o.Copies, 10_000), cmp.Or(o.CopyAge, time.Hour))
	}
	if err := x.check(); err != nil {
		x.err = &keywright.Error{Class: keywright.Invalid, Entry: e.Name, Err: err}
	}
	return x
}

// ttl returns what is written, without jitter; 0 for none.
func (c *Cache[V]) ttl() time.Duration { return cmp.Or(c.o.TTL, c.entry.TTL.Default) }

// costing returns how a value is written that took so long to load.
func (c *Cache[V]) costing(spent time.Duration) []keywright.WriteOption {
	if c.o.ByCost == nil {
		return c.write
	}
	ttl := max(c.o.ByCost(spent), time.Millisecond)
	if low := c.entry.TTL.Min; low > 0 {
		ttl = max(ttl, low)
	}
	if high := c.entry.TTL.Max; high > 0 {
		ttl = min(ttl, high)
	}
	return []keywright.WriteOption{keywright.ExpiresIn(ttl)}
}

// check returns what the options and the declaration make impossible.
func (c *Cache[V]) check() error {
	t, o := c.entry.TTL, c.o
	spread := time.Duration(float64(c.ttl()) * t.Jitter)
	_, _, bad := c.entry.Choose(c.write)
	switch {
	case bad != nil:
		return bad
	case t.Sliding:
		return errors.New("a cached value whose TTL slides would never be loaded again; declare a fixed ttl")
	case t.Policy == keywright.Undecided && o.TTL == 0:
		return errors.New("the declaration leaves the TTL open; set Options.TTL")
	case t.Policy == keywright.Forever && c.timed:
		return errors.New("the options Fresh and Early need a TTL, and the declaration says none")
	case o.ByCost != nil && (o.Fresh > 0 || t.Policy != keywright.Expires):
		return errors.New("the option ByCost needs a declared TTL, and no option Fresh")
	case o.Fresh > 0 && (o.Fresh <= spread || o.Fresh >= c.ttl()-spread):
		return fmt.Errorf("the option Fresh is %v; it must lie between the jitter and the TTL without it, %v and %v", o.Fresh,
			spread, c.ttl()-spread)
	case o.Lease < 10*time.Millisecond:
		return fmt.Errorf("a lease of %v is shorter than a slow round trip; at least 10ms", o.Lease)
	case o.Absent < 0 || o.Absent > 0 && o.Absent < time.Millisecond || o.Local < 0 || o.Limit < 0 || o.Early < 0 ||
		o.Patience < 0:
		return errors.New("an option is negative, or Absent is less than 1ms")
	}
	return nil
}

// Item represents one cached value: its key, and the operations on it.
type Item[V any] struct {
	c    *Cache[V]
	main string
	more *more // nil for most: an item is handed around, and short
}

// more describes what few items have.
type more struct {
	err  error
	tags []string
}

func (i Item[V]) err() error {
	if i.more == nil {
		return nil
	}
	return i.more.err
}

// of returns an error for an item that c cannot read with others: one that no cache has
// made, or one of another client.
func (i Item[V]) of(c *Cache[V]) error {
	if i.c != nil && i.c.client == c.client {
		return i.err()
	}
	why, hint := "the item is of another client", "read it with its own cache"
	if i.c == nil {
		why, hint = "the item has no key", "make it with Key"
	}
	return &keywright.Error{Class: keywright.Invalid, Entry: c.entry.Name, Err: errors.New(why), Hint: hint}
}

func (i Item[V]) tags() []string {
	if i.more == nil {
		return nil
	}
	return i.more.tags
}

// Key returns the item of a key. An err of building the key is what every operation
// then gives.
func (c *Cache[V]) Key(main string, err error) Item[V] {
	if err != nil || c.err != nil || main == "" {
		return c.wrong(main, err)
	}
	return Item[V]{c: c, main: main}
}

func (c *Cache[V]) wrong(main string, err error) Item[V] {
	switch {
	case err == nil && c.err != nil:
		return Item[V]{c: c, main: main, more: &more{err: c.err}}
	case err == nil:
		err = errors.New("the key is empty")
	}
	b := keywright.Binding{Entry: c.entry, Err: err}
	return Item[V]{c: c, main: main, more: &more{err: b.Invalid("")}}
}

// At returns the item of a typed key.
func (c *Cache[V]) At(k typed.Key) Item[V] { return c.Key(k.Name(), k.Err()) }

// Name returns the key of the value.
func (i Item[V]) Name() string { return i.main }

// MaxTags says how many tags a value has at most: a script enters it in all of them
// in one step.
const MaxTags = 100

// Tagged returns the item with tags: keys of sets, one per tag, that InvalidateTag
// takes. They must be known before the value is loaded, and given with every
// GetOrLoad, Refresh and Set of it: a tag that was added when the load is done
// would miss an invalidation in between.
func (i Item[V]) Tagged(tags ...typed.Key) Item[V] {
	m := &more{err: i.err(), tags: append([]string(nil), i.tags()...)}
	for _, t := range tags {
		if t.Err() != nil && m.err == nil {
			m.err = t.Err()
		}
		m.tags = append(m.tags, t.Name())
	}
	if len(m.tags) > MaxTags && m.err == nil {
		m.err = &keywright.Error{Class: keywright.Invalid, Entry: i.c.entry.Name,
			Err: fmt.Errorf("%d tags; a value has at most %d", len(m.tags), MaxTags)}
	}
	i.more = m
	return i
}

// FillKey returns the key beside main that coordinates its loads: in main's cluster
// slot, by a hash tag around all of it unless it has one. The keys a and {a} have
// the same: do not cache both.
func FillKey(main string) string {
	if strings.ContainsAny(main, "{}") {
		return main + ":fill"
	}
	return "{" + main + "}:fill"
}

// FillKeyIn works as FillKey does, for values whose keys are in a namespace: the key beside
// them begins with it, too.
func FillKeyIn(namespace string) func(main string) string {
	return func(main string) string {
		if strings.ContainsAny(main, "{}") {
			return FillKey(main)
		}
		return namespace + ":" + FillKey(main)
	}
}

func (c *Cache[V]) fillKey(main string) string {
	if c.o.Fill != nil {
		return c.o.Fill(main)
	}
	return FillKey(main)
}

func (i Item[V]) action(name string, effect keywright.Effect) kernel.Action {
	return kernel.Action{Client: i.c.client, Name: name, Entry: i.c.entry, Effect: effect, Err: i.err(), Key: i.main}
}

// codec returns that of the item's value; one that seals is bound to its key.
func (i Item[V]) codec() *value.Codec[V] {
	c := i.c
	if !c.codec.Sealed() {
		return c.codec
	}
	return c.codec.Bind("",
		func(field, text string) (string, error) { return c.client.Seal(c.entry, i.main, field, text) },
		func(field, text string) (string, error) { return c.client.Unseal(c.entry, i.main, field, text) })
}

// decode reads a reply; nil is ErrNotFound.
func (i Item[V]) decode(r kernel.Reply) (v V, err error) {
	text, err := r.ToString()
	if err != nil {
		return v, missing(err)
	}
	return decodeText(i.codec(), text)
}

func decodeText[V any](codec *value.Codec[V], text string) (V, error) {
	v, err := codec.Parse(text)
	if err == nil {
		return v, nil
	}
	switch err.(type) {
	case *keywright.DecodeError, *keywright.Error: // of opening what is sealed
		return v, err
	}
	if e, ok := errors.AsType[*value.Error](err); ok {
		return v, &keywright.DecodeError{Field: e.Field, Err: errors.New(e.Reason)}
	}
	return v, &keywright.DecodeError{Err: err}
}

func missing(err error) error {
	if err != nil && kernel.IsNil(err) {
		return keywright.ErrNotFound
	}
	return err
}
