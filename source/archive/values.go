package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb/dump"
)

// Value represents a key of an archive with its whole value. It is valid until the next one.
type Value struct {
	Record // its last; its Payload is not all if it has parts

	archive *Archive
	parts   []partAt
	blocks  *blockCache // that the parts are read with
}

// partAt describes where a part of a value is.
type partAt struct {
	block  int64
	record int32
}

// Bounds of the values in parts that are followed at a time, and of the keys that are
// held to find those that come twice.
const (
	maxParts = 1 << 20
	maxSeen  = 3 << 16 // four mebibytes of an idSet
)

// Whole reports whether the value is in one record, Payload.
func (v *Value) Whole() bool { return len(v.parts) == 0 }

// EntryName returns the name of its entry; "": no entry declares it.
func (v *Value) EntryName() string {
	if v.Entry == Undeclared {
		return ""
	}
	return v.archive.Meta.Entries[v.Entry]
}

// Taken returns when the archive that has the value was made, in Unix milliseconds.
func (v *Value) Taken() int64 { return v.archive.Meta.Taken.UnixMilli() }

// ErrParts reports a value with more parts than can be followed.
var ErrParts = errors.New("too many parts of values are open at the same time")

// Values yields the values of one entry (its place in Meta.Entries, or Undeclared) in one
// database, each key once, whatever SCAN had given twice. It takes memory for the names of
// two hundred thousand keys at most; of more it reads the blocks several times. A value whose
// last part is missing is left out.
func (a *Archive) Values(entry, db int) iter.Seq2[*Value, error] {
	e := &a.Index.Entries[a.place(entry)]
	passes := uint64(1)
	if a.repeats() {
		passes = uint64(e.Keys/maxSeen) + 1
	}
	seed := maphash.MakeSeed()
	return func(yield func(*Value, error) bool) {
		more := true
		for pass := uint64(0); pass < passes && more; pass++ {
			in := func(key []byte) bool { return passes == 1 || maphash.Bytes(seed, key)%passes == pass }
			for v, err := range a.Some(entry, db, in) {
				if more = yield(v, err); !more || err != nil {
					return
				}
			}
		}
	}
}

