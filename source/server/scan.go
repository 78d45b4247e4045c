package server

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
	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/topology"
)

// shard scans all databases of one shard and compares what the server was with
// what it is.
func (r *run) shard(ctx context.Context, sh *shard) error {
	dbs := slices.Sorted(maps.Keys(sh.dbs))
	for i, t := range r.tracks(sh, dbs) {
		w := &walk{run: r, sh: sh, db: dbs[i], track: t, bytes: r.req.Bytes}
		w.count = min(r.options.Count, w.most())
		if t.Done {
			w.finish()
			continue
		}
		w.pass = w.through
		if r.reads != nil {
			w.pass = r.reads(w)
		}
		if err := w.all(ctx); err != nil {
			return err
		}
	}
	return nil
}

// walk scans one database of one shard.
type walk struct {
	*run
	sh     *shard
	db     int
	track  *track
	bytes  bool
	count  int    // of SCAN
	cursor string // of the first page that was not delivered
	seen   int64  // keys that SCAN returned
	looked int64  // keys whose facts were read
	denied int64
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
func (w *walk) all(ctx context.Context) error {
	w.cursor = w.track.Cursor
	if w.req.Sample > 0 && w.req.Sample < w.fleet.size() { // of fewer keys all are the sample
		w.met, w.seed = map[uint64]bool{}, maphash.MakeSeed()
		w.dice = rand.New(rand.NewPCG(w.options.Seed, uint64(w.db)))
		w.cursor = w.randomCursor()
	}
	for attempt := 0; ; attempt++ {
		err := w.pass(ctx)
		switch {
		case err == nil:
			w.mu.Lock()
			w.track.Done, w.track.Looked, w.track.Denied = true, w.looked, w.denied
			w.mu.Unlock()
			w.finish()
			return nil
		case ctx.Err() != nil:
			return nil
		case errors.As(err, new(*consumerError)):
			return err.(*consumerError).err
		}
		if connect.IsKind(err, connect.Denied) && w.looked == 0 {
			return err // a command that is needed is not permitted: nothing can be said
		}
		if attempt == retries || !w.reconnect(ctx, err) {
			w.note(source.Why(source.Ended, w.sh.address, err).In(w.db))
			return nil
		}
	}
}

func (w *walk) reconnect(ctx context.Context, cause error) bool {
	var answered *wire.ServerError
	if errors.As(cause, &answered) || connect.IsKind(cause, connect.Unsupported, connect.Denied) {
		return false
	}
	w.sh.conn.close()
	conn, err := dial(ctx, w.sh.config)
	if err != nil {
		return false
	}
	w.sh.conn = conn
	if w.sh.replica && w.fleet.cluster {
		if _, err := conn.ask(ctx, "READONLY"); err != nil {
			return false
		}
	}
	info, err := conn.info(ctx)
	if err != nil || len(topology.Differences(w.sh.address, w.sh.before, topology.Identify(info))) > 0 {
		return false
	}
	w.remark("a connection to " + w.sh.address + " broke and was opened again; the scan went on where it was")
	return true
}

// through walks from w.cursor to the end.
func (w *walk) through(ctx context.Context) error {
	conn := w.sh.conn
	stop := context.AfterFunc(ctx, conn.Interrupt)
	defer stop()
	if conn.db != w.db {
		if _, err := connect.Ask(conn.Conn, "SELECT", strconv.Itoa(w.db)); err != nil {
			return connect.Explain(w.sh.address, err)
		}
		conn.db = w.db
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

// goesOn decides whether there is a page after this one.
func (w *walk) goesOn(p *page) bool {
	if w.dice != nil {
		if w.seen >= w.share() || int64(w.named) > 4*w.share()/int64(w.count)+64 {
			return false
		}
		p.next = w.randomCursor()
		return true
	}
	if p.next == "0" {
		return false
	}
	if w.seen > maxKeysPerExpected*(w.sh.dbs[w.db]+1_000_000) {
		w.endless()
		return false
	}
	return true
}

// share returns how many keys of the sample are of this database. Where no size is known, all may be.
func (w *walk) share() int64 {
	size := w.fleet.size()
	if size == 0 {
		return w.req.Sample
	}
	return max(w.req.Sample*w.sh.dbs[w.db]/size, 1)
}

// pageCount returns the COUNT of the next page: of a sample no more than what it lacks, or a small
// database would have a page where a large one has its share.
func (w *walk) pageCount() int {
	if w.dice == nil {
		return w.count
	}
	return int(min(int64(w.count), max(w.share()-w.seen, 1)))
}

// randomCursor returns a place in the hash table: a cursor is a bucket index with
// its bits reversed, and the server ignores the bits beyond its table.
func (w *walk) randomCursor() string { return strconv.FormatUint(w.dice.Uint64()>>8, 10) }

func (w *walk) askPage(cursor string) {
	c := w.sh.conn
	n := 4
	if w.req.Match != "" {
		n = 6
	}
	if w.kind != "" {
		n += 2
	}
	c.Header(n)
	c.Arg("SCAN")
	c.Arg(cursor)
	if w.req.Match != "" {
		c.Arg("MATCH")
		c.Arg(w.req.Match)
	}
	if w.kind != "" {
		c.Arg("TYPE")
		c.Arg(w.kind)
	}
	c.Arg("COUNT")
	c.Arg(strconv.Itoa(w.pageCount()))
}

// readNames reads the reply to SCAN.
func (w *walk) readNames(p *page) error {
	c := w.sh.conn
	wrong := func(err error) error { return connect.Explain(w.sh.address, err) }
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
	p.next = string(cursor)
	if _, err := strconv.ParseUint(p.next, 10, 64); err != nil {
		return wrong(&wire.ProtocolError{Got: strconv.Quote(p.next), Want: "a cursor"})
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
		if len(p.slab)+len(name) > wire.MaxReply {
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
		if w.orphan(w.sh, w.db, name) || w.leftOut(p, name) {
			continue
		}
		p.slab = append(p.slab, name...)
		p.ends = append(p.ends, len(p.slab))
	}
	w.named++
	p.counted = int64(n)
	w.seen += p.counted
	return nil
}

// forget takes back what was noted of a page that is read again, but for the keys of it that were
// delivered.
func (w *walk) forget(p *page) {
	w.seen -= p.counted
	if w.dice == nil {
		return
	}
	for i := range p.ends {
		if name := p.name(i); !w.track.had[string(name)] {
			delete(w.met, maphash.Bytes(w.seed, name))
		}
	}
}

// sampledAlready says whether a name came with an earlier page of the sample.
func (w *walk) sampledAlready(name []byte) bool {
	h := maphash.Bytes(w.seed, name)
	known := w.met[h]
	w.met[h] = true
	return known
}

const (
	typeCommand   = "*2\r\n$4\r\nTYPE\r\n"
	pttlCommand   = "*2\r\n$4\r\nPTTL\r\n"
	memoryCommand = "*3\r\n$6\r\nMEMORY\r\n$5\r\nUSAGE\r\n"
)

func (w *walk) askFacts(p *page) {
	c := w.sh.conn
	p.sized = w.bytes
	for i := range p.ends {
		name := p.name(i)
		if p.expected(w, name) == source.Unknown {
			c.Raw(typeCommand)
			c.ArgBytes(name)
		}
		c.Raw(pttlCommand)
		c.ArgBytes(name)
		if w.bytes {
			c.Raw(memoryCommand)
			c.ArgBytes(name)
		}
	}
}

// expected returns the type that the next name of the page tells.
func (p *page) expected(w *walk, name []byte) source.Kind {
	if w.req.Expect == nil {
		return source.Unknown
	}
	p.expects = append(p.expects, w.req.Expect(name))
	return p.expects[len(p.expects)-1]
}

// readFacts reads what askFacts asked for, and asks for the values.
func (w *walk) readFacts(_ context.Context, p *page) error {
	gone, before := 0, w.denied
	for i := range p.ends {
		k := source.Key{Name: p.name(i), DB: w.db, Bytes: -1}
		if len(p.expects) > 0 {
			k.Kind = p.expects[i]
		}
		guessed := k.Kind != source.Unknown
		there, err := w.readKey(&k, p.sized)
		if err != nil {
			return connect.Explain(w.sh.address, err)
		}
		if there {
			p.batch, p.guessed = append(p.batch, k), append(p.guessed, guessed)
		} else {
			gone++
		}
	}
	p.denied = w.denied - before
	p.gone = gone - int(p.denied) // out of reach is not gone
	w.looked += int64(len(p.ends)+len(p.had)) + p.left
	w.want(p)
	return w.askValues(p)
}

// readKey reads the replies about one key. Keys that are gone, or out of the
// user's reach, are not there.
func (w *walk) readKey(k *source.Key, sized bool) (there bool, err error) {
	c := w.sh.conn
	there = true
	if k.Kind == source.Unknown {
		if there, err = w.readKind(k); err != nil {
			return false, err
		}
	}
	ttl, _, err := c.Int()
	if no, err := refused(err); err != nil {
		return false, err
	} else if no {
		if there {
			w.denied++
		}
		return false, w.skipSize(sized)
	}
	switch {
	case ttl == -2:
		there = false
	case ttl == -1:
		k.TTL = source.NoTTL
	default:
		k.TTL = source.TTL(ttl)
	}
	if !sized {
		return there, nil
	}
	n, ok, err := c.Int()
	if err != nil {
		return there, w.withoutBytes(err, there)
	}
	if ok {
		k.Bytes = n
	} else {
		there = false
	}
	return there, nil
}

// readKind reads the reply to TYPE.
func (w *walk) readKind(k *source.Key) (there bool, err error) {
	kind, err := w.sh.conn.Status()
	no, err := refused(err)
	if err != nil {
		return false, err
	}
	if no {
		w.denied++
	}
	k.Kind = kindOf(kind)
	return !no && string(kind) != "none", nil
}

// skipSize reads past the reply to MEMORY USAGE of a key that does not count.
func (w *walk) skipSize(sized bool) error {
	if !sized {
		return nil
	}
	_, _, err := w.sh.conn.Int()
	if without(err) {
		return nil
	}
	_, err = refused(err)
	return err
}

// withoutBytes goes on without MEMORY USAGE where the server does not give it.
// About a key that is out of reach it says nothing of the command.
func (w *walk) withoutBytes(err error, there bool) error {
	var answer *wire.ServerError
	if !errors.As(err, &answer) {
		return err
	}
	if !there {
		return nil
	}
	w.bytes = false
	w.remark("bytes are unknown: MEMORY USAGE is not to be had (" + answer.Code + ")")
	return nil
}

// finish notes what is only known at the end of a database.
func (w *walk) finish() {
	if w.track.Denied > 0 {
		w.note(source.Reason{Code: source.Denied, Server: w.sh.address, Database: w.db, Keys: w.track.Denied})
	}
	if w.track.Closed > 0 {
		w.note(source.Reason{Code: source.ValuesDenied, Server: w.sh.address, Database: w.db, Keys: w.track.Closed})
	}
	if w.track.Endless {
		w.note(source.Why(source.Endless, w.sh.address, nil).In(w.db))
	}
	if w.dice != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if over := w.track.Looked - w.sh.dbs[w.db]; over > 0 && w.req.Match == "" {
		w.repeats += over
	}
}
