// Package disk is the folder of the sources of a migration, and in it the engine's own files: locks, the phases, and
// what takes the place of a file at once. It does not know what is in the sources.
package disk

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/keywright/keywright/internal/filelock"
	"github.com/keywright/keywright/keyspace/route"
	"github.com/keywright/keywright/migrate/record"
)

// Disk represents the folder of the sources, and in it the engine's own files.
type Disk struct {
	Root string // of the sources
	Own  string // ROOT/.keywright/NAME
	At   func(point string) error

	IsSource func(file string) bool // whether a file of this name is of the sources; nil: it is not known
	real     string                 // Root without links
	outside  linked
}

// linked holds what files outside of the folder of the sources are called in it.
type linked struct {
	mu    sync.Mutex
	names map[string]string // by path
}

// maxOutside bounds the names of files outside that are held to find one that has two: the others are not looked at.
const maxOutside = 1 << 18

// The folders below own.
const (
	LockFolder    = "locks"
	ProcessFolder = "processes"
)

// New returns the folder of the sources. at is called at points at which tests end the process.
func New(root, name string, at func(string) error) (*Disk, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	if is, err := os.Stat(root); err != nil {
		return nil, err
	} else if !is.IsDir() {
		return nil, fmt.Errorf("%s is no folder", root)
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, err
	}
	d := &Disk{Root: root, Own: filepath.Join(root, route.OwnFolder, name), At: at, real: real,
		outside: linked{names: map[string]string{}}}
	for _, sub := range []string{LockFolder, ProcessFolder} {
		if err := os.MkdirAll(filepath.Join(d.Own, sub), 0o700); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Source returns the path of a file of the sources: symbolic links are followed, also where there is no file yet. A
// name that leads out of their folder is refused. What cannot be a file of them is a *record.Error.
func (d *Disk) Source(file string) (string, error) {
	local := filepath.FromSlash(file)
	if !filepath.IsLocal(local) {
		return "", fmt.Errorf("%q is no file below the folder of the sources", file)
	}
	unusable := func(format string, args ...any) (string, error) {
		return "", &record.Error{At: record.Position{File: file}, Message: fmt.Sprintf(format, args...), Err: ErrUnusable}
	}
	if reason := route.NameFault(file); reason != "" {
		return unusable("no record is of a file of this name: %s: rename it", reason)
	}
	path, err := resolved(filepath.Join(d.Root, local))
	if errors.Is(err, errDead) {
		return unusable("a link leads to nothing, or to itself: take it away, or bring back where it leads to")
	}
	if err != nil {
		return "", err
	}
	if is, err := os.Lstat(path); err == nil && !is.Mode().IsRegular() {
		return unusable("it is no file, but a %s: take it away", typeOfFile(is.Mode()))
	}
	if other := d.otherName(file, path); other != "" {
		return unusable("it is a second name of the file %s, so that a record would be two in Redis: take the link away", other)
	}
	return path, nil
}

// ErrUnusable reports a file among the sources that cannot be one of them.
var ErrUnusable = errors.New("it cannot be a file of the sources")

// errDead reports a link that leads to nothing.
var errDead = errors.New("a link leads to nothing")

// resolved returns a path without links. The end of it need not be there.
func resolved(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) && !isLoop(err) {
		return real, err
	}
	if _, failed := os.Lstat(path); failed == nil || isLoop(err) {
		return "", errDead
	}
	folder, err := resolved(filepath.Dir(path))
	return filepath.Join(folder, filepath.Base(path)), err
}

// isLoop reports whether links lead to each other.
func isLoop(err error) bool {
	return errors.Is(err, syscall.ELOOP) || err != nil && strings.HasSuffix(err.Error(), ": too many links")
}

func typeOfFile(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "folder"
	case mode&fs.ModeNamedPipe != 0:
		return "named pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}

// local returns the name below the folder of the sources of a path without links, "" for one outside.
func (d *Disk) local(path string) string {
	name, err := filepath.Rel(d.real, path)
	if err != nil || !filepath.IsLocal(name) {
		return ""
	}
	return filepath.ToSlash(name)
}

// otherName returns another name of the sources of a file; "" if none is known. Of a file in the folder it is the
// name without links, of a file outside the one that was asked for before.
func (d *Disk) otherName(file, path string) string {
	if name := d.local(path); name != "" {
		if name == file || d.IsSource == nil || !d.IsSource(name) {
			return ""
		}
		return name
	}
	d.outside.mu.Lock()
	defer d.outside.mu.Unlock()
	other := d.outside.names[path]
	if other != "" && other != file {
		if is, err := resolved(filepath.Join(d.Root, filepath.FromSlash(other))); err == nil && is == path {
			return other
		}
	}
	if other != "" || len(d.outside.names) < maxOutside {
		d.outside.names[path] = file
	}
	return ""
}

// Lock represents a lock that is held until free.
type Lock struct{ F *os.File }

// Free gives the lock back.
func (l *Lock) Free() {
	if l != nil {
		_ = filelock.Close(l.F)
	}
}

// TryLock takes the lock of a name, or gives nil if another has it.
func (d *Disk) TryLock(path string, shared bool) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	take := filelock.Lock
	if shared {
		take = filelock.Share
	}
	switch err = take(f); {
	case errors.Is(err, filelock.ErrInUse):
		return nil, f.Close()
	case err != nil:
		return nil, errors.Join(err, f.Close())
	}
	return &Lock{f}, nil
}

// Lock waits for a lock as long as ctx lives.
func (d *Disk) Lock(ctx context.Context, path string, shared bool) (*Lock, error) {
	for {
		l, err := d.TryLock(path, shared)
		if l != nil || err != nil {
			return l, err
		}
		if err := Pause(ctx, time.Millisecond+rand.N(2*time.Millisecond)); err != nil {
			return nil, fmt.Errorf("waiting for %s: %w", filepath.Base(path), err)
		}
	}
}

// Pause waits, and fails if ctx ends meanwhile.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Room returns a file for what does not fit into memory. It has no name from the beginning, so
// that a process that dies leaves none; where that cannot be, it goes when it is closed.
func (d *Disk) Room() (record.Spill, error) {
	f, err := os.CreateTemp(d.Own, "room-*")
	if err != nil {
		return nil, err
	}
	if os.Remove(f.Name()) != nil {
		return &named{f}, nil
	}
	return f, nil
}

// named represents a file that goes when it is closed.
type named struct{ *os.File }

// Close closes and removes the file.
func (f *named) Close() error { return errors.Join(f.File.Close(), os.Remove(f.Name())) }

// LockSource takes the lock of a source file, and returns its path: a file that has two names has one lock. It is
// beside the engine's files, since the source itself is replaced.
func (d *Disk) LockSource(ctx context.Context, file string) (path string, lock *Lock, err error) {
	for {
		if path, err = d.Source(file); err != nil {
			return "", nil, err
		}
		if lock, err = d.Lock(ctx, d.lockPath(path), false); err != nil {
			return "", nil, err
		}
		switch now, err := d.Source(file); {
		case err == nil && now == path:
			return path, lock, nil
		case err != nil:
			lock.Free()
			return "", nil, err
		}
		lock.Free() // a link was changed meanwhile
	}
}

// lockPath returns the lock of a source file by its path without links.
func (d *Disk) lockPath(path string) string {
	sum := sha256.Sum256([]byte(cmp.Or(d.local(path), path)))
	return filepath.Join(d.Own, LockFolder, hex.EncodeToString(sum[:12]))
}

// PartLock returns the lock of a part: who writes a file of it shares it.
func (d *Disk) PartLock(part string) string {
	return filepath.Join(d.Own, LockFolder, "part-"+part)
}

// ChangeLock returns the lock of changes of phase.
func (d *Disk) ChangeLock() string { return filepath.Join(d.Own, LockFolder, "change") }

// Replacement represents a file that is written beside the one whose place it takes. Only the
// holder of the file's lock makes one, so that its name is always the same, and what a
// killed process has left is written over.
type Replacement struct {
	d    *Disk
	path string
	Temp string
}

// Prepare writes a replacement to the disk.
func (d *Disk) Prepare(path string, write func(io.Writer) error) (*Replacement, error) {
	r := &Replacement{d, path, filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+route.Temporary)}
	mode := os.FileMode(0o600)
	if is, err := os.Stat(path); err == nil {
		mode = is.Mode().Perm()
	}
	f, err := os.OpenFile(r.Temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return nil, err
	}
	// The mode that was given is cut by the umask, and is not that of a file that a killed
	// process has left.
	if err = errors.Join(f.Chmod(mode), d.At("temp")); err == nil {
		err = write(f)
	}
	if err == nil {
		err = errors.Join(f.Sync(), d.At("synced"))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		r.Drop()
		return nil, err
	}
	return r, nil
}

