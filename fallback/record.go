package fallback

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"
)

// ErrDamaged is stored bytes that are not what was written.
var ErrDamaged = errors.New("a record of the second store is damaged")

// layout is the first byte of everything stored.
const layout = 1

var table = crc32.MakeTable(crc32.Castagnoli)

// writer appends; a checksum is at the end.
type writer []byte

func (w *writer) number(n int64) { *w = binary.AppendVarint(*w, n) }

func (w *writer) text(s string) {
	*w = binary.AppendUvarint(*w, uint64(len(s)))
	*w = append(*w, s...)
}

func (w *writer) texts(list []string) {
	w.number(int64(len(list)))
	for _, s := range list {
		w.text(s)
	}
}

func (w *writer) flag(set bool) {
	n := int64(0)
	if set {
		n = 1
	}
	w.number(n)
}

func (w *writer) time(t time.Time) {
	w.flag(!t.IsZero())
	if !t.IsZero() {
		w.number(t.UnixNano())
	}
}

func (w *writer) fields(f Fields) {
	w.number(int64(len(f)))
	for name, v := range f {
		w.text(name)
		w.text(v)
	}
}

func (w writer) sealed() []byte { return binary.BigEndian.AppendUint32(w, crc32.Checksum(w, table)) }

// reader takes apart; after the first fault it gives zeros.
type reader struct {
	rest []byte
	bad  bool
}

func open(data []byte) reader {
	if len(data) < 5 || data[0] != layout ||
		crc32.Checksum(data[:len(data)-4], table) != binary.BigEndian.Uint32(data[len(data)-4:]) {
		return reader{bad: true}
	}
	return reader{rest: data[1 : len(data)-4]}
}

func (r *reader) took(n int) {
	if n <= 0 || n > len(r.rest) {
		r.bad, r.rest = true, nil
		return
	}
	r.rest = r.rest[n:]
}

func (r *reader) number() int64 {
	v, n := binary.Varint(r.rest)
	r.took(n)
	return v
}

func (r *reader) text() string {
	size, n := binary.Uvarint(r.rest)
	r.took(n)
	if size > uint64(len(r.rest)) {
		r.bad, r.rest = true, nil
		return ""
	}
	s := string(r.rest[:size])
	r.rest = r.rest[size:]
	return s
}

// many returns a count of things that take a byte each at least.
func (r *reader) many() int {
	n := r.number()
	if n < 0 || n > int64(len(r.rest)) {
		r.bad, r.rest = true, nil
		return 0
	}
	return int(n)
}

func (r *reader) texts() (list []string) {
	for range r.many() {
		list = append(list, r.text())
	}
	return list
}

func (r *reader) flag() bool { return r.number() == 1 }

func (r *reader) time() time.Time {
	if !r.flag() {
		return time.Time{}
	}
	return time.Unix(0, r.number())
}

func (r *reader) fields() Fields {
	n := r.many()
	if n == 0 {
		return nil
	}
	f := make(Fields, n)
	for range n {
		name := r.text()
		f[name] = r.text()
	}
	return f
}

func (r *reader) end() error {
	if r.bad || len(r.rest) > 0 {
		return ErrDamaged
	}
	return nil
}

// MarshalBinary returns the record as bytes, with a checksum. For stores.
func (r Record) MarshalBinary() ([]byte, error) {
	w := writer{layout}
	w.fields(r.Fields)
	w.number(r.Version)
	w.time(r.Expires)
	w.time(r.AsOf)
	w.flag(r.Gone)
	w.number(int64(r.Pending))
	return w.sealed(), nil
}

// UnmarshalBinary reads what MarshalBinary wrote; ErrDamaged.
func (r *Record) UnmarshalBinary(data []byte) error {
	in := open(data)
	*r = Record{Fields: in.fields(), Version: in.number(), Expires: in.time(), AsOf: in.time(), Gone: in.flag(),
		Pending: int(in.number())}
	return in.end()
}

// MarshalBinary returns the entry as bytes, with a checksum. For stores.
func (e Entry) MarshalBinary() ([]byte, error) {
	w := writer{layout}
	w.number(int64(e.Seq))
	w.text(e.ID)
	w.number(int64(e.Kind))
	w.fields(e.Change.Fields)
	w.texts(e.Drop)
	w.time(e.Expires)
	w.number(e.If)
	w.number(e.Base)
	w.time(e.Deadline)
	w.time(e.At)
	w.flag(e.Ambiguous)
	return w.sealed(), nil
}

// UnmarshalBinary reads what MarshalBinary wrote; ErrDamaged.
func (e *Entry) UnmarshalBinary(data []byte) error {
	in := open(data)
	*e = Entry{Seq: uint64(in.number()), ID: in.text(),
		Change: Change{Kind: Kind(in.number()), Fields: in.fields(), Drop: in.texts(), Expires: in.time(), If: in.number()},
		Base:   in.number(), Deadline: in.time(), At: in.time(), Ambiguous: in.flag()}
	return in.end()
}

// MarshalBinary returns the conflict as bytes, with a checksum. For stores.
func (c Conflict) MarshalBinary() ([]byte, error) {
	w := writer{layout}
	w.number(int64(c.Seq))
	w.text(c.ID)
	w.number(int64(c.Kind))
	w.texts(c.Fields)
	w.time(c.At)
	w.number(c.Base)
	w.flag(c.Ambiguous)
	w.number(c.Found)
	w.time(c.FoundAt)
	return w.sealed(), nil
}

// UnmarshalBinary reads what MarshalBinary wrote; ErrDamaged.
func (c *Conflict) UnmarshalBinary(data []byte) error {
	in := open(data)
	*c = Conflict{Seq: uint64(in.number()), ID: in.text(), Kind: Kind(in.number()), Fields: in.texts(), At: in.time(),
		Base:      in.number(),
		Ambiguous: in.flag(), Found: in.number(), FoundAt: in.time()}
	return in.end()
}

// overhead says what a record or entry takes beside its texts, about.
const overhead = 96

// Size is about how many bytes the record takes, with its id. For limits.
func (r Record) Size(id string) int64 { return overhead + int64(len(id)) + size(r.Fields) }

// Size is about how many bytes the entry takes. For limits.
func (e Entry) Size() int64 {
	n := overhead + int64(len(e.ID)) + size(e.Change.Fields)
	for _, name := range e.Drop {
		n += int64(len(name))
	}
	return n
}

func size(f Fields) (n int64) {
	for name, v := range f {
		n += int64(len(name)+len(v)) + 16
	}
	return n
}
