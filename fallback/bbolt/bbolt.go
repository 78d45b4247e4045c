// Package bbolt is a second store in a file, for package fallback: a bbolt database
// (https://github.com/etcd-io/bbolt) with copies, the log of writes that wait, and
// the conflicts.
//
// What a method has confirmed is on the disk: kill -9 at any time, or a loss of power on a disk that keeps what fsync
// has confirmed, loses none of it. A full disk is an error and changes nothing. Only one process at a time can open a
// file. The file grows to about twice what the limits allow and does not shrink.
//
// A file whose bytes have changed on the disk, or that was cut, is found when it is opened (Damaged) and put aside:
// accepted writes are never lost without an error.
//
// It is a separate module, so that programs which use the library alone do not get bbolt.
//
// API: may change until 1.0.
package bbolt

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright/fallback"
	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// ErrInUse reports a file that another process has open.
var ErrInUse = errors.New(
	"another process has the file open; one process at a time may, so give each a file of its own")

// Options of a file. The zero value is a good choice.
type Options struct {
	// Wait is how long to wait for another process that has the file open; 0: 1 s.
	Wait time.Duration
	// NoSync leaves writing to the operating system: what was confirmed survives the
	// end of the process, and not that of the machine.
	NoSync bool
}

// File represents an open file. It is safe for concurrent use.
type File struct {
	path   string
	db     *bolt.DB
	file   *os.File    // that db has open
	page   int64       // bytes of a page of it
	broken atomic.Bool // it was damaged since it was opened

	writing sync.Mutex // one transaction that writes at a time
	mu      sync.Mutex
	waiting []*call
	stores  map[string]*Store
}

// Close ends what is under way and lets other processes open the file.
func (f *File) Close() error {
	if f.broken.Load() { // a transaction may never end
		return f.fault(f.file.Close())
	}
	return f.fault(f.db.Close())
}

// fault returns an error of the database as callers see it; those of package fallback
// stay as they are.
func (f *File) fault(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, bolterrors.ErrDatabaseNotOpen):
		err = fallback.ErrClosed
	}
	return fmt.Errorf("second store %s: %w", f.path, err)
}
