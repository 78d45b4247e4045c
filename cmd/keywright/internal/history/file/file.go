// Package file is a history in one file of bbolt: what `keywright serve` keeps where
// nothing else is said. One process has it open at a time.
//
// The points of an entry are in chunks, a day or more each, with a checksum: what has
// been damaged is reported and never drawn. A file that cannot be opened is put aside, with
// all that is in it, and a new one is made.
package file

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/keywright/keywright/internal/filelock"
	"github.com/keywright/keywright/internal/history"
	"github.com/keywright/keywright/internal/history/chunk"
	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// form is the version of the form of the file.
const form = 1

var (
	metaBucket = []byte("keywright history")
	formKey    = []byte("form")
	firstKey   = []byte("first")
	lastKey    = []byte("last")
)

// File represents a history in a file.
type File struct {
	path string
	db   *bolt.DB

	mu     sync.Mutex
	broken error // what has been found damaged; nothing more is done with the file
}

// Open opens or makes a file. Where it is no history, or damaged, it is put aside and a
// new one is made: the error is then *history.Damaged, and the store is good.
func Open(path string, now time.Time) (*File, error) {
	f, err := open(path)
	if err == nil || !damage(err) {
		return f, err
	}
	aside := path + ".damaged-" + now.UTC().Format("20060102T150405.000000000")
	told := &history.Damaged{Path: path, Aside: aside, Err: err}
	if renamed := os.Rename(path, aside); renamed != nil {
		return nil, fmt.Errorf("%w; and it cannot be put aside: %v", err, renamed)
	}
	if err := filelock.SyncFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if f, err = open(path); err != nil {
		return nil, err
	}
	return f, told
}

// errForm represents a file of a newer program: it is good, and not for this one.
type errForm uint64

func (e errForm) Error() string {
	return fmt.Sprintf("the history has the form %d, and this program knows %d: a newer keywright wrote it",
		uint64(e), form)
}

// damage reports whether an error is about what is in the file.
func damage(err error) bool {
	var newer errForm
	return !errors.Is(err, history.ErrInUse) && !errors.As(err, &newer) && !errors.Is(err, os.ErrPermission) &&
		errors.Is(err, chunk.ErrDamaged)
}

func open(path string) (f *File, err error) {
	f = &File{path: path}
	err = f.guarded(func() (err error) {
		if err := f.walk(); err != nil {
			return err
		}
		if f.db, err = f.bolt(false); err != nil {
			return err
		}
		return f.begin()
	})
	if err != nil && f.db != nil {
		_ = f.guarded(func() error { return f.db.Close() })
	}
	if err != nil {
		return nil, fmt.Errorf("the history %s: %w", path, err)
	}
	return f, nil
}

// bolt opens the database.
func (f *File) bolt(onlyRead bool) (*bolt.DB, error) {
	db, err := bolt.Open(f.path, 0o600, &bolt.Options{Timeout: 300 * time.Millisecond, FreelistType: bolt.FreelistMapType,
		NoFreelistSync: true, ReadOnly: onlyRead})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, history.ErrInUse
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrVersionMismatch),
		errors.Is(err, bolterrors.ErrChecksum):
		return nil, errors.Join(chunk.ErrDamaged, err)
	}
	return db, err
}

// walk reads each page of a file that is there. A database that is opened for writing reads them on a goroutine of its
// own, whose panic over a damaged one would end the process.
func (f *File) walk() error {
	info, err := os.Stat(f.path)
	switch {
	case err != nil || !info.Mode().IsRegular() || info.Size() == 0:
		return nil // it is made, or opening it says why it cannot be
	case info.Size() < 2*int64(os.Getpagesize()):
		return fmt.Errorf("%w: it has %d bytes", chunk.ErrDamaged, info.Size())
	}
	db, err := f.bolt(true)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(_ []byte, b *bolt.Bucket) error { return walkBucket(b) })
	})
}

