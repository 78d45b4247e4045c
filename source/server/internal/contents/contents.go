// Package contents reads whole values, each with its expiry in one step of the server: those of all keys, page by
// page of a scan, or those of keys that are named. What is too large for a step comes in parts. It does not read
// snapshots.
package contents

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb/dump"
	"github.com/keywright/keywright/source/server/internal/fleet"
	"github.com/keywright/keywright/source/server/internal/link"
	"github.com/keywright/keywright/source/server/internal/scan"
	"github.com/keywright/keywright/source/server/request"
)

// Largest says what is read in one step unless the request says otherwise: DUMP of
// so much takes a server less than ten milliseconds.
const Largest = 512 << 10

// InFlight bounds the bytes of values that are asked for at a time.
const InFlight = 2 << 20

// Read reads whole values of the servers of a configuration.
func Read(ctx context.Context, config connect.Config, options request.Options, req request.Contents,
	each func([]source.Content) error) (source.Summary, error) {
	started := time.Now()
	if req.Largest == 0 {
		req.Largest = Largest
	}
	t, err := fleet.Discover(ctx, config, options.Role)
	if err != nil {
		return source.Summary{}, err
	}
	defer t.Close()
	if err := t.Only(ctx, options.OnlyDB); err != nil {
		return source.Summary{}, err
	}
	if req.Names == nil {
		if err := t.Has(ctx, fleet.ToReadValues); err != nil {
			return source.Summary{}, err
		}
	}
	if req.Begin != nil {
		now, err := t.Shards[0].Conn.Clock(ctx)
		if err == nil {
			err = req.Begin(t.DescribeShards(), now)
		}
		if err != nil {
			return source.Summary{}, err
		}
	}
	run := scan.NewRun(config, options, source.Request{Match: req.Match, Progress: req.Progress}, t, nil, started)
	run.Kind = req.Type
	run.Reads = func(w *scan.Walk) func(context.Context) error {
		return (&contentWalk{Walk: w, wanted: req, each: each}).throughAll
	}
	run.Pace = scan.NewPacer(options.Rate)
	if err = askLibraries(ctx, run, req.Library); err == nil {
		err = run.All(ctx)
	}
	sum := run.Summary()
	if ctx.Err() != nil {
		sum.Incomplete = sum.Incomplete.Add(source.Why(source.Interrupted, "", nil))
		return sum, ctx.Err()
	}
	return sum, err
}

// contentWalk represents a walk that reads whole values.
type contentWalk struct {
	*scan.Walk
	wanted request.Contents
	each   func([]source.Content) error
	batch  []source.Content
	slab   []byte // of payloads of the batch
	gone   int
	moved  int64 // keys that were at another node of the cluster when they were read
	asks   []redirect
	byName bool // the keys were asked for: those that moved are read where they are
	names  [][]byte
	ring   [3]scan.Page // one whose values are read or handed over, one whose sizes are read, one whose names are
	turns  int

	handed map[string]bool // keys after w.cursor that the consumer has: their page may be read again
	parted [][]byte        // keys whose last part is in the batch, or was handed over
}

// recycled returns the page that was delivered longest ago, empty.
func (w *contentWalk) recycled() *scan.Page {
	p := &w.ring[w.turns%len(w.ring)]
	w.turns++
	*p = scan.Page{Slab: p.Slab[:0], Ends: p.Ends[:0]}
	return p
}

// turn represents a page on its way: first its sizes are asked for, then its values.
type turn struct {
	page  *scan.Page
	sizes []int64 // -1: gone, or out of reach
	asked bool    // for the sizes: the server tells them
	begun int     // keys whose values were asked for
	steps []step  // of the values that are on their way
	alone []int   // keys that are asked for again, each by itself
}

// whole reports whether all values of the page were read: it can be handed over while the server works for the next.
func (t *turn) whole(most int64) bool {
	return t.begun == len(t.sizes) && len(t.alone) == 0 &&
		!slices.ContainsFunc(t.sizes, func(size int64) bool { return size > most })
}

