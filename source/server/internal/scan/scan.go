package scan

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/connect/topology"
	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server/internal/fleet"
	"github.com/keywright/keywright/source/server/internal/link"
)

// shard scans all databases of one shard and compares what the server was with
// what it is.
func (r *Run) shard(ctx context.Context, sh *fleet.Shard) error {
	dbs := slices.Sorted(maps.Keys(sh.Databases))
	for i, t := range r.tracks(sh, dbs) {
		w := &Walk{Run: r, Shard: sh, DB: dbs[i], track: t, bytes: r.Request.Bytes}
		w.count = min(r.Options.Count, w.most())
		if t.Done {
			w.finish()
			continue
		}
		w.pass = w.through
		if r.Reads != nil {
			w.pass = r.Reads(w)
		}
		if err := w.all(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Walk scans one database of one shard.
type Walk struct {
	*Run
	Shard  *fleet.Shard
	DB     int
	track  *track
	bytes  bool
	count  int    // of SCAN
	Cursor string // of the first page that was not delivered
	seen   int64  // keys that SCAN returned
	Looked int64  // keys whose facts were read
	Denied int64
	named  int        // pages whose names were read
	dice   *rand.Rand // sampling
	seed   maphash.Seed
	met    map[uint64]bool             // names of the sample, by their hashes: pages of random places overlap
	pass   func(context.Context) error // walks from cursor to the end
	pipeline
}

// retries bounds how often a broken connection is opened again in one database.
const retries = 5

// all walks the database; a broken connection is opened again and the walk goes
// on from the last page that was delivered, if the server is still the same.
func (w *Walk) all(ctx context.Context) error {
	w.Cursor = w.track.Cursor
	if w.Request.Sample > 0 && w.Request.Sample < w.Fleet.Size() { // of fewer keys all are the sample
		w.met, w.seed = map[uint64]bool{}, maphash.MakeSeed()
		w.dice = rand.New(rand.NewPCG(w.Options.Seed, uint64(w.DB)))
		w.Cursor = w.randomCursor()
	}
	for attempt := 0; ; attempt++ {
		err := w.pass(ctx)
		switch {
		case err == nil:
			w.Mu.Lock()
			w.track.Done, w.track.Looked, w.track.Denied = true, w.Looked, w.Denied
			w.Mu.Unlock()
			w.finish()
			return nil
		case ctx.Err() != nil:
			return nil
		case errors.As(err, new(*ConsumerError)):
			return err.(*ConsumerError).Err
		}
		if connect.IsKind(err, connect.Denied) && w.Looked == 0 {
			return err // a command that is needed is not permitted: nothing can be said
		}
		if attempt == retries || !w.reconnect(ctx, err) {
			w.Note(source.Why(source.Ended, w.Shard.Address, err).In(w.DB))
			return nil
		}
	}
}

func (w *Walk) reconnect(ctx context.Context, cause error) bool {
	var answered *wire.ServerError
	if errors.As(cause, &answered) || connect.IsKind(cause, connect.Unsupported, connect.Denied) {
		return false
	}
	w.Shard.Conn.Close()
	conn, err := link.Dial(ctx, w.Shard.Config)
	if err != nil {
		return false
	}
	w.Shard.Conn = conn
	if w.Shard.Replica && w.Fleet.Cluster {
		if _, err := conn.Ask(ctx, "READONLY"); err != nil {
			return false
		}
	}
	info, err := conn.Info(ctx)
	if err != nil || len(topology.Differences(w.Shard.Address, w.Shard.Before, topology.Identify(info))) > 0 {
		return false
	}
	w.Remark("a connection to " + w.Shard.Address + " broke and was opened again; the scan went on where it was")
	return true
}

// through walks from w.cursor to the end.
func (w *Walk) through(ctx context.Context) error {
	conn := w.Shard.Conn
	stop := context.AfterFunc(ctx, conn.Interrupt)
	defer stop()
	if conn.DB != w.DB {
		if _, err := connect.Ask(conn.Conn, "SELECT", strconv.Itoa(w.DB)); err != nil {
			return connect.Explain(w.Shard.Address, err)
		}
		conn.DB = w.DB
	}
	w.restart()
	for {
		if err := w.askNext(ctx); err != nil || len(w.wire) == 0 {
			return err
		}
		if err := conn.Flush(); err != nil {
			return err
		}
		next := w.wire[0]
		w.wire = w.wire[1:]
		if err := next.read(w, ctx, next.page); err != nil {
			return err
		}
		if err := w.handOver(ctx); err != nil {
			return err
		}
	}
}

// maxKeysPerExpected bounds a scan whose cursor never comes back to 0: a
// hostile or broken server. Rehashing repeats keys, but not this often.
const maxKeysPerExpected = 8

// GoesOn decides whether there is a page after this one.
func (w *Walk) GoesOn(p *Page) bool {
	if w.dice != nil {
		if w.seen >= w.share() || int64(w.named) > 4*w.share()/int64(w.count)+64 {
			return false
		}
		p.Next = w.randomCursor()
		return true
	}
	if p.Next == "0" {
		return false
	}
	if w.seen > maxKeysPerExpected*(w.Shard.Databases[w.DB]+1_000_000) {
		w.endless()
		return false
	}
	return true
}

// share returns how many keys of the sample are of this database. Where no size is known, all may be.
func (w *Walk) share() int64 {
	size := w.Fleet.Size()
	if size == 0 {
		return w.Request.Sample
	}
	return max(w.Request.Sample*w.Shard.Databases[w.DB]/size, 1)
}

// pageCount returns the COUNT of the next page: of a sample no more than what it lacks, or a small
// database would have a page where a large one has its share.
func (w *Walk) pageCount() int {
	if w.dice == nil {
		return w.count
	}
	return int(min(int64(w.count), max(w.share()-w.seen, 1)))
}

// randomCursor returns a place in the hash table: a cursor is a bucket index with
// its bits reversed, and the server ignores the bits beyond its table.
func (w *Walk) randomCursor() string { return strconv.FormatUint(w.dice.Uint64()>>8, 10) }

// AskPage asks for the page at a cursor.
func (w *Walk) AskPage(cursor string) {
	c := w.Shard.Conn
	n := 4
	if w.Request.Match != "" {
		n = 6
	}
	if w.Kind != "" {
		n += 2
	}
	c.Header(n)
	c.Arg("SCAN")
	c.Arg(cursor)
	if w.Request.Match != "" {
		c.Arg("MATCH")
		c.Arg(w.Request.Match)
	}
	if w.Kind != "" {
		c.Arg("TYPE")
		c.Arg(w.Kind)
	}
	c.Arg("COUNT")
	c.Arg(strconv.Itoa(w.pageCount()))
}

// ReadNames reads the reply to SCAN.
func (w *Walk) ReadNames(p *Page) error {
	c := w.Shard.Conn
	wrong := func(err error) error { return connect.Explain(w.Shard.Address, err) }
	if n, err := c.Array(); err != nil || n != 2 {
		if err == nil {
			err = &wire.ProtocolError{Got: fmt.Sprintf("%d elements", n), Want: "the two of a SCAN reply"}
		}
		return wrong(err)
	}
	cursor, ok, err := c.Bulk()
	if err != nil || !ok {
		return wrong(err)
	}
	p.Next = string(cursor)
	if _, err := strconv.ParseUint(p.Next, 10, 64); err != nil {
		return wrong(&wire.ProtocolError{Got: strconv.Quote(p.Next), Want: "a cursor"})
	}
	n, err := c.Array()
	if err != nil {
		return wrong(err)
	}
	for range n {
		name, ok, err := c.Bulk()
		if err != nil || !ok {
			return wrong(err)
		}
		if len(p.Slab)+len(name) > wire.MaxReply {
			return wrong(&wire.ProtocolError{Got: fmt.Sprintf("%d keys with more", n),
				Want: fmt.Sprintf("a page of at most %d bytes", wire.MaxReply)})
		}
		if len(w.track.had) > 0 && w.again(p, name) {
			continue
		}
		if w.dice != nil && w.sampledAlready(name) {
			n--
			continue
		}
		if w.Orphan(w.Shard, w.DB, name) || w.leftOut(p, name) {
			continue
		}
		p.Slab = append(p.Slab, name...)
		p.Ends = append(p.Ends, len(p.Slab))
	}
	w.named++
	p.counted = int64(n)
	w.seen += p.counted
	return nil
}

// forget takes back what was noted of a page that is read again, but for the keys of it that were
// delivered.
func (w *Walk) forget(p *Page) {
	w.seen -= p.counted
	if w.dice == nil {
		return
	}
	for i := range p.Ends {
		if name := p.Name(i); !w.track.had[string(name)] {
			delete(w.met, maphash.Bytes(w.seed, name))
		}
	}
}

// sampledAlready says whether a name came with an earlier page of the sample.
func (w *Walk) sampledAlready(name []byte) bool {
	h := maphash.Bytes(w.seed, name)
	known := w.met[h]
	w.met[h] = true
	return known
}

// finish notes what is only known at the end of a database.
func (w *Walk) finish() {
	if w.track.Denied > 0 {
		w.Note(source.Reason{Code: source.Denied, Server: w.Shard.Address, Database: w.DB, Keys: w.track.Denied})
	}
	if w.track.Closed > 0 {
		w.Note(source.Reason{Code: source.ValuesDenied, Server: w.Shard.Address, Database: w.DB, Keys: w.track.Closed})
	}
	if w.track.Endless {
		w.Note(source.Why(source.Endless, w.Shard.Address, nil).In(w.DB))
	}
	if w.dice != nil {
		return
	}
	w.Mu.Lock()
	defer w.Mu.Unlock()
	if over := w.track.Looked - w.Shard.Databases[w.DB]; over > 0 && w.Request.Match == "" {
		w.repeats += over
	}
}
