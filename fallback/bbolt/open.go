package bbolt

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/keywright/keywright/fallback"
	"github.com/keywright/keywright/internal/filelock"
	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// Damaged represents a file that is not what was written. It was put aside under another
// name, with all that is in it, so that the next Open makes a new one: writes that
// were accepted and wait for the server are in the file that Aside names.
type Damaged struct {
	Path  string
	Aside string // the name that the file has now; "": it could not be renamed
	Err   error  // what is wrong with it
}

func (d *Damaged) Error() string {
	if d.Aside == "" {
		return fmt.Sprintf("second store %s is damaged and could not be put aside: %v", d.Path, d.Err)
	}
	const text = "second store %s is damaged; it was put aside as %s with the writes that wait in it: %v"
	return fmt.Sprintf(text, d.Path, d.Aside, d.Err)
}

// Unwrap gives the reason, and fallback.ErrDamaged.
func (d *Damaged) Unwrap() []error { return []error{d.Err, fallback.ErrDamaged} }

// Open opens or makes a file, readable by its owner only. All of a file that is
// there is read and checked first: if it is not what was written, it is put aside and
// the error is *Damaged. ErrInUse if another process has the file.
func Open(path string, o Options) (*File, error) {
	o.Wait = cmp.Or(o.Wait, time.Second)
	if err := prepare(path, o); err != nil {
		return nil, err
	}
	f := &File{path: path}
	err := f.guarded(func() (err error) {
		if f.db, err = bolt.Open(path, 0o600, f.options(o)); err == nil {
			f.page = int64(f.db.Info().PageSize)
		}
		return err
	})
	switch {
	case f.broken.Load(): // what the check did not find
		defer f.file.Close()
		return nil, aside(f.file, err)
	case errors.Is(err, bolterrors.ErrTimeout):
		err = ErrInUse
	}
	if err != nil {
		return nil, fmt.Errorf("second store %s: %w", path, err)
	}
	return f, nil
}

// options of bbolt. Without a list of free pages in the file there is none that can
// be wrong: it is made from the pages that are in use.
func (f *File) options(o Options) *bolt.Options {
	return &bolt.Options{Timeout: o.Wait, NoSync: o.NoSync, FreelistType: bolt.FreelistMapType, NoFreelistSync: true,
		OpenFile: func(name string, flag int, mode os.FileMode) (file *os.File, err error) {
			f.file, err = os.OpenFile(name, flag, mode)
			return f.file, err
		}}
}

// prepare makes a file that is not there, and checks one that is.
func prepare(path string, o Options) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if err := create(path); err != nil {
			return fmt.Errorf("second store %s: %w", path, err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("second store %s: %w", path, err)
	}
	defer file.Close()
	if err := filelock.Wait(file, o.Wait); errors.Is(err, filelock.ErrInUse) {
		return fmt.Errorf("second store %s: %w", path, ErrInUse)
	} else if err != nil {
		return fmt.Errorf("second store %s: %w", path, err)
	}
	if err := check(file); err != nil {
		return aside(file, err)
	}
	return nil
}

// create makes a file under another name and gives it its own when it is whole: a
// file without anything in it was never made here, and is damage.
func create(path string) error {
	folder := filepath.Dir(path)
	temporary, err := os.CreateTemp(folder, filepath.Base(path)+".new-*")
	if err != nil {
		return err
	}
	name := temporary.Name()
	defer os.Remove(name)
	if err := temporary.Close(); err != nil {
		return err
	}
	db, err := bolt.Open(name, 0o600, &bolt.Options{NoFreelistSync: true, FreelistType: bolt.FreelistMapType})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucket(index)
		if err != nil {
			return err
		}
		return b.Put(names, namesBytes(nil))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	if err := os.Link(name, path); errors.Is(err, fs.ErrExist) {
		return nil // another process was first
	} else if err != nil { // a file system without links
		if err := os.Rename(name, path); err != nil {
			return err
		}
	}
	return filelock.SyncFolder(folder)
}

// aside gives a damaged file another name that is free.
func aside(file *os.File, why error) error {
	path := file.Name()
	d := &Damaged{Path: path, Err: why}
	stamp := path + ".damaged-" + time.Now().UTC().Format("20060102T150405")
	name := stamp
	for i := 2; ; i++ {
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			break
		}
		name = fmt.Sprintf("%s-%d", stamp, i)
	}
	if err := filelock.Rename(file, name); err != nil {
		d.Err = errors.Join(why, err)
		return d
	}
	d.Aside = name
	_ = filelock.SyncFolder(filepath.Dir(path)) // else it may have its old name after a loss of power, and is found again
	return d
}
