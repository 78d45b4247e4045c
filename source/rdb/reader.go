package rdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb/fault"
	"github.com/keywright/keywright/source/rdb/internal/layout"
	"github.com/keywright/keywright/source/rdb/internal/packed"
	"github.com/keywright/keywright/source/rdb/internal/window"
)

// batchSize says how many keys are handed over at once, at most: a batch also
// ends when the window moves, since names lie in it.
const batchSize = 256

// reader represents the parse of one snapshot.
type reader struct {
	window.Window
	ctx     context.Context
	options Options
	req     source.Request
	each    func([]source.Key) error

	sums    bool // the checksum is verified
	valkey  bool
	version int
	layouts *[256]layout.Layout
	model   *model
	aux     map[string]string
	now     int64 // Unix milliseconds that TTLs are judged against

	db      int
	dbs     int
	skipsDB bool
	attributes
	templates map[uint64][]string // hash templates by id: field names
	templated int                 // bytes of these names
	module    string              // type of the last module value
	moduleID  uint64

	batch      *batch
	values     *sink // of batch, or loose
	loose      sink  // what is looked into without being a value
	nameSpace  []byte
	consumer   *handover            // nil: the consumer is called in between
	contents   *contents            // nil: facts and samples are wanted, not whole values
	fact       source.Facts         // of the key being read
	key        []byte               // the name of the key being read, nil between keys
	packedHead [packed.MaxHead]byte // of the packed value being read
	want       *source.Value        // where the value being read goes; nil: skipped
	kind       source.Kind          // of the key being read
	long, cut  bool                 // an element is too long to be taken; something of the value was left out for that

	keys, expired, expected int64
	members, libraries      int64            // members that expire by themselves (KeyDB); libraries of functions
	modules                 []string         // that have data of their own
	unknown                 map[string]int64 // auxiliary fields that are not known, and how often they come
	unlisted                int64            // those that are not among them, of which there are too many
	share                   share            // sampling
	done                    bool
	expires                 bool // some key does
	notes                   []string
	incomplete              source.Reasons
	started, reported       time.Time
}

// attributes holds before a key and are about it only.
type attributes struct {
	expiry int64 // Unix milliseconds; -1 never
	idle   int64
	freq   int
	meta   bool  // modules keep something of it
	start  int64 // offset of the first of them; -1 none yet
}

var noAttributes = attributes{-1, -1, -1, false, -1}

func (a *attributes) none() bool { return a.expiry < 0 && a.idle < 0 && a.freq < 0 && !a.meta }

func newReader(ctx context.Context, in io.Reader, options Options, req source.Request,
	each func([]source.Key) error) *reader {
	r := &reader{Window: window.Window{Blocks: window.ReadAhead(in, !options.NoCRC)}, sums: !options.NoCRC, ctx: ctx,
		options: options, req: req, each: each, db: 0, attributes: noAttributes, aux: map[string]string{},
		model: &models[0]}
	r.Moving = r.move
	if req.Values == nil { // who is asked about values must not work on keys meanwhile
		r.consumer = hand(each, r.Blocks.Free)
		r.Release = func(buf []byte) { r.consumer.work <- job{block: buf} }
		r.collect(<-r.consumer.idle)
	} else {
		r.Release = func(buf []byte) { r.Blocks.Free <- buf }
		r.collect(newBatch())
	}
	r.skipsDB = options.OnlyDB > 0
	if options.Clock != nil {
		r.started = options.Clock()
		r.reported = r.started
	}
	r.now = options.Taken.UnixMilli()
	return r
}

// collect makes b the batch that is filled.
func (r *reader) collect(b *batch) {
	r.batch, r.values = b, &b.values
	if r.consumer != nil { // there are no values, and b may be gone while one is looked into
		r.values = &r.loose
	}
}

// errEnough ends a sample.
var errEnough = errors.New("enough")

func (r *reader) run() error {
	err := r.parse()
	r.Blocks.End()
	if r.consumer == nil {
		return err
	}
	if failed := r.consumer.end(); err == nil {
		err = failed
	}
	return err
}

