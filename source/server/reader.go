package server

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/connect/topology"
	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server/internal/contents"
	"github.com/keywright/keywright/source/server/internal/fleet"
	"github.com/keywright/keywright/source/server/internal/link"
	"github.com/keywright/keywright/source/server/internal/scan"
)

// Reader reads whole values: of all keys, or of those whose names it is given. It keeps
// connections to each shard and finds the shards again when they have changed. It is
// for one goroutine.
type Reader struct {
	scanner *Scanner
	request ContentsRequest
	t       *fleet.Fleet // nil: not connected
	owner   *[16384]uint16
	ahead   time.Duration // of the server's clock before ours
	able    bool          // the servers have the commands that read values
	first   []known       // the servers, as they were when it connected for the first time
}

// NewReader connects. req says what All and Names yield; its Progress is that of All.
func NewReader(ctx context.Context, config connect.Config, options Options, req ContentsRequest) (*Reader, error) {
	if req.Largest == 0 {
		req.Largest = contents.Largest
	}
	r := &Reader{scanner: New(config, options), request: req}
	if err := r.connect(ctx); err != nil {
		return nil, err
	}
	now, err := r.t.Shards[0].Conn.Clock(ctx)
	if err == nil {
		err = r.t.Only(ctx, r.scanner.options.OnlyDB)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	r.ahead = time.Until(now)
	for _, sh := range r.t.Shards {
		r.first = append(r.first, known{sh.Config, sh.Before})
	}
	return r, nil
}

// Close closes the connections.
func (r *Reader) Close() {
	if r.t != nil {
		r.t.Close()
	}
	r.t = nil
}

// Now returns the server's time in Unix milliseconds.
func (r *Reader) Now() int64 { return time.Now().Add(r.ahead).UnixMilli() }

// Shards returns the servers that are read.
func (r *Reader) Shards() []source.Shard { return r.t.DescribeShards() }

// Databases returns those that had keys when it connected, in their order.
func (r *Reader) Databases() []int {
	all := map[int]bool{}
	for _, sh := range r.t.Shards {
		for db := range sh.Databases {
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
	t, err := fleet.Discover(ctx, r.scanner.config, r.scanner.options.Role)
	if err != nil {
		if t != nil {
			t.Close()
		}
		return err
	}
	r.t, r.owner = t, nil
	if t.Cluster {
		r.owner = owners(t.Shards)
	}
	for _, sh := range t.Shards {
		sh.Conn.LimitBulk(wire.MaxBulk)
	}
	return nil
}

// unowned is the shard of a slot that no node serves.
const unowned = 1<<16 - 1

// owners returns the shards by slot.
func owners(shards []*fleet.Shard) *[16384]uint16 {
	var all [16384]uint16
	for i := range all {
		all[i] = unowned
	}
	for i, sh := range shards {
		for _, r := range sh.Slots {
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
	if p.slab = p.slab[:0]; cap(p.slab) < size || cap(p.slab) > 4*contents.InFlight {
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
	if p.slab = p.slab[:0]; cap(p.slab) < size || cap(p.slab) > contents.InFlight {
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
			if err := link.Sleep(ctx, min(25*time.Millisecond<<attempt, 4*time.Second)); err != nil {
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
		if errors.As(err, new(*scan.ConsumerError)) {
			return err.(*scan.ConsumerError).Err
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
			if err := r.t.Has(ctx, fleet.ToReadValues); err != nil {
				return err
			}
			r.able = true
		}
		run := scan.NewRun(r.scanner.config, r.scanner.options, source.Request{}, r.t, nil, time.Now())
		return r.everywhere(ctx, names, func(ctx context.Context, sh *fleet.Shard, names [][]byte) error {
			return contents.Named(ctx, run, sh, db, r.request, names, each)
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
		return r.everywhere(ctx, names, func(ctx context.Context, sh *fleet.Shard, names [][]byte) error {
			return contents.Exist(ctx, sh, db, names, func(name []byte) {
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
	do func(context.Context, *fleet.Shard, [][]byte) error) error {
	if r.owner == nil {
		return do(ctx, r.t.Shards[0], names)
	}
	by := make([][][]byte, len(r.t.Shards))
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
				if err := do(ctx, r.t.Shards[i], share); err != nil {
					stop(err)
				}
			})
		}
	}
	group.Wait()
	return context.Cause(ctx)
}

// known represents a server as it was.
type known struct {
	config connect.Config
	as     topology.Identity
}

// Since returns what has happened to the servers since NewReader by which they may have lost keys that no program has
// deleted: a flush, a restart, a failover, or that one of them does not answer. It asks each of them, over a new
// connection.
func (r *Reader) Since(ctx context.Context) (out source.Reasons, err error) {
	for _, was := range r.first {
		conn, err := link.Dial(ctx, was.config)
		if err != nil {
			out = out.Add(source.Why(source.Unverified, was.config.Addresses[0], err))
			continue
		}
		info, err := conn.Info(ctx)
		address := conn.Address
		conn.Close()
		if err != nil {
			out = out.Add(source.Why(source.Unverified, address, err))
			continue
		}
		for _, why := range topology.Differences(address, was.as, topology.Identify(info)) {
			// The first replica of a primary, which a snapshot may be, gives it a new id, and loses nothing.
			if why.Code != source.HistoryMoved || was.as.Role != "master" {
				out = out.Add(why)
			}
		}
	}
	return out, ctx.Err()
}

// Libraries calls each with the code of each library of functions, of each shard in turn: it may come several times.
// The reasons say what could not be read.
func (r *Reader) Libraries(ctx context.Context, each func(server string, code []byte) error) (why source.Reasons,
	err error) {
	err = r.patiently(ctx, func() error {
		why, err = contents.Libraries(ctx, r.t, each)
		return err
	})
	return why, err
}
