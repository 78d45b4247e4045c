package compare

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
)

// Archive is an archive as a Side. It is read once.
type Archive struct {
	in *archive.Reader
	db int
}

// NewArchive makes a Side of an archive that is read from its beginning: of one of its
// databases, or with -1 of all.
func NewArchive(in *archive.Reader, db int) *Archive { return &Archive{in, db} }

// Now is when the archive was made.
func (a *Archive) Now() int64 { return a.in.Meta.Taken.UnixMilli() }

// Bounds of a batch of records.
const (
	batchRecords = 256
	batchBytes   = 1 << 20
)

// maxElements bounds the elements of a part: a backup asks for a thousand at a time.
const maxElements = 1 << 20

var errElements = fmt.Errorf("a part has more than %d elements", maxElements)

// ErrBase is returned for an archive that only holds what differs from another one.
var ErrBase = errors.New("the archive adds to another one: it does not hold all keys by itself")

// All yields the records. A cut archive is an error, after what is good of it.
func (a *Archive) All(ctx context.Context, each func([]source.Content) error) (sum source.Summary, err error) {
	if a.in.Meta.Base != "" {
		return sum, ErrBase
	}
	var batch []source.Content
	var slab []byte
	keep := func(b []byte) []byte {
		if b == nil {
			return nil
		}
		if cap(slab)-len(slab) < len(b) {
			slab = make([]byte, 0, max(len(b), batchBytes/4))
		}
		from := len(slab)
		slab = append(slab, b...)
		return slab[from:len(slab):len(slab)]
	}
	hand := func() error {
		err := each(batch)
		batch, slab = batch[:0], slab[:0]
		return err
	}
	for size := 0; ; {
		rec, err := a.in.Next()
		if err == io.EOF {
			return sum, hand()
		}
		if err == nil && a.db >= 0 && rec.DB != a.db {
			continue
		}
		if err == nil && len(batch) > 0 && (len(batch) == batchRecords || size+len(rec.Payload) > batchBytes) {
			err, size = hand(), 0
		}
		var c source.Content
		if err == nil {
			c, err = content(rec, keep)
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return sum, errors.Join(err, hand())
		}
		size += len(rec.Payload) + len(rec.Key)
		batch = append(batch, c)
		if !rec.More {
			sum.Keys++
		}
	}
}

// content makes a content of a record.
func content(r *archive.Record, keep func([]byte) []byte) (source.Content, error) {
	c := source.Content{Name: keep(r.Key), DB: r.DB, Expires: r.Expires, Kind: r.Kind, RDB: r.RDB, Part: r.Part, More: r.More}
	if r.Form == archive.Dump {
		c.Payload = keep(r.Payload)
		if c.Payload == nil {
			c.Payload = []byte{}
		}
		return c, nil
	}
	c.Elements = [][]byte{}
	for rest := keep(r.Payload); len(rest) > 0; {
		text, more, err := archive.CutText(rest)
		if err == nil && len(c.Elements) == maxElements {
			err = errElements
		}
		if err != nil {
			return c, err
		}
		c.Elements, rest = append(c.Elements, text), more
	}
	return c, nil
}