func (r *reader) parse() error {
	r.header()
	for r.Err == nil && !r.done {
		r.record()
	}
	if r.Err == nil || errors.Is(r.Err, errEnough) {
		r.Err = nil
		return r.deliver()
	}
	// what came before the error is right, and is reported
	if err := r.deliver(); err != nil {
		return err
	}
	if e := (*fault.Error)(nil); errors.As(r.Err, &e) && e.Key == nil && r.key != nil {
		e.Key = slices.Clone(r.key)
	}
	return r.Err
}

type magic struct {
	text   string
	valkey bool
}

// magics say what snapshots begin with, and the digits of the version after it.
var magics = []magic{{"REDIS", false}, {"VALKEY", true}}

const headerSize = 9

func (r *reader) header() {
	p := r.Take(headerSize)
	if p == nil {
		if errors.Is(r.Err, fault.ErrTruncated) && !mayBecomeRDB(string(r.Buf[r.Pos:r.End])) {
			r.Err = &fault.Error{Err: ErrNotRDB}
		}
		return
	}
	for _, m := range magics {
		digits, is := strings.CutPrefix(string(p), m.text)
		if !is {
			continue
		}
		version, err := strconv.Atoi(digits)
		if err != nil || version < 1 {
			r.Fail(fmt.Errorf("%w %q: not a version", ErrNotRDB, digits))
			return
		}
		r.begin(m.valkey, version)
		return
	}
	r.Err = &fault.Error{Err: ErrNotRDB}
}

// mayBecomeRDB: it was cut, but what there is of it is right.
func mayBecomeRDB(got string) bool {
	return got != "" && slices.ContainsFunc(magics, func(m magic) bool {
		n := min(len(got), len(m.text))
		return got[:n] == m.text[:n]
	})
}

func (r *reader) begin(valkey bool, version int) {
	r.valkey, r.version = valkey, version
	r.layouts = layout.Of(valkey)
	if newest := map[bool]int{false: layout.NewestRedis, true: layout.NewestValkey}[valkey]; version > newest {
		r.incomplete = r.incomplete.Add(source.Why(source.VersionUnknown, "",
			fmt.Sprintf("RDB version %d is newer than %d, the last this keywright was made for", version, newest)))
	}
	if version < 5 {
		r.sums = false // checksums came with version 5
	}
}

// record reads one opcode, or one key with its value.
func (r *reader) record() {
	if r.start < 0 {
		r.start = r.Offset()
	}
	code := r.Byte()
	if r.Err != nil {
		return
	}
	if l := &r.layouts[code]; l.Kind != source.Unknown && r.version >= l.Since {
		if r.contents != nil {
			r.content(l, code)
		} else {
			r.entry(l, code)
		}
		return
	}
	op := opcodes[code]
	if code == opcode243 && r.valkey {
		op.read = (*reader).slotImport
	}
	if op.read == nil || r.version < op.since || code == opcode242 && r.valkey {
		r.Pos--
		r.Fail(fmt.Errorf("type or opcode %d of %s is %w", code, r.format(), fault.ErrUnknown))
		return
	}
	if op.read(r); r.none() { // it was not about the next key
		r.start = -1
	}
}

func (r *reader) format() string {
	family := "Redis'"
	switch {
	case r.valkey:
		family = "Valkey's"
	case r.aux["df-ver"] != "":
		family = "Dragonfly's"
	}
	return fmt.Sprintf("%s RDB version %d", family, r.version)
}

