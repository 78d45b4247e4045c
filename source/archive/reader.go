package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
)

// Reader reads an archive from its beginning, a block at a time. It is for one
// goroutine, and holds one block.
type Reader struct {
	Meta Meta

	// Footer is the end of the archive, once Next has returned io.EOF.
	Footer Footer

	// Libraries are those of functions that Next has come over.
	Libraries []LibraryIndex

	sections sections
	sum      hash.Hash
	block    blockReader
	blocks   int64
	records  int64
	index    *Index
	err      error
}

// NewReader reads the header. codecs are those beside Plain and Deflate.
func NewReader(in io.Reader, codecs ...Codec) (*Reader, error) {
	return newReader(bufio.NewReaderSize(in, 1<<16), append([]Codec{Plain, Deflate}, codecs...))
}

func newReader(in io.Reader, codecs []Codec) (*Reader, error) {
	var magic [len(Magic)]byte
	switch _, err := io.ReadFull(in, magic[:]); {
	case err == io.EOF, err == io.ErrUnexpectedEOF:
		return nil, errors.Join(ErrNotArchive, err)
	case err != nil: // it cannot be read: what it is is not known
		return nil, err
	}
	if got := string(magic[:]); got != Magic {
		if strings.HasPrefix(got, Magic[:6]) {
			return nil, ErrNewer
		}
		return nil, ErrNotArchive
	}
	r := &Reader{sum: sha256.New()}
	r.sum.Write(magic[:])
	r.sections = sections{in: in, codecs: codecs, offset: int64(len(Magic)), seen: r.sum}
	first, err := r.sections.next()
	if err == nil && first.kind != kindHeader {
		err = fmt.Errorf("%w: no header", ErrSense)
	}
	if err == nil {
		err = fromJSON(first.body, 0, &r.Meta)
	}
	if err == nil && len(r.Meta.Entries) > MaxEntries {
		err = ErrTooLarge
	}
	if err != nil {
		return nil, &CutError{Offset: int64(len(Magic)), Err: fmt.Errorf("header: %w", err)}
	}
	return r, nil
}

// Next returns the next record, which is valid until the next call. It returns
// io.EOF after the last record of a complete archive, and a *CutError where an
// archive that is cut or damaged makes no sense any more. A record of a block is
// returned only after the checksum of the whole block was right.
func (r *Reader) Next() (*Record, error) {
	for r.err == nil {
		if r.block.next(&r.err) {
			r.records++
			return &r.block.record, nil
		}
		if r.err == nil {
			r.err = r.advance()
		}
		if r.err != nil && r.err != io.EOF {
			r.err = &CutError{Offset: r.sections.offset, Records: r.records, Err: r.err}
		}
	}
	return nil, r.err
}

// advance reads the next section.
func (r *Reader) advance() error {
	before := r.sections.offset
	s, err := r.sections.next()
	switch {
	case err == io.EOF:
		return ErrEnds
	case err != nil:
		return err
	case r.index != nil && s.kind != kindFooter:
		return fmt.Errorf("%w: a section %q after the index", ErrSense, s.kind)
	}
	switch s.kind {
	case kindBlock:
		r.blocks++
		r.block, err = newBlockReader(s.body, len(r.Meta.Entries))
	case kindLibrary:
		err = r.library(before, s.body)
	case kindIndex:
		r.index = &Index{}
		if wrong := fromJSON(s.body, r.blocks, r.index); wrong != nil {
			err = fmt.Errorf("%w: index: %w", ErrSense, wrong)
		}
		r.Footer.Index = before
	case kindFooter:
		err = r.finish(s.body)
	default:
		err = fmt.Errorf("%w: a section %q", ErrSense, s.kind)
	}
	return err
}

// finish holds the footer against what was read.
func (r *Reader) finish(body []byte) error {
	f, err := decodeFooter(body)
	if err != nil {
		return err
	}
	read := Footer{Index: r.Footer.Index, Blocks: r.blocks, Records: r.records}
	r.sum.Sum(read.Sum[:0])
	if read != f || r.index == nil {
		return fmt.Errorf("%w: the footer is of other sections", ErrDamaged)
	}
	if n, err := r.sections.in.Read(make([]byte, 1)); n > 0 || err != io.EOF {
		return fmt.Errorf("%w: bytes after the footer", ErrSense)
	}
	r.Footer = f
	return io.EOF
}

// Index returns the index of a complete archive, once Next has returned io.EOF.
func (r *Reader) Index() Index { return *r.index }

// Verify reads a whole archive: every checksum, every record, and the counts and
// digests of the index. It holds one block. It returns what is in it, or why not.
func Verify(in io.Reader, codecs ...Codec) (Meta, Index, error) {
	r, err := NewReader(in, codecs...)
	if err != nil {
		return Meta{}, Index{}, err
	}
	found := Index{Entries: make([]EntryIndex, len(r.Meta.Entries)+1)}
	for i, name := range r.Meta.Entries {
		found.Entries[i].Name = name
	}
	var figures tally
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			found.Libraries = r.Libraries
			return r.Meta, found, err
		}
		i := rec.Entry
		if i == Undeclared {
			i = len(r.Meta.Entries)
		}
		figures.add(&found.Entries[i], rec)
	}
	index := r.Index()
	if len(index.Entries) != len(found.Entries) {
		return r.Meta, index, fmt.Errorf("%w: an index of %d entries", ErrSense, len(index.Entries))
	}
	for i, e := range index.Entries {
		if f := found.Entries[i]; f.Keys != e.Keys || f.Bytes != e.Bytes || f.Digest != e.Digest {
			return r.Meta, index, fmt.Errorf("%w: the index does not fit the records of entry %q", ErrDamaged, e.Name)
		}
	}
	return r.Meta, index, r.sameLibraries()
}

// blockReader takes records from a block.
type blockReader struct {
	rest   []byte
	record Record
}

func newBlockReader(body []byte, entries int) (b blockReader, err error) {
	b.rest = body
	b.record.Entry = int(takeNumber(&b.rest, uint64(entries), &err)) - 1
	b.record.DB = int(takeNumber(&b.rest, 1<<31-1, &err))
	return b, err
}

// next reads the next record; false at the end, and where it makes no sense.
func (b *blockReader) next(err *error) bool {
	if len(b.rest) == 0 {
		return false
	}
	*err = cutRecord(&b.rest, &b.record)
	return *err == nil
}

// Is reports whether a file that begins with these bytes is an archive.
func Is(first []byte) bool { return bytes.HasPrefix(first, []byte(Magic[:6])) }