// Drop removes what was written.
func (r *Replacement) Drop() { _ = os.Remove(r.Temp) }

// Commit puts it in place. renamed says that it is, also where the folder could not be
// made durable.
func (r *Replacement) Commit() (renamed bool, err error) {
	if err := r.d.At("rename"); err != nil {
		r.Drop()
		return false, err
	}
	if err := os.Rename(r.Temp, r.path); err != nil {
		r.Drop()
		return false, err
	}
	if err := r.d.At("renamed"); err != nil {
		return true, err
	}
	return true, errors.Join(filelock.SyncFolder(filepath.Dir(r.path)), r.d.At("folder"))
}

// write replaces one of the engine's own files.
func (d *Disk) write(path string, text []byte) error {
	r, err := d.Prepare(path, func(w io.Writer) error { _, err := w.Write(text); return err })
	if err == nil {
		_, err = r.Commit()
	}
	return err
}

// WriteJSON replaces one of the engine's own files.
func (d *Disk) WriteJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return d.write(path, append(text, '\n'))
}

// maxOwn bounds the files of the engine that are read at once.
const maxOwn = 4 << 20

// ErrDamaged reports one of the engine's own files that is not as it was written.
var ErrDamaged = errors.New("is damaged")

// ReadJSON reads one of the engine's own files; there is false where there is none.
func ReadJSON(path string, value any) (there bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	defer f.Close()
	var text bytes.Buffer
	if n, err := io.Copy(&text, io.LimitReader(f, maxOwn+1)); err != nil {
		return true, err
	} else if n > maxOwn {
		return true, fmt.Errorf("%s has more than %d MiB", path, maxOwn>>20)
	}
	if err := json.Unmarshal(text.Bytes(), value); err != nil {
		return true, fmt.Errorf("%s %w: %w", path, ErrDamaged, err)
	}
	return true, nil
}

// LockWait bounds how long a write waits for the locks of a file.
const LockWait = 30 * time.Second

// Open opens a file of the sources; nil if there is none.
func (d *Disk) Open(file string) (*sourceFile, error) {
	path, err := d.Source(file)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	is, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &sourceFile{f, file, is}, nil
}

// sourceFile represents a file as it was when it was opened: the engine replaces files, and does
// not write into them.
type sourceFile struct {
	*os.File
	name string
	Was  os.FileInfo
}

// ErrWrittenMeanwhile reports a file that a program has written into while it was read.
var ErrWrittenMeanwhile = errors.New("the file was written while it was read, by a program that does not replace it")

// Unchanged is nil if a file is as it was when it was opened.
func Unchanged(f *sourceFile) error {
	is, err := f.Stat()
	if err == nil && (is.Size() != f.Was.Size() || !is.ModTime().Equal(f.Was.ModTime())) {
		err = fmt.Errorf("%s: %w", f.name, ErrWrittenMeanwhile)
	}
	return err
}