// entry reads a key and its value.
func (r *reader) entry(l *layout.Layout, code byte) {
	r.loose.reset(nil)
	r.key = r.name(r.Text())
	if r.Err != nil {
		return
	}
	k := source.Key{DB: r.db, Kind: l.Kind, TTL: source.NoTTL, Bytes: -1}
	r.fact = source.Facts{Encoding: l.Encoding, Elements: -1, Idle: r.idle, Freq: r.freq}
	wanted := r.wanted()
	r.want, r.kind, r.long, r.cut = nil, l.Kind, false, false
	expired := r.expiry >= 0 && r.expiry < r.now
	if wanted && !expired && r.req.Values != nil && r.req.Values(r.key, l.Kind) {
		if r.values.bytes > maxArena { // many values that expand
			r.stick(r.move())
		}
		r.want = r.values.next()
	}
	bytes := reads[code](r, l, &r.fact)
	if r.Err != nil {
		return
	}
	k.Name, k.Value, k.Size = r.key, r.want, max(r.fact.Elements, 0)
	r.whole()
	r.fact.Stored = r.Offset() - r.start
	expiry := r.expiry
	r.attributes = noAttributes
	r.key = nil
	if !wanted {
		return
	}
	if expiry >= 0 {
		r.expires = true
		if expired {
			r.expired++
			return
		}
		k.TTL = source.TTL(expiry - r.now)
	}
	if r.req.Bytes && bytes >= 0 {
		k.Bytes = bytes + r.model.key(len(k.Name))
	}
	r.add(k)
}

// whole says of the value that was read how many elements it has.
func (r *reader) whole() {
	v := r.want
	if v == nil {
		return
	}
	v.Partial = r.cut
	if v.Of = 1; r.kind != source.String {
		v.Of = max(r.fact.Elements, 0)
		v.Partial = r.cut || v.From+v.Looked(r.kind) < v.Of
	}
}

func (r *reader) add(k source.Key) {
	b := r.batch
	i := len(b.keys)
	b.facts[i] = r.fact
	k.Facts = &b.facts[i]
	b.keys = append(b.keys, k)
	r.keys++
	if len(b.keys) == batchSize {
		r.stick(r.deliver())
	}
	// with sizes each database has its share of the sample
	if r.req.Sample > 0 && r.expected == 0 && r.keys >= r.req.Sample {
		r.stick(errEnough)
	}
}

func (r *reader) stick(err error) {
	if r.Err == nil {
		r.Err = err
	}
}

// wanted says whether the key being read is to be reported.
func (r *reader) wanted() bool {
	if r.skipsDB || r.options.Skip != nil && r.options.Skip(r.db, r.key) {
		return false
	}
	if r.expected > r.req.Sample && r.req.Sample > 0 && !r.share.takes() {
		return false
	}
	return r.req.Match == "" || source.Glob([]byte(r.req.Match), r.key)
}

// name returns a key's name: where it is in the window, or expanded.
func (r *reader) name(t window.Text) []byte {
	if t.Size > window.MaxContiguous {
		r.Failf("a key of %d bytes is longer than the %d this reader takes", t.Size, window.MaxContiguous)
		return nil
	}
	if t.Encoding == window.Plain {
		return r.Take(int(t.Size))
	}
	r.nameSpace = r.Body(t, r.nameSpace[:0], int(t.Size))
	if n := len(r.batch.names); n > 0 && n+len(r.nameSpace) > maxNames {
		r.stick(r.deliver())
	}
	b := r.batch // now: the window may have moved
	from := len(b.names)
	b.names = append(b.names, r.nameSpace...)
	return b.names[from:len(b.names):len(b.names)]
}

// move is called before the window moves: the keys in the batch are handed
// over, and the key being read is taken to where it stays.
func (r *reader) move() error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if r.key != nil {
		r.key = bytes.Clone(r.key) // what it lies in may be needed for the next one
	}
	err := r.deliver()
	r.progress()
	return err
}

// deliver hands over the batch.
func (r *reader) deliver() error {
	if len(r.batch.keys) == 0 {
		return nil
	}
	if r.consumer != nil {
		next, err := r.consumer.give(r.batch)
		r.collect(next)
		return err
	}
	err := r.each(r.batch.keys)
	r.batch.reset(r.want)
	return err
}

func (r *reader) progress() {
	if r.options.Clock == nil || r.req.Progress == nil {
		return
	}
	now := r.options.Clock()
	if now.Sub(r.reported) < 200*time.Millisecond {
		return
	}
	r.reported = now
	r.req.Progress(source.Progress{Keys: r.keys, Total: r.expected, Elapsed: now.Sub(r.started), Shards: 1})
}
