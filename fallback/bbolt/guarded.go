package bbolt

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/keywright/keywright/fallback"
	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// maxShared bounds how many calls share a transaction.
const maxShared = 1000

// call represents a change that may share a transaction with others.
type call struct {
	change func(*bolt.Tx) error
	done   chan error
}

// guarded runs f. A panic, or a fault of the memory that the file is mapped to,
// becomes an error: the file has been damaged since it was opened. Nothing more is
// done with it.
func (f *File) guarded(do func() error) (err error) {
	if f.broken.Load() {
		return fallback.ErrDamaged
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			f.broken.Store(true)
			err = fmt.Errorf("%w: %v", fallback.ErrDamaged, p)
		}
	}()
	return do()
}

// transact runs do in a transaction of its own; an error leaves nothing of it. bbolt's
// own Update answers a panic by reading all of the file in another goroutine, where a
// fault ends the program.
func (f *File) transact(writes bool, do func(*bolt.Tx) error) error {
	return f.guarded(func() error {
		if err := f.begins(); err != nil {
			return err
		}
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

// begins reports whether the first two pages are there. bbolt reads them, in memory,
// under locks that a fault would leave locked, and with them all other calls.
func (f *File) begins() error {
	var last [1]byte
	if _, err := f.file.ReadAt(last[:], 2*f.page-1); err != nil {
		if errors.Is(err, os.ErrClosed) {
			return bolterrors.ErrDatabaseNotOpen
		}
		panic(fmt.Errorf("the first pages: %w", err))
	}
	return nil
}

func (f *File) view(do func(*bolt.Tx) error) error { return f.transact(false, do) }

func (f *File) update(do func(*bolt.Tx) error) error {
	f.writing.Lock()
	defer f.writing.Unlock()
	return f.transact(true, do)
}

// batch runs a change in a transaction that it shares with those that came while
// the one before was written.
func (f *File) batch(change func(*bolt.Tx) error) error {
	c := &call{change, make(chan error, 1)}
	f.mu.Lock()
	f.waiting = append(f.waiting, c)
	f.mu.Unlock()
	f.writing.Lock()
	f.mu.Lock()
	n := min(len(f.waiting), maxShared)
	calls := f.waiting[:n:n]
	f.waiting = f.waiting[n:]
	f.mu.Unlock()
	f.runInTransaction(calls)
	f.writing.Unlock()
	return <-c.done
}

// runInTransaction runs calls in one transaction. One that fails is taken out, and the
// others are run again without it.
func (f *File) runInTransaction(calls []*call) {
	for len(calls) > 0 {
		failed := -1
		err := f.transact(true, func(tx *bolt.Tx) error {
			for i, c := range calls {
				if err := c.change(tx); err != nil {
					failed = i
					return err
				}
			}
			return nil
		})
		if failed < 0 || f.broken.Load() {
			for _, c := range calls {
				c.done <- err
			}
			return
		}
		calls[failed].done <- err
		calls = append(calls[:failed:failed], calls[failed+1:]...)
	}
}