// Some yields those values of one entry in one database whose keys are in, each once. It
// takes memory for the names of all of them.
func (a *Archive) Some(entry, db int, in func(key []byte) bool) iter.Seq2[*Value, error] {
	return func(yield func(*Value, error) bool) {
		w := &valueWalk{archive: a, entry: &a.Index.Entries[a.place(entry)], db: db, in: in,
			seed: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
		if a.repeats() {
			w.seen = &idSet{}
		}
		w.run(yield)
	}
}

// Databases returns those that an entry has keys in, and how many records of each.
func (a *Archive) Databases(entry int) map[int]int64 {
	out := map[int]int64{}
	for _, b := range a.Index.Entries[a.place(entry)].Blocks {
		out[b.DB] += b.Records
	}
	return out
}

// place returns where the index has an entry.
func (a *Archive) place(entry int) int {
	if entry == Undeclared {
		return len(a.Index.Entries) - 1
	}
	return entry
}

// repeats reports whether a key may be in the archive twice: SCAN gives some twice, and
// slots that move do so, too.
func (a *Archive) repeats() bool { return a.Meta.Consistency != OneMoment || len(a.Meta.Shards) > 1 }

// valueWalk represents one pass over the blocks of an entry.
type valueWalk struct {
	archive *Archive
	entry   *EntryIndex
	db      int
	in      func(key []byte) bool
	seed    [2]maphash.Seed
	seen    *idSet // nil: no key comes twice
	open    map[string][]partAt
	parts   int
	value   Value
}

func (w *valueWalk) run(yield func(*Value, error) bool) {
	w.open = map[string][]partAt{}
	w.value.archive, w.value.blocks = w.archive, &blockCache{}
	var blocks blockCache
	for _, b := range w.entry.Blocks {
		if b.DB != w.db {
			continue
		}
		records, err := blocks.read(w.archive, b.Offset)
		for n := int32(0); err == nil && records.next(&err); n++ {
			if w.parts > maxParts {
				err = ErrParts
				break
			}
			if w.value.Record = records.record; !w.complete(b.Offset, n) {
				continue
			}
			if !yield(&w.value, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, &CutError{Offset: b.Offset, Err: err})
			return
		}
	}
}

// complete notes a part, and reports whether the value is whole with it and not yet seen.
func (w *valueWalk) complete(block int64, n int32) bool {
	r := &w.value.Record
	if !w.in(r.Key) {
		return false
	}
	w.value.parts = nil
	if !r.Whole() || len(w.open[string(r.Key)]) > 0 {
		parts := w.open[string(r.Key)]
		w.parts -= len(parts)
		delete(w.open, string(r.Key))
		if r.Part == 0 {
			parts = nil
		}
		if r.Part != len(parts) {
			return false // what came before it is missing
		}
		if parts = append(parts, partAt{block, n}); r.More {
			w.open[string(r.Key)] = parts
			w.parts += len(parts)
			return false
		}
		if len(parts) > 1 {
			w.value.parts = parts
		}
	}
	if w.seen == nil {
		return true
	}
	return w.seen.add([2]uint64{maphash.Bytes(w.seed[0], r.Key), maphash.Bytes(w.seed[1], r.Key)})
}

// blockCache reads blocks, and keeps the last one.
type blockCache struct {
	sections sections
	at       int64
	body     []byte
}

func (c *blockCache) read(a *Archive, at int64) (blockReader, error) {
	if c.body == nil || c.at != at {
		c.sections.in, c.sections.codecs = io.NewSectionReader(a.in, at, headLen+MaxSection), a.codecs
		s, err := c.sections.next()
		if err == nil && s.kind != kindBlock {
			err = fmt.Errorf("%w: a section %q, not a block", ErrSense, s.kind)
		}
		if err != nil {
			c.body = nil
			return blockReader{}, err
		}
		c.at, c.body = at, s.body
	}
	return newBlockReader(c.body, len(a.Meta.Entries))
}

// Elements calls each with the elements of the value, part by part, as source.Content has
// them: of a set, a hash or a sorted set no element twice. It may be called again. An
// error wraps rdb.ErrUnknown if the value can only be moved as it is.
func (v *Value) Elements(each func(elements [][]byte, more bool) error) error {
	if v.Form == Dump {
		return dump.Elements(v.Payload, v.RDB, v.Taken(), each)
	}
	if v.Kind == source.Set || v.Kind == source.Hash || v.Kind == source.ZSet {
		return v.distinct(each)
	}
	return v.eachPart(each)
}

// Records calls each with the records of the value, as the archive has them: one, or one
// for each part.
func (v *Value) Records(each func(*Record) error) error {
	if v.Whole() {
		return each(&v.Record)
	}
	for _, p := range v.parts {
		records, err := v.blocks.read(v.archive, p.block)
		for n := int32(0); err == nil; n++ {
			if !records.next(&err) {
				err = errors.Join(err, ErrSense)
			} else if n == p.record {
				err = each(&records.record)
				break
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// eachPart reads the parts as they are.
func (v *Value) eachPart(each func(elements [][]byte, more bool) error) error {
	return v.Records(func(r *Record) error {
		elements, err := Texts(r.Payload)
		if err != nil {
			return err
		}
		return each(elements, r.More)
	})
}

// distinct reads the parts, and leaves out what HSCAN, SSCAN or ZSCAN had given twice. Of
// more elements than it can hold the names of it reads the parts several times.
func (v *Value) distinct(each func(elements [][]byte, more bool) error) error {
	unit := 2
	if v.Kind == source.Set {
		unit = 1
	}
	total := uint64(0)
	if err := v.eachPart(func(elements [][]byte, _ bool) error {
		total += uint64(len(elements) / unit)
		if len(elements)%unit != 0 {
			return fmt.Errorf("%w: half an element", ErrSense)
		}
		return nil
	}); err != nil {
		return err
	}
	passes := total/maxSeen + 1
	seed := [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	var seen idSet
	for pass := range passes {
		seen.clear()
		err := v.eachPart(func(elements [][]byte, more bool) error {
			kept := elements[:0]
			for i := 0; i < len(elements); i += unit {
				id := [2]uint64{maphash.Bytes(seed[0], elements[i]), maphash.Bytes(seed[1], elements[i])}
				if id[0]%passes != pass || !seen.add(id) {
					continue
				}
				kept = append(kept, elements[i:i+unit]...)
			}
			return each(kept, more || pass < passes-1)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// maxTexts bounds the elements of one part: a backup asks for a thousand at a time.
const maxTexts = 1 << 20

// Texts reads the elements of a part. They are in the payload.
func Texts(payload []byte) (out [][]byte, err error) {
	for len(payload) > 0 {
		if len(out) == maxTexts {
			return nil, fmt.Errorf("%w: a part of more than %d elements", ErrSense, maxTexts)
		}
		var text []byte
		if text, payload, err = CutText(payload); err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, nil
}

// Recover reads what is good of an archive that is not whole: all blocks up to the first
// that is not. It returns an archive with an index of these, and a *CutError.
func Recover(in io.ReaderAt, size int64, codecs ...Codec) (*Archive, error) {
	a := &Archive{in: in, codecs: append([]Codec{Plain, Deflate}, codecs...)}
	r, err := newReader(io.NewSectionReader(in, 0, size), a.codecs)
	if err != nil {
		return nil, err
	}
	a.Meta = r.Meta
	for _, name := range append(append([]string{}, a.Meta.Entries...), "") {
		a.Index.Entries = append(a.Index.Entries, EntryIndex{Name: name})
	}
	at := r.sections.offset
	for err == nil {
		at = r.sections.offset
		var s section
		if s, err = r.sections.next(); err == nil && s.kind == kindLibrary {
			err = a.recovered(at, s.body)
			continue
		} else if err == nil && s.kind != kindBlock {
			err = ErrSense
		}
		var records blockReader
		if err == nil {
			records, err = newBlockReader(s.body, len(a.Meta.Entries))
		}
		if err == nil {
			err = a.index(at, records)
		}
	}
	return a, &CutError{Offset: at, Records: a.Footer.Records, Err: err}
}

// index adds a block to the index.
func (a *Archive) index(at int64, records blockReader) (err error) {
	e := &a.Index.Entries[a.place(records.record.Entry)]
	b := BlockIndex{Offset: at, DB: records.record.DB}
	var figures tally
	for records.next(&err) {
		b.Records++
		figures.add(e, &records.record)
	}
	if err == nil {
		e.Blocks = append(e.Blocks, b)
		a.Footer.Blocks, a.Footer.Records = a.Footer.Blocks+1, a.Footer.Records+b.Records
	}
	return err
}

// Continue goes on with an archive that is not whole, as Recover gave it with a CutError:
// what is written to out follows the first end bytes of it, end being the error's Offset.
func (a *Archive) Continue(out io.Writer, end int64, codec Codec) (*Writer, error) {
	w := &Writer{out: out, codec: codec, meta: a.Meta, open: map[place]*block{}, sum: sha256.New(), offset: end,
		index: a.Index, total: Footer{Blocks: a.Footer.Blocks, Records: a.Footer.Records}}
	if _, err := io.Copy(w.sum, io.NewSectionReader(a.in, 0, end)); err != nil {
		return nil, err
	}
	return w, nil
}

// Sum returns the digest by which an archive that only has what changed names its base.
func (a *Archive) Sum() string { return hex.EncodeToString(a.Footer.Sum[:]) }
