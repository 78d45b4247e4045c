package archive

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/keywright/keywright/source"
)

// Form says how the payload of a record is to be read.
type Form byte

// A payload is what DUMP returns without its last ten bytes, or elements of a value
// that was too large to be moved in one step.
const (
	Dump     Form = 'D' // the type byte of RDB and its encoding; RDB says of which version
	Elements Form = 'E' // texts, each with its length before it (AppendText)
	Gone     Form = 'X' // the key is not there any more: only in an archive with a base
)

// Record represents a key with its value, or with a part of it.
type Record struct {
	Entry   int    // its place in Meta.Entries, or Undeclared
	DB      int    //
	Key     []byte // any bytes
	Expires int64  // in Unix milliseconds; 0: never
	Kind    source.Kind
	Form    Form
	RDB     int    // with Dump: the RDB version of the payload
	Part    int    // 0, 1, 2 … of a value in parts
	More    bool   // other parts follow: not necessarily at once
	Payload []byte // valid until the next record is read
}

// Whole reports whether the record has the whole value.
func (r *Record) Whole() bool { return r.Part == 0 && !r.More }

// check refuses what cannot be written.
func (r *Record) check(entries int) error {
	switch {
	case r.Entry < Undeclared || r.Entry >= entries:
		return fmt.Errorf("entry %d of %d", r.Entry, entries)
	case len(r.Key) > MaxKey, len(r.Payload) > MaxPart:
		return fmt.Errorf("%w: a key of %d bytes, %d bytes of value", ErrTooLarge, len(r.Key), len(r.Payload))
	case r.DB < 0, r.Expires < 0, r.Part < 0, r.RDB < 0, int(r.Kind) >= source.Kinds:
		return fmt.Errorf("%w: a number is out of its range", ErrSense)
	case r.Form != Dump && r.Form != Elements && r.Form != Gone:
		return fmt.Errorf("%w: form %q", ErrSense, r.Form)
	}
	return nil
}

// appendRecord appends a record without its entry and its database, which its
// block has.
func appendRecord(b []byte, r *Record) []byte {
	more := uint64(0)
	if r.More {
		more = 1
	}
	b = append(b, byte(r.Form), byte(r.Kind))
	b = binary.AppendUvarint(b, uint64(r.RDB))
	b = binary.AppendUvarint(b, uint64(r.Part)<<1|more)
	b = binary.AppendUvarint(b, uint64(r.Expires))
	b = AppendText(b, r.Key)
	return AppendText(b, r.Payload)
}

// AppendText appends a text with its length before it, as payloads of Elements have
// them.
func AppendText(b, text []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// CutText returns the first text of b, and the rest.
func CutText(b []byte) (text, rest []byte, err error) {
	n, used := binary.Uvarint(b)
	if used <= 0 || n > uint64(len(b)-used) {
		return nil, nil, fmt.Errorf("%w: a text is cut", ErrSense)
	}
	end := used + int(n)
	return b[used:end:end], b[end:], nil
}

// takeNumber takes a number of at most max from b.
func takeNumber(b *[]byte, max uint64, err *error) uint64 {
	n, used := binary.Uvarint(*b)
	if used <= 0 || n > max {
		if *err == nil {
			*err = fmt.Errorf("%w: a number is cut or too large", ErrSense)
		}
		*b = nil
		return 0
	}
	*b = (*b)[used:]
	return n
}

// cutRecord takes the next record of a block from b.
func cutRecord(b *[]byte, r *Record) (err error) {
	if len(*b) < 2 {
		return fmt.Errorf("%w: a record is cut", ErrSense)
	}
	r.Form, r.Kind = Form((*b)[0]), source.Kind((*b)[1])
	*b = (*b)[2:]
	r.RDB = int(takeNumber(b, math.MaxInt32, &err))
	part := takeNumber(b, math.MaxInt32, &err)
	r.Part, r.More = int(part>>1), part&1 == 1
	r.Expires = int64(takeNumber(b, math.MaxInt64, &err))
	if err != nil {
		return err
	}
	if r.Key, *b, err = CutText(*b); err != nil {
		return err
	}
	if r.Payload, *b, err = CutText(*b); err != nil {
		return err
	}
	return r.check(r.Entry + 1)
}

// Of makes a record of a key's content. It is valid as long as the content is.
func Of(c *source.Content, entry int) Record {
	r := Record{Entry: entry, DB: c.DB, Key: c.Name, Expires: c.Expires, Kind: c.Kind, Form: Dump, RDB: c.RDB,
		Part: c.Part, More: c.More, Payload: c.Payload}
	if c.Payload == nil {
		r.Form = Elements
		size := 0
		for _, e := range c.Elements {
			size += len(e) + binary.MaxVarintLen32
		}
		r.Payload = make([]byte, 0, size)
		for _, e := range c.Elements {
			r.Payload = AppendText(r.Payload, e)
		}
	}
	return r
}
