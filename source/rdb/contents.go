package rdb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb/fault"
	"github.com/keywright/keywright/source/rdb/internal/element"
	"github.com/keywright/keywright/source/rdb/internal/layout"
)

// ContentsRequest says what of a snapshot is wanted.
type ContentsRequest struct {
	Wants    func(name []byte) bool // nil: all
	Largest  int64                  // bytes in a server's memory of a value that is given whole; 0: 512 KiB
	Progress func(source.Progress)

	// Begin is called once, before the first content: with the server that wrote the
	// snapshot, and the moment of it. nil: not at all.
	Begin func(shard source.Shard, taken time.Time) error

	// Library is called with the code of each library of functions, after Begin. nil: their number is a reason of
	// Summary.Incomplete.
	Library func(code []byte) error
}

// Bounds of what is handed over at once.
const (
	largest   = 512 << 10
	slabBytes = 1 << 20
)

// Contents reads whole values. A value is passed through as the snapshot has it, which is
// what DUMP returns; one that would take more than req.Largest bytes of a server's memory
// is given in parts. A value that can only be moved as it is (a module's) is given whole
// up to 31 MiB. What cannot be given is named in Summary.Incomplete.
//
// It holds the window, a batch of about one MiB, and of a value that is not given in parts
// all of it. Contents are valid until each returns.
func (s *Source) Contents(ctx context.Context, req ContentsRequest, each func([]source.Content) error) (source.Summary,
	error) {
	if req.Largest == 0 {
		req.Largest = largest
	}
	never := func([]byte, source.Kind) bool { return false }
	r := newReader(ctx, s.in, s.options, source.Request{Values: never, Progress: req.Progress}, nil)
	c := &contents{ContentsRequest: req, reader: r, each: each}
	r.contents, r.Over = c, c.over
	err := r.run()
	if err == nil {
		err = errors.Join(c.start(), c.flush())
	} else if failed := (*fault.Error)(nil); errors.As(err, &failed) && r.version > 0 { // what came before it is good
		err = errors.Join(err, c.start(), c.flush())
	}
	sum := r.summary()
	sum.Estimated = false
	sum.Incomplete = sum.Incomplete.Add(c.notCarried()...)
	if ctx.Err() != nil {
		return sum, ctx.Err()
	}
	if err != nil {
		sum.Incomplete = sum.Incomplete.Add(reasonOf(ctx, err))
	}
	return sum, err
}

// contents collects what a reader gives as a whole.
type contents struct {
	ContentsRequest
	*reader
	larger, older int64 // libraries of functions that are not given
	metas         int64 // keys of which modules keep something beside the value
	each          func([]source.Content) error
	begun         bool
	given         []source.Content
	slab          []byte
	now           *layout.Layout // of the value that is read
}

// errParts ends the reading of a value that is to be given in parts.
var errParts = errors.New("the value is read again, in parts")

// over is asked when a value has more bytes than are held.
func (c *contents) over() error {
	if c.parting(c.now).Knows() {
		return errParts
	}
	return nil
}

func (c *contents) parting(l *layout.Layout) *element.Parting {
	return &element.Parting{Window: &c.Window, Layout: l, Taken: c.reader.now, Templates: c.templates}
}

// keep copies bytes to where they stay until the batch is handed over.
func (c *contents) keep(parts ...[]byte) []byte {
	from := len(c.slab)
	for _, p := range parts {
		c.slab = append(c.slab, p...)
	}
	return c.slab[from:len(c.slab):len(c.slab)]
}

// content reads a key and its whole value.
func (r *reader) content(l *layout.Layout, code byte) {
	c := r.contents
	r.batch.names = r.batch.names[:0]
	r.loose.reset(nil)
	name := r.name(r.Text())
	if r.Err != nil {
		return
	}
	r.key = c.keep(name)
	out := source.Content{Name: r.key, DB: r.db, Kind: l.Kind, RDB: r.version}
	if r.expiry >= 0 {
		out.Expires = r.expiry
	}
	expired := r.expiry >= 0 && r.expiry < r.now
	wanted := !r.skipsDB && (r.options.Skip == nil || !r.options.Skip(r.db, r.key)) && (c.Wants == nil || c.Wants(r.key))
	if wanted && !expired {
		if r.stick(c.start()); r.meta {
			c.metas++
		}
		c.value(l, code, &out)
	} else {
		reads[code](r, l, &r.fact)
	}
	if r.Err != nil {
		return
	}
	if wanted && expired {
		r.expired++
	}
	r.attributes = noAttributes
	r.key = nil
	if len(c.slab) >= slabBytes || len(c.given) >= batchSize {
		r.stick(c.flush())
	}
}