func walkBucket(b *bolt.Bucket) error {
	return b.ForEach(func(name, value []byte) error {
		if value == nil {
			return walkBucket(b.Bucket(name))
		}
		_ = crc32.ChecksumIEEE(value) // touches all its pages
		return nil
	})
}

// begin writes the form into a new file, and reads it in one that is there.
func (f *File) begin() error {
	return f.transact(true, func(tx *bolt.Tx) error {
		if b := tx.Bucket(metaBucket); b != nil {
			n, _ := binary.Uvarint(b.Get(formKey))
			if n > form {
				return errForm(n)
			}
			if n != form {
				return chunk.ErrDamaged
			}
			return nil
		}
		if k, _ := tx.Cursor().First(); k != nil {
			return fmt.Errorf("%w: it is no history of keywright", chunk.ErrDamaged)
		}
		b, err := tx.CreateBucket(metaBucket)
		if err != nil {
			return err
		}
		return b.Put(formKey, binary.AppendUvarint(nil, form))
	})
}

// guarded runs do. A panic, or a fault of the memory that the file is mapped to, becomes
// an error: the file has been damaged since it was opened.
func (f *File) guarded(do func() error) (err error) {
	f.mu.Lock()
	broken := f.broken
	f.mu.Unlock()
	if broken != nil {
		return broken
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", chunk.ErrDamaged, p)
			f.mu.Lock()
			f.broken = err
			f.mu.Unlock()
		}
	}()
	return do()
}

// transact runs do in a transaction; an error leaves nothing of it.
func (f *File) transact(writes bool, do func(*bolt.Tx) error) error {
	return f.guarded(func() error {
		tx, err := f.db.Begin(writes)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // after Commit it does nothing
		if err := do(tx); err != nil || !writes {
			return err
		}
		return tx.Commit()
	})
}

// Close closes the file.
func (f *File) Close() error { return f.guarded(func() error { return f.db.Close() }) }

func stepName(step history.Step) []byte { return []byte(step) }

func chunkKey(entry string, begin int64) []byte {
	return binary.BigEndian.AppendUint64(append([]byte(entry), 0), uint64(begin))
}

// Append implements history.Store.
func (f *File) Append(_ context.Context, target string, at time.Time, points map[string]history.Point) error {
	if err := history.Check(target, at, points); err != nil {
		return err
	}
	return f.transact(true, func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(targetBucket(target))
		if err != nil {
			return err
		}
		now := binary.BigEndian.AppendUint64(nil, uint64(at.Unix()))
		if last := b.Get(lastKey); last != nil && bytes.Compare(last, now) >= 0 {
			return history.ErrOrder
		}
		if err := b.Put(lastKey, now); err != nil {
			return err
		}
		if b.Get(firstKey) == nil {
			if err := b.Put(firstKey, now); err != nil {
				return err
			}
		}
		for _, step := range chunk.Steps {
			chunks, err := b.CreateBucketIfNotExists(stepName(step))
			if err != nil {
				return err
			}
			if err := appendTo(chunks, step, at, points); err != nil {
				return err
			}
		}
		return nil
	})
}

func appendTo(chunks *bolt.Bucket, step history.Step, at time.Time, points map[string]history.Point) error {
	for name, p := range points {
		key := chunkKey(name, chunk.Begin(at, step))
		added, err := chunk.Add(chunks.Get(key), step, at, p)
		if err != nil {
			return err
		}
		if err := chunks.Put(key, added); err != nil {
			return err
		}
	}
	return nil
}

func targetBucket(target string) []byte { return append([]byte("t\x00"), target...) }

// chunksOf returns the bucket of a step; nil: the target has no points.
func chunksOf(tx *bolt.Tx, target string, step history.Step) *bolt.Bucket {
	if b := tx.Bucket(targetBucket(target)); b != nil {
		return b.Bucket(stepName(step))
	}
	return nil
}