// through walks from w.cursor to the end. The sizes of a page, and the page after it,
// are asked for together with the values of the page before it.
func (w *contentWalk) through(ctx context.Context) error {
	conn := w.Shard.Conn
	conn.LimitBulk(wire.MaxBulk)
	stop := context.AfterFunc(ctx, conn.Interrupt)
	defer stop()
	w.batch, w.slab, w.gone = w.batch[:0], w.slab[:0], 0 // what a broken connection has left: its page is read again
	if err := w.begin(); err != nil {
		return connect.Explain(w.Shard.Address, err)
	}
	var ready, valued, sized *turn
	for next, more := w.Cursor, true; more || sized != nil || valued != nil || ready != nil; {
		if err := w.ask(valued, sized, next, more); err != nil {
			return connect.Explain(w.Shard.Address, err)
		}
		if ready != nil {
			if err := w.finishTurn(ctx, ready); err != nil {
				return w.explain(err)
			}
		}
		var read *scan.Page
		err := w.read(valued, sized)
		if err == nil && more {
			read = w.recycled()
			if err = w.ReadNames(read); err == nil {
				more = w.GoesOn(read)
				next = read.Next
				w.keepWanted(read)
				err = w.nameOnly(read)
			}
		}
		ready = valued
		if err == nil && valued != nil && !valued.whole(w.wanted.Largest) {
			ready, err = nil, w.finishTurn(ctx, valued)
		}
		if err != nil {
			return w.explain(err)
		}
		valued, sized = sized, nil
		if read != nil {
			sized = &turn{page: read}
			if err := w.rest(ctx, len(read.Ends)); err != nil {
				return err
			}
		}
	}
	return nil
}

// explain says of which server an error is, unless it is the consumer's.
func (w *contentWalk) explain(err error) error {
	if errors.As(err, new(*scan.ConsumerError)) {
		return err
	}
	return connect.Explain(w.Shard.Address, err)
}

// begin selects the database, and asks the server to leave idle times alone.
func (w *contentWalk) begin() error {
	conn := w.Shard.Conn
	if _, err := connect.Ask(conn.Conn, "SELECT", strconv.Itoa(w.DB)); err != nil {
		return err
	}
	conn.DB = w.DB
	_, err := connect.Ask(conn.Conn, "CLIENT", "NO-TOUCH", "on")
	var refused *wire.ServerError
	if errors.As(err, &refused) {
		w.Remark(
			"idle times of the keys that were read begin again: the server has no CLIENT NO-TOUCH, or does not permit it")
		return nil
	}
	return err
}

// keepWanted leaves only the keys that are wanted in a page.
func (w *contentWalk) keepWanted(p *scan.Page) {
	if w.wanted.Wants == nil && w.wanted.Skip == nil && len(w.handed) == 0 {
		return
	}
	wants := func(name []byte) bool {
		return !w.handed[string(name)] && (w.wanted.Wants == nil || w.wanted.Wants(name)) &&
			(w.wanted.Skip == nil || !w.wanted.Skip(w.DB, name))
	}
	w.Mu.Lock()
	defer w.Mu.Unlock()
	from, kept, end := 0, 0, 0
	for _, to := range p.Ends {
		if wants(p.Slab[from:to:to]) {
			end += copy(p.Slab[end:], p.Slab[from:to])
			p.Ends[kept] = end
			kept++
		}
		from = to
	}
	p.Slab, p.Ends = p.Slab[:end], p.Ends[:kept]
}

// ask sends what one round trip is about.
func (w *contentWalk) ask(valued, sized *turn, next string, more bool) error {
	if valued != nil {
		w.askValues(valued)
	}
	if sized != nil && !w.Shard.Unsized {
		sized.asked = true
		for i := range sized.page.Ends {
			w.Shard.Conn.Raw(scan.MemoryCommand)
			w.Shard.Conn.ArgBytes(sized.page.Name(i))
		}
	}
	if more {
		w.AskPage(next)
	}
	return w.Shard.Conn.Flush()
}

// read reads what ask asked for, but for the page.
func (w *contentWalk) read(valued, sized *turn) error {
	if valued != nil {
		if err := w.readValues(valued); err != nil {
			return err
		}
	}
	if sized == nil {
		return nil
	}
	for i := range sized.page.Ends {
		if !sized.asked {
			sized.sizes = append(sized.sizes, unsized)
			continue
		}
		n, ok, err := w.Shard.Conn.Int()
		if link.Unavailable(err) {
			w.unsized()
			n = unsized
		} else if to, elsewhere := link.Redirected(err); elsewhere {
			w.movedAway(sized.page.Name(i), to)
			n = -1
		} else if no, err := link.Refused(err); err != nil {
			return err
		} else if no {
			w.Denied++
			n = -1
		} else if !ok {
			w.gone++
			n = -1
		}
		sized.sizes = append(sized.sizes, n)
	}
	return nil
}

