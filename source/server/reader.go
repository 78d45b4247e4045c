package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/slot"
	"github.com/keywright/keywright/source"
)

// Reader reads whole values: of all keys, or of those whose names it is given. It keeps
// connections to each shard and finds the shards again when they have changed. It is
// for one goroutine.
type Reader struct {
	scanner *Scanner
	request ContentsRequest
	t       *fleet // nil: not connected
	owner   *[16384]uint16
	ahead   time.Duration // of the server's clock before ours
	able    bool          // the servers have the commands that read values
	first   []known       // the servers, as they were when it connected for the first time
}

// NewReader connects. req says what All and Names yield; its Progress is told of All.
func NewReader(ctx context.Context, config connect.Config, options Options, req ContentsRequest) (*Reader, error) {
	if req.Largest == 0 {
		req.Largest = largest
	}
	r := &Reader{scanner: New(config, options), request: req}
	if err := r.connect(ctx); err != nil {
		return nil, err
	}
	now, err := r.t.shards[0].conn.clock(ctx)
	if err == nil {
		err = r.t.only(ctx, r.scanner.options.OnlyDB)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	r.ahead = time.Until(now)
	for _, sh := range r.t.shards {
		r.first = append(r.first, known{sh.config, sh.before})
	}
	return r, nil
}

// Close closes the connections.
func (r *Reader) Close() {
	if r.t != nil {
		r.t.close()
	}
	r.t = nil
}

// Now returns the server's time in Unix milliseconds.
func (r *Reader) Now() int64 { return time.Now().Add(r.ahead).UnixMilli() }

// Shards returns the servers that are read.
func (r *Reader) Shards() []source.Shard { return r.t.describeShards() }

// Databases returns those that had keys when it connected, in their order.
func (r *Reader) Databases() []int {
	all := map[int]bool{}
	for _, sh := range r.t.shards {
		for db := range sh.dbs {
			all[db] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Config returns the server that is read.
func (r *Reader) Config() connect.Config { return r.scanner.config }

// connect finds the shards.
func (r *Reader) connect(ctx context.Context) error {
	r.Close()
	t, err := discover(ctx, r.scanner.config, r.scanner.options.Role)
	if err != nil {
		if t != nil {
			t.close()
		}
		return err
	}
	r.t, r.owner = t, nil
	if t.cluster {
		r.owner = owners(t.shards)
	}
	for _, sh := range t.shards {
		sh.conn.LimitBulk(wire.MaxBulk)
	}
	return nil
}

// unowned is the shard of a slot that no node serves.
const unowned = 1<<16 - 1

// owners returns the shards by slot.
func owners(shards []*shard) *[16384]uint16 {
	var all [16384]uint16
	for i := range all {
		all[i] = unowned
	}
	for i, sh := range shards {
		for _, r := range sh.slots {
			for slot := r.First; slot <= r.Last; slot++ {
				all[slot] = uint16(i)
			}
		}
	}
	return &all
}

// All yields the values of all keys, one page ahead of the consumer. See
// Scanner.Contents.
func (r *Reader) All(ctx context.Context, each func([]source.Content) error) (source.Summary, error) {
	return pageAhead(ctx, func(p *copied) error { return each(p.batch) },
		func(ctx context.Context, next func(func(*copied)) error) (source.Summary, error) {
			return r.scanner.Contents(ctx, r.request, func(batch []source.Content) error {
				return next(func(p *copied) { p.take(batch) })
			})
		})
}

// pageAhead has a consumer work on one page while the next one is read. read gives each page to next, which has it copied
// into one that outlives the callback.
func pageAhead[P any](ctx context.Context, each func(*P) error,
	read func(ctx context.Context, next func(fill func(*P)) error) (source.Summary, error)) (source.Summary, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	pages, back := make(chan *P, 1), make(chan *P, 2)
	for range cap(back) {
		back <- new(P)
	}
	var failed error // of the consumer
	var group sync.WaitGroup
	group.Go(func() {
		for p := range pages {
			if failed == nil {
				if failed = each(p); failed != nil {
					stop(failed)
				}
			}
			back <- p
		}
	})
	sum, err := read(ctx, func(fill func(*P)) error {
		p := <-back
		fill(p)
		pages <- p
		return context.Cause(ctx)
	})
	close(pages)
	group.Wait()
	if failed != nil {
		err = failed
	}
	return sum, err
}

// copied represents a page that outlives the callback.
type copied struct {
	batch []source.Content
	slab  []byte
}

func (p *copied) take(batch []source.Content) {
	size := 0
	for i := range batch {
		size += len(batch[i].Name) + len(batch[i].Payload)
	}
	if p.slab = p.slab[:0]; cap(p.slab) < size || cap(p.slab) > 4*inFlight {
		p.slab = make([]byte, 0, size)
	}
	keep := func(b []byte) []byte {
		if b == nil {
			return nil
		}
		from := len(p.slab)
		p.slab = append(p.slab, b...)
		return p.slab[from:len(p.slab):len(p.slab)]
	}
	p.batch = append(p.batch[:0], batch...)
	for i := range p.batch {
		p.batch[i].Name, p.batch[i].Payload = keep(batch[i].Name), keep(batch[i].Payload)
	}
}

// Names yields the names of all keys, and no values, one page ahead of the consumer.
func (r *Reader) Names(ctx context.Context, each func(db int, names [][]byte) error) (source.Summary, error) {
	return pageAhead(ctx, func(p *copiedNames) error { return each(p.db, p.names) },
		func(ctx context.Context, next func(func(*copiedNames)) error) (source.Summary, error) {
			req := r.request
			req.Begin = nil
			req.Names = func(db int, names [][]byte) error { return next(func(p *copiedNames) { p.take(db, names) }) }
			return r.scanner.Contents(ctx, req, func([]source.Content) error { return nil })
		})
}

// copiedNames represents the names of a page that outlives the callback.
type copiedNames struct {
	db    int
	names [][]byte
	slab  []byte
}

func (p *copiedNames) take(db int, names [][]byte) {
	size := 0
	for _, name := range names {
		size += len(name)
	}
	if p.slab = p.slab[:0]; cap(p.slab) < size || cap(p.slab) > inFlight {
		p.slab = make([]byte, 0, size)
	}
	p.db, p.names = db, p.names[:0]
	for _, name := range names {
		from := len(p.slab)
		p.slab = append(p.slab, name...)
		p.names = append(p.names, p.slab[from:len(p.slab):len(p.slab)])
	}
}

// askings says how often keys are asked for before they are given up: about half a
// minute, longer than a failover. Nor is a server waited for longer than connect.Config.Patience.
const askings = 12

// patiently runs a step, and again with new connections where a server failed, or slots
// of a cluster moved.
func (r *Reader) patiently(ctx context.Context, step func() error) (err error) {
	var since time.Time // the first failure
	for attempt := range askings {
		if attempt == 1 {
			since = time.Now()
		}
		if attempt > 0 {
			if time.Since(since) > r.scanner.config.Patience() {
				return err
			}
			if err := sleep(ctx, min(25*time.Millisecond<<attempt, 4*time.Second)); err != nil {
				return err
			}
		}
		if r.t == nil {
			if err = r.connect(ctx); err != nil && !passing(err) {
				return err
			}
		}
		if r.t != nil {
			if err = step(); err == nil {
				return nil
			}
			r.Close()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.As(err, new(*consumerError)) {
			return err.(*consumerError).err
		}
		if !passing(err) {
			return err
		}
	}
	return err
}

// passing tells errors that may be over soon.
func passing(err error) bool {
	var answer *wire.ServerError
	if !errors.As(err, &answer) {
		return !connect.IsKind(err, connect.Unsupported, connect.Denied)
	}
	return slices.Contains([]string{"LOADING", "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN", "MOVED", "ASK", "BUSY"},
		answer.Code)
}

// Ask yields the values of those of the keys that are there, each at least once; a key
// that comes twice was read twice, and the last time counts. Keys of a cluster are asked
// for at their nodes, also while their slots move.
func (r *Reader) Ask(ctx context.Context, db int, names [][]byte, each func([]source.Content) error) error {
	return r.patiently(ctx, func() error {
		if !r.able {
			if err := r.t.has(ctx, toReadValues); err != nil {
				return err
			}
			r.able = true
		}
		run := newRun(r.scanner, source.Request{}, r.t, nil, time.Now())
		run.wanted = r.request
		return r.everywhere(ctx, names, func(ctx context.Context, sh *shard, names [][]byte) error {
			w := &contentWalk{walk: &walk{run: run, sh: sh, db: db}, each: each, byName: true}
			return w.named(ctx, names)
		})
	})
}

// There tells which of the keys are there.
func (r *Reader) There(ctx context.Context, db int, names [][]byte) (there []bool, err error) {
	place := map[string]int{}
	for i, name := range names {
		place[string(name)] = i
	}
	err = r.patiently(ctx, func() error {
		there = make([]bool, len(names))
		var mu sync.Mutex
		return r.everywhere(ctx, names, func(ctx context.Context, sh *shard, names [][]byte) error {
			w := &contentWalk{walk: &walk{sh: sh, db: db}, byName: true}
			return w.exist(ctx, names, func(name []byte) {
				mu.Lock()
				defer mu.Unlock()
				there[place[string(name)]] = true
			})
		})
	})
	return there, err
}

// everywhere does something at each shard with the keys that it owns.
func (r *Reader) everywhere(ctx context.Context, names [][]byte,
	do func(context.Context, *shard, [][]byte) error) error {
	if r.owner == nil {
		return do(ctx, r.t.shards[0], names)
	}
	by := make([][][]byte, len(r.t.shards))
	for _, name := range names {
		at := r.owner[slot.Of(name)]
		if at == unowned {
			return &wire.ServerError{Code: "CLUSTERDOWN", Message: "no node serves the slot of a key"}
		}
		by[at] = append(by[at], name)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var group sync.WaitGroup
	for i, share := range by {
		if len(share) > 0 {
			group.Go(func() {
				if err := do(ctx, r.t.shards[i], share); err != nil {
					stop(err)
				}
			})
		}
	}
	group.Wait()
	return context.Cause(ctx)
}

// named reads the values of keys.
func (w *contentWalk) named(ctx context.Context, names [][]byte) error {
	stop := context.AfterFunc(ctx, w.sh.conn.Interrupt)
	defer stop()
	if err := w.select1(); err != nil {
		return connect.Explain(w.sh.address, err)
	}
	t := &turn{page: &page{}}
	for _, name := range names {
		t.page.slab = append(t.page.slab, name...)
		t.page.ends = append(t.page.ends, len(t.page.slab))
	}
	err := w.ask(nil, t, "", false)
	if err == nil {
		err = w.read(nil, t)
	}
	if err == nil {
		err = w.finishTurn(ctx, t)
	}
	for i := 0; err == nil && i < len(w.asks); i++ {
		err = w.elsewhere(ctx, w.asks[i])
	}
	if err != nil {
		return w.explain(err)
	}
	if w.denied > 0 {
		return connect.Explain(w.sh.address,
			&wire.ServerError{Code: "NOPERM", Message: fmt.Sprintf("NOPERM %d keys are out of the user's reach", w.denied)})
	}
	return nil
}

// select1 selects the database if it is another one.
func (w *contentWalk) select1() error {
	if w.sh.conn.db == w.db && w.sh.asked {
		return nil
	}
	w.sh.asked = true
	return w.begin()
}

// errElsewhere is why keys are asked for again: no one says where they are.
var errElsewhere = &wire.ServerError{Code: "MOVED", Message: "MOVED: the slots of the cluster have changed"}

// elsewhere reads a key of a slot that moves at the node that it moves to.
func (w *contentWalk) elsewhere(ctx context.Context, k redirect) error {
	conn, err := w.asking(ctx, k)
	if err != nil {
		return err
	}
	defer conn.close()
	own := w.sh
	w.sh = &shard{config: own.config, address: k.address, conn: conn, before: own.before}
	defer func() { w.sh = own }()
	w.asks, w.moved = w.asks[:len(w.asks):len(w.asks)], 0
	if err := w.wholeAfterAll(k.name); err != nil {
		return err
	}
	if w.moved > 0 {
		return errElsewhere
	}
	return nil
}

// asking connects to the node that a slot moves to, and says so.
func (w *contentWalk) asking(ctx context.Context, k redirect) (*link, error) {
	if k.address == "" {
		return nil, errElsewhere
	}
	conn, err := dial(ctx, w.sh.config.At(k.address))
	if err != nil {
		return nil, err
	}
	conn.LimitBulk(wire.MaxBulk)
	if _, err := connect.Ask(conn.Conn, "ASKING"); err != nil {
		conn.close()
		return nil, err
	}
	return conn, nil
}

// exist calls yes for those of the keys that are there.
func (w *contentWalk) exist(ctx context.Context, names [][]byte, yes func([]byte)) error {
	stop := context.AfterFunc(ctx, w.sh.conn.Interrupt)
	defer stop()
	c := w.sh.conn
	if c.db != w.db {
		if _, err := connect.Ask(c.Conn, "SELECT", strconv.Itoa(w.db)); err != nil {
			return connect.Explain(w.sh.address, err)
		}
		c.db = w.db
	}
	for _, name := range names {
		c.Header(2)
		c.Arg("EXISTS")
		c.ArgBytes(name)
	}
	if err := c.Flush(); err != nil {
		return connect.Explain(w.sh.address, err)
	}
	for _, name := range names {
		n, _, err := c.Int()
		if to, is := redirected(err); is {
			w.movedAway(name, to)
		} else if err != nil {
			return connect.Explain(w.sh.address, err)
		}
		if n > 0 {
			yes(name)
		}
	}
	for _, k := range w.asks {
		conn, err := w.asking(ctx, k)
		if err != nil {
			return err
		}
		n, err := connect.Ask(conn.Conn, "EXISTS", string(k.name))
		conn.close()
		if err != nil {
			return connect.Explain(k.address, err)
		}
		if n == int64(1) {
			yes(k.name)
		}
	}
	return nil
}