// value reads a value, and gives it whole or in parts.
func (c *contents) value(l *layout.Layout, code byte, out *source.Content) {
	r := c.reader
	p := c.parting(l)
	known := p.Knows()
	r.Most = element.MaxElement
	if known {
		r.Most = int(min(c.Largest, element.MaxElement))
	}
	c.now, r.Pin = l, r.Pos+1
	bytes := reads[code](r, l, &r.fact)
	own := strings.HasPrefix(l.Encoding, "template") && known // the snapshot has a part of it elsewhere
	switch raw := r.Pos - (r.Pin - 1); {
	case r.Err == errParts, r.Err == nil && known && (own || bytes > c.Largest || int64(raw) > c.Largest):
		r.Err, r.Pos, r.Pin = nil, r.Pin-1, 0
		c.parts(p, *out)
	case r.Err != nil:
		r.Pin = 0
		return
	case r.Pin == 0 || raw > element.MaxElement:
		r.Pin = 0
		c.notWhole(out, element.ErrElement)
	default:
		out.Payload = c.keep([]byte{code}, r.Buf[r.Pin-1:r.Pos])
		r.Pin = 0
		c.given = append(c.given, *out)
		r.keys++
	}
}

// parts gives a value in parts.
func (c *contents) parts(p *element.Parting, out source.Content) {
	c.stick(c.flush())
	out.RDB = 0
	p.Each = func(elements [][]byte, more bool) error {
		out.Elements, out.More = elements, more
		err := c.each([]source.Content{out})
		out.Part++
		return err
	}
	p.Run()
	p.Finish()
	switch {
	case c.reader.Err != nil:
	case p.Why != nil:
		c.notWhole(&out, p.Why)
	default:
		c.keys++
	}
}

// notWhole notes that a value is not in what is given, or not all of it.
func (c *contents) notWhole(k *source.Content, why error) {
	c.incomplete = c.incomplete.Add(
		source.Why(source.ValueCut, "", fmt.Sprintf("%q is not whole: %v", fault.Shorten(k.Name), why)).In(k.DB))
}

// start tells where the snapshot is from, once.
func (c *contents) start() error {
	if c.begun || c.Begin == nil {
		return nil
	}
	c.begun = true
	shard := source.Shard{Address: c.options.Name, Brand: "redis", Version: c.aux["redis-ver"], Keys: c.expected}
	if v := c.aux["valkey-ver"]; v != "" || c.valkey {
		shard.Brand, shard.Version = "valkey", v
	}
	return c.Begin(shard, time.UnixMilli(c.reader.now).UTC())
}

// library gives a library of functions.
func (c *contents) library(code []byte) error {
	return errors.Join(c.start(), c.Library(code))
}

// notCarried tells what the snapshot holds and Contents does not give.
func (c *contents) notCarried() (reasons source.Reasons) {
	add := func(n int64, format string, args ...any) {
		if n > 0 {
			reasons = reasons.Add(source.Why(source.NotCarried, "", fmt.Sprintf(format, args...)))
		}
	}
	add(int64(len(c.modules)), "data of modules that are in no key: %s", strings.Join(c.modules, ", "))
	add(c.metas, "what modules keep beside the values of keys: %d", c.metas)
	if c.Library == nil {
		add(c.libraries, "libraries of functions: %d", c.libraries)
		return reasons
	}
	add(c.larger, "libraries of functions of more than %d MiB: %d", source.MaxLibrary>>20, c.larger)
	add(c.older, "libraries of functions as candidates of Redis 7.0 wrote them: %d", c.older)
	return reasons
}

// flush gives the batch to the consumer.
func (c *contents) flush() error {
	defer func() {
		clear(c.given)
		if c.given, c.slab = c.given[:0], c.slab[:0]; cap(c.slab) > 4*slabBytes {
			c.slab = nil
		}
	}()
	if len(c.given) == 0 {
		return nil
	}
	return c.each(c.given)
}
