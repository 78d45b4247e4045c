// Package archive is the file that a backup of a namespace is kept in: a Writer
// makes one, a Reader reads one from its beginning, and Open reads its index. An
// archive holds whole values, unlike the other sources, which hold samples; as a
// source.Source it is read like a snapshot file.
//
// It does not speak to a server and opens no file: it is given a writer or a
// reader. It does not encrypt; a caller wraps the writer and the reader. It
// compresses blocks by a Codec, of which it has only the standard library's.
//
// # Format
//
// An archive is the eight bytes of Magic and then sections. A section is a head of
// 16 bytes, and its body:
//
//	kind    1 byte   'H' header, 'B' block, 'L' library, 'I' index, 'F' footer
//	codec   1 byte   0 as it is, 1 DEFLATE (RFC 1951), 2 Zstandard (RFC 8878)
//	zero    2 bytes
//	stored  4 bytes  little endian: the length of the body
//	raw     4 bytes  little endian: the length of the body after decompression
//	crc     4 bytes  little endian: CRC-32C of the 12 bytes above and of the body
//
// The header (JSON, Meta) comes first, then blocks, then the index (JSON, Index),
// then the footer. A block has records of one entry in one database. The footer
// says how many blocks and records there are, where the index begins, and has the
// SHA-256 of all bytes before it. Its length is fixed, so that the index is found
// from the end of the file.
//
// A library of functions is a section of its own, which has its code. The footer counts it
// as a block: a program from before there were libraries refuses an archive that has one.
//
// Only an archive with a correct footer is complete. A file that was cut is
// readable up to its last whole block, and a *CutError says how far that is.
//
// Each section has a checksum, and the footer one of all of them: each flipped bit
// and each cut is found.
package archive

import (
	"errors"
	"fmt"
	"time"

	"github.com/keywright/keywright/source"
)

// Magic begins each archive. The digit is the version of the format: a program
// that meets another one refuses it.
const Magic = "KWARCH1\n"

// Bounds of the format. What is above them is refused before memory is taken.
const (
	BlockSize  = 1 << 20  // a block is closed when its records have this many bytes
	MaxSection = 64 << 20 // bytes of one section, stored or raw
	MaxKey     = 32 << 20 // bytes of a key
	MaxPart    = 32 << 20 // bytes of one record's payload: larger values are stored in parts
	MaxEntries = 20_000   // names of entries in one archive
)

// Consistency says of which moment the values of an archive are.
type Consistency string

// The values of an archive are of one moment per shard, or of one moment per key.
const (
	OneMoment Consistency = "snapshot"
	PerKey    Consistency = "per-key"
)

// Meta represents the header of an archive: where it is from.
type Meta struct {
	ID          string         `json:"id"`                    // 128 random bits, in hex
	Tool        string         `json:"tool"`                  // the program and its version
	Taken       time.Time      `json:"taken"`                 // when it was begun, by the server's clock
	Consistency Consistency    `json:"consistency"`           // of which moment the values are
	Declaration string         `json:"declaration,omitempty"` // SHA-256 of the declaration, in hex
	Entries     []string       `json:"entries"`               // names; a record names its entry by its place here
	Selection   []string       `json:"selection,omitempty"`   // what was asked for; empty: everything
	Shards      []source.Shard `json:"shards"`
	Base        string         `json:"base,omitempty"` // Sum of the archive that this one adds to: it has what changed
}

// Undeclared is the entry of a record whose key no entry declares.
const Undeclared = -1

// CutError is returned for an archive that ends early: what was read before it is
// good, but it is not all.
type CutError struct {
	Offset  int64 // where the last good section ends
	Records int64 // that were read
	Err     error // why the next section is not good
}

// Error implements error.
func (e *CutError) Error() string {
	return fmt.Sprintf("the archive is cut or damaged at byte %d, after %d good records: %v", e.Offset, e.Records, e.Err)
}

// Unwrap returns why the next section is not good.
func (e *CutError) Unwrap() error { return e.Err }

// Errors that a caller may want to tell apart.
var (
	ErrNotArchive = errors.New("this is no archive of keywright: it does not begin with KWARCH")
	ErrNewer      = errors.New(
		"the archive has another version of the format than this program: use the program that wrote it, or a newer one")
	ErrDamaged  = errors.New("a checksum is wrong: bytes were changed")
	ErrEnds     = errors.New("the file ends before the archive does")
	ErrTooLarge = errors.New("a section is larger than the format allows")
	ErrCodec    = errors.New("a section is compressed in a way that this program does not know")
	ErrSense    = errors.New("the bytes of a section make no sense")
)