// aborted reports whether the server executed nothing of a transaction, since it refused one of its commands.
func aborted(err error) bool {
	if err == nil {
		return false
	}
	var answer *wire.ServerError
	return errors.As(err, &answer) && answer.Code == "EXECABORT"
}

// keep takes the reply of DUMP.
func (w *contentWalk) keep(k *source.Content, reply []byte) error {
	if len(reply) <= footer {
		return &wire.ProtocolError{Got: fmt.Sprintf("%d bytes", len(reply)), Want: "the value of DUMP"}
	}
	end := len(reply) - footer
	k.RDB = int(binary.LittleEndian.Uint16(reply[end:]))
	k.Kind = dump.KindOf(reply[0], w.Shard.Before.Brand == "valkey")
	from := len(w.slab)
	w.slab = append(w.slab, reply[:end]...)
	k.Payload = w.slab[from:len(w.slab):len(w.slab)]
	return nil
}

// finishTurn reads what is left of a page: more values, those in parts. Then it hands
// the page over.
func (w *contentWalk) finishTurn(ctx context.Context, t *turn) error {
	for t.begun < len(t.sizes) {
		if err := w.hand(false); err != nil {
			return err
		}
		if err := w.someValues(t); err != nil {
			return err
		}
	}
	if err := w.eachAlone(t); err != nil {
		return err
	}
	for i, size := range t.sizes {
		if size > w.wanted.Largest {
			if err := w.inParts(ctx, t.page.Name(i), size); err != nil {
				return err
			}
			w.parted = append(w.parted, t.page.Name(i))
		}
	}
	w.Looked += int64(len(t.sizes))
	if err := w.hand(true); err != nil {
		return err
	}
	w.Cursor, w.parted = t.page.Next, w.parted[:0]
	clear(w.handed)
	return nil
}

// hand gives the batch to the consumer.
func (w *contentWalk) hand(page bool) error {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	for i := range w.batch {
		if !w.batch[i].More {
			w.Run.Keys++
		}
	}
	w.Run.Gone += int64(w.gone)
	w.gone = 0
	if !page {
		w.gave()
	}
	if len(w.batch) > 0 {
		if err := w.each(w.batch); err != nil {
			return &scan.ConsumerError{Err: err}
		}
	}
	w.batch, w.slab = w.batch[:0], w.slab[:0]
	if cap(w.slab) > 4*InFlight {
		w.slab = nil
	}
	if page {
		w.Progress(false)
	}
	return nil
}

// rest keeps the rate, and waits for a slow server.
func (w *contentWalk) rest(ctx context.Context, keys int) error {
	if err := link.Sleep(ctx, w.Pace.Wait(keys)); err != nil {
		return err
	}
	if w.Options.MaxLatency == 0 {
		return nil
	}
	for {
		rtt, err := w.Ping()
		if err != nil || rtt <= w.Options.MaxLatency {
			return err
		}
		w.PausedNow(true)
		if err := link.Sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// throughAll walks the database, and says what it could not read.
func (w *contentWalk) throughAll(ctx context.Context) error {
	err := w.through(ctx)
	if err == nil && w.moved > 0 {
		moved := source.Why(source.SlotsMoved, w.Shard.Address, nil).In(w.DB)
		moved.Keys = w.moved
		w.Note(moved)
	}
	return err
}

// gave notes which keys are handed over with the batch: if the connection breaks before the
// page ends, they are not to be given again.
func (w *contentWalk) gave() {
	if w.handed == nil {
		w.handed = map[string]bool{}
	}
	for i := range w.batch {
		if w.batch[i].Payload != nil {
			w.handed[string(w.batch[i].Name)] = true
		}
	}
	for _, name := range w.parted {
		w.handed[string(name)] = true
	}
}

// nameOnly gives the names of a page to a consumer that wants no values.
func (w *contentWalk) nameOnly(p *scan.Page) error {
	if w.wanted.Names == nil {
		return nil
	}
	w.Mu.Lock()
	defer w.Mu.Unlock()
	w.names = w.names[:0]
	for i := range p.Ends {
		w.names = append(w.names, p.Name(i))
	}
	w.Run.Keys += int64(len(w.names))
	if len(w.names) > 0 {
		if err := w.wanted.Names(w.DB, w.names); err != nil {
			return &scan.ConsumerError{Err: err}
		}
	}
	p.Slab, p.Ends = p.Slab[:0], p.Ends[:0]
	w.Progress(false)
	return nil
}
