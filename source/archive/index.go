package archive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/keywright/keywright/source"
)

// Index says where the records of each entry are.
type Index struct {
	Entries []EntryIndex `json:"entries"` // as in Meta.Entries, and after them the undeclared keys

	// Torn are keys that were written to each time they were read in parts: what the
	// archive has of them never was their value. Of very many the first are named.
	Torn     int64    `json:"torn,omitempty"`
	TornKeys [][]byte `json:"torn_keys,omitempty"`

	// Unsure is how many values in parts may be torn, too: they are of a run that was
	// killed before it could say.
	Unsure int64 `json:"unsure,omitempty"`

	Libraries []LibraryIndex `json:"libraries,omitempty"` // of functions
}

// EntryIndex describes what an archive has of one entry.
type EntryIndex struct {
	Name   string       `json:"name"` // "": undeclared
	Keys   int64        `json:"keys"`
	Bytes  int64        `json:"bytes"` // of keys and payloads, before compression
	Digest Digest       `json:"digest"`
	Blocks []BlockIndex `json:"blocks,omitempty"`
}

// BlockIndex describes where a block is.
type BlockIndex struct {
	Offset  int64 `json:"at"`
	Records int64 `json:"records"`
	DB      int   `json:"db"`
}

// Totals returns the keys and bytes of all entries.
func (i *Index) Totals() (keys, bytes int64) {
	for _, e := range i.Entries {
		keys, bytes = keys+e.Keys, bytes+e.Bytes
	}
	return keys, bytes
}

// Footer represents the end of a complete archive.
type Footer struct {
	Index   int64    // where the index begins
	Blocks  int64    //
	Records int64    //
	Sum     [32]byte // SHA-256 of all bytes before the footer's section
}

const footerLen = 24 + 32

func (f *Footer) encode() []byte {
	b := make([]byte, 0, footerLen)
	for _, n := range []int64{f.Index, f.Blocks, f.Records} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return append(b, f.Sum[:]...)
}

func decodeFooter(b []byte) (f Footer, err error) {
	if len(b) != footerLen {
		return f, fmt.Errorf("%w: a footer of %d bytes", ErrSense, len(b))
	}
	f = Footer{Index: int64(binary.LittleEndian.Uint64(b)), Blocks: int64(binary.LittleEndian.Uint64(b[8:])),
		Records: int64(binary.LittleEndian.Uint64(b[16:]))}
	copy(f.Sum[:], b[24:])
	return f, nil
}

// Archive represents a complete archive that is read by its index.
type Archive struct {
	Meta   Meta
	Index  Index
	Footer Footer
	in     io.ReaderAt
	codecs []Codec
}

// Open reads the header, the index and the footer of an archive of size bytes: three
// reads, whatever its size. An archive without a correct footer is an error that
// wraps ErrEnds or ErrDamaged; NewReader reads what is good of it. Open does not
// read the blocks: Verify does.
func Open(in io.ReaderAt, size int64, codecs ...Codec) (*Archive, error) {
	a := &Archive{in: in, codecs: append([]Codec{Plain, Deflate}, codecs...)}
	r, err := newReader(io.NewSectionReader(in, 0, size), a.codecs)
	if err != nil {
		return nil, err
	}
	a.Meta = r.Meta
	end := size - headLen - footerLen
	if end < int64(len(Magic)) {
		return nil, ErrEnds
	}
	foot, err := a.section(end, kindFooter)
	if err != nil {
		return nil, fmt.Errorf("no footer: %w", errors.Join(ErrEnds, err))
	}
	if a.Footer, err = decodeFooter(foot); err != nil {
		return nil, err
	}
	if a.Footer.Index < int64(len(Magic)) || a.Footer.Index >= end {
		return nil, fmt.Errorf("%w: the index at %d", ErrSense, a.Footer.Index)
	}
	text, err := a.section(a.Footer.Index, kindIndex)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	blocks := min(max(a.Footer.Blocks, 0), a.Footer.Index/headLen) // the file has no room for more
	if err := fromJSON(text, blocks, &a.Index); err != nil {
		return nil, fmt.Errorf("%w: index: %w", ErrSense, err)
	}
	return a, a.consistent()
}

// consistent checks that index, header and footer speak of the same archive.
func (a *Archive) consistent() error {
	if len(a.Index.Entries) != len(a.Meta.Entries)+1 {
		return fmt.Errorf("%w: an index of %d entries, not %d", ErrSense, len(a.Index.Entries), len(a.Meta.Entries)+1)
	}
	if len(a.Index.Libraries) > source.MaxLibraries {
		return fmt.Errorf("%w: %d libraries of functions", ErrTooLarge, len(a.Index.Libraries))
	}
	blocks, records := int64(len(a.Index.Libraries)), int64(0)
	for _, e := range a.Index.Entries {
		for _, b := range e.Blocks {
			blocks, records = blocks+1, records+b.Records
		}
	}
	if blocks != a.Footer.Blocks || records != a.Footer.Records {
		return fmt.Errorf("%w: %d blocks and %d records in the index, %d and %d in the footer", ErrSense, blocks, records,
			a.Footer.Blocks, a.Footer.Records)
	}
	return nil
}

// section reads the body of a section at an offset.
func (a *Archive) section(at int64, kind byte) ([]byte, error) {
	s := sections{in: io.NewSectionReader(a.in, at, headLen+MaxSection), codecs: a.codecs}
	got, err := s.next()
	if err == nil && got.kind != kind {
		err = fmt.Errorf("%w: a section %q, not %q", ErrSense, got.kind, kind)
	}
	return got.body, err
}

// Records yields the records of one entry (its place in Meta.Entries, or
// Undeclared), and reads only their blocks. A record is valid until the next.
func (a *Archive) Records(entry int) iter.Seq2[*Record, error] {
	i := entry
	if i == Undeclared {
		i = len(a.Index.Entries) - 1
	}
	return func(yield func(*Record, error) bool) {
		for _, b := range a.Index.Entries[i].Blocks {
			body, err := a.section(b.Offset, kindBlock)
			var records blockReader
			if err == nil {
				records, err = newBlockReader(body, len(a.Meta.Entries))
			}
			for err == nil && records.next(&err) {
				if !yield(&records.record, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, &CutError{Offset: b.Offset, Err: err})
				return
			}
		}
	}
}
