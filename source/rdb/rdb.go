// Package rdb is a source.Source over the bytes of a snapshot: an RDB file of
// Redis (versions 1 to 15) or Valkey (VALKEY080), the RDB part of an AOF, or
// what a primary sends a replica. It yields the facts of every key at the speed
// of the disk: values are skipped by their length, and of packed ones (listpack,
// ziplist, intset) only the head is read, even where it is compressed. With
// Request.Values it also yields bounded samples of values.
//
// It is not a database: it keeps nothing but one window of the input, whatever
// the size. It opens no file and no connection; a caller hands it a reader. It
// does not trust its input: no length allocates before the bytes have come, and
// what it does not know it refuses with the offset, since a value of an unknown
// type cannot be skipped and every count after it would be a guess.
//
// The format is described by Redis' own loader (src/rdb.c of each version); the
// two families give type 22 and opcode 243 different meanings, so the magic
// decides which tables are used.
//
// API: may change until 1.0.
package rdb

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb/fault"
)

// Options say how to read.
type Options struct {
	Name   string // of the input, for Summary.Endpoint: a path, an address
	NoCRC  bool   // do not verify the checksum: a quarter faster
	OnlyDB int    // this database only; -1: all
	// Taken is when the snapshot was made, for files older than version 7,
	// which do not say. TTLs are judged against it.
	Taken time.Time
	// Skip is asked for each key, by one goroutine: one for which it is true is passed and not counted. nil: none.
	Skip func(db int, name []byte) bool
	// Follows says what an append-only folder has beside the snapshot, which is its base. nil: that is not known, and a
	// snapshot that says of itself that it is a base is not the whole.
	Follows *Follows
	// Clock measures Summary.Elapsed and paces Request.Progress; nil: neither.
	Clock func() time.Time
}

// Follows describes the commands that came after a snapshot and stand in other files.
type Follows struct {
	Commands int64
	Files    int
}

// Source reads one snapshot, once.
type Source struct {
	options Options
	in      io.Reader
}

// New makes a Source of in. It reads when Scan is called.
func New(in io.Reader, options Options) *Source {
	return &Source{options, in}
}

// Error represents a snapshot that cannot be read further.
type Error = fault.Error

// Errors that a caller may want to tell apart.
var (
	ErrNotRDB    = errors.New("this is no RDB snapshot: it begins neither with REDIS nor with VALKEY")
	ErrTruncated = fault.ErrTruncated
	ErrChecksum  = errors.New("the checksum is wrong: the snapshot is damaged, and what was counted is not to be trusted")
	ErrUnknown   = fault.ErrUnknown
)

func reasonOf(ctx context.Context, err error) source.Reason {
	if ctx.Err() != nil {
		return source.Why(source.Interrupted, "", nil)
	}
	if _, damaged := errors.AsType[*fault.Error](err); damaged {
		return source.Why(source.Damaged, "", err)
	}
	return source.Why(source.Failed, "", err)
}

// Scan implements source.Source. A snapshot that ends early or makes no sense
// is an error, and a summary of what came before it, marked incomplete.
func (s *Source) Scan(ctx context.Context, req source.Request, each func([]source.Key) error) (source.Summary, error) {
	r := newReader(ctx, s.in, s.options, req, each)
	err := r.run()
	sum := r.summary()
	if err != nil {
		sum.Incomplete = sum.Incomplete.Add(reasonOf(ctx, err))
	}
	if ctx.Err() != nil {
		return sum, ctx.Err()
	}
	return sum, err
}
