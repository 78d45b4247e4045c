package migrate

import (
	"bytes"
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
	"time"

	"github.com/keywright/keywright/internal/filelock"
	"github.com/keywright/keywright/migrate/record"
)

// disk represents the folder of the sources, and in it the engine's own files.
type disk struct {
	root string // of the sources
	own  string // ROOT/.keywright/NAME
	at   func(point string) error
}

// The folders below own.
const (
	lockFolder    = "locks"
	processFolder = "processes"
)

func newDisk(root, name string, at func(string) error) (*disk, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	if is, err := os.Stat(root); err != nil {
		return nil, err
	} else if !is.IsDir() {
		return nil, fmt.Errorf("%s is no folder", root)
	}
	d := &disk{root: root, own: filepath.Join(root, ".keywright", name), at: at}
	for _, sub := range []string{lockFolder, processFolder} {
		if err := os.MkdirAll(filepath.Join(d.own, sub), 0o700); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// source returns the path of a file of the sources. A name that leads out of their folder is
// refused; a symbolic link is followed.
func (d *disk) source(file string) (string, error) {
	local := filepath.FromSlash(file)
	if !filepath.IsLocal(local) {
		return "", fmt.Errorf("%q is no file below the folder of the sources", file)
	}
	path := filepath.Join(d.root, local)
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	return real, err
}

// fileLock represents a lock that is held until free.
type fileLock struct{ f *os.File }

func (l *fileLock) free() {
	if l != nil {
		_ = filelock.Close(l.f)
	}
}

// tryLock takes the lock of a name, or gives nil if another has it.
func (d *disk) tryLock(path string, shared bool) (*fileLock, error) {
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
	return &fileLock{f}, nil
}

// lock waits for a lock as long as ctx lives.
func (d *disk) lock(ctx context.Context, path string, shared bool) (*fileLock, error) {
	for {
		l, err := d.tryLock(path, shared)
		if l != nil || err != nil {
			return l, err
		}
		if err := pause(ctx, time.Millisecond+rand.N(2*time.Millisecond)); err != nil {
			return nil, fmt.Errorf("waiting for %s: %w", filepath.Base(path), err)
		}
	}
}

// pause waits, and fails if ctx ends meanwhile.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// room returns a file for what does not fit into memory. It has no name from the beginning, so
// that a process that dies leaves none; where that cannot be, it goes when it is closed.
func (d *disk) room() (record.Spill, error) {
	f, err := os.CreateTemp(d.own, "room-*")
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

// lockPath returns the lock of a source file: beside the engine's files, since the source
// itself is replaced.
func (d *disk) lockPath(file string) string {
	sum := sha256.Sum256([]byte(file))
	return filepath.Join(d.own, lockFolder, hex.EncodeToString(sum[:12]))
}

func (d *disk) partLock(part string) string {
	return filepath.Join(d.own, lockFolder, "part-"+part)
}

func (d *disk) changeLock() string { return filepath.Join(d.own, lockFolder, "change") }

// replacement represents a file that is written beside the one whose place it takes. Only the
// holder of the file's lock makes one, so that its name is always the same, and what a
// killed process has left is written over.
type replacement struct {
	d    *disk
	path string
	temp string
}

// prepare writes a replacement to the disk.
func (d *disk) prepare(path string, write func(io.Writer) error) (*replacement, error) {
	r := &replacement{d, path, filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".keywright.tmp")}
	mode := os.FileMode(0o600)
	if is, err := os.Stat(path); err == nil {
		mode = is.Mode().Perm()
	}
	f, err := os.OpenFile(r.temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return nil, err
	}
	// The mode that was given is cut by the umask, and is not that of a file that a killed
	// process has left.
	if err = errors.Join(f.Chmod(mode), d.at("temp")); err == nil {
		err = write(f)
	}
	if err == nil {
		err = errors.Join(f.Sync(), d.at("synced"))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		r.drop()
		return nil, err
	}
	return r, nil
}

func (r *replacement) drop() { _ = os.Remove(r.temp) }

// commit puts it in place. renamed says that it is, also where the folder could not be
// made durable.
func (r *replacement) commit() (renamed bool, err error) {
	if err := r.d.at("rename"); err != nil {
		r.drop()
		return false, err
	}
	if err := os.Rename(r.temp, r.path); err != nil {
		r.drop()
		return false, err
	}
	if err := r.d.at("renamed"); err != nil {
		return true, err
	}
	return true, errors.Join(filelock.SyncFolder(filepath.Dir(r.path)), r.d.at("folder"))
}

// write replaces one of the engine's own files.
func (d *disk) write(path string, text []byte) error {
	r, err := d.prepare(path, func(w io.Writer) error { _, err := w.Write(text); return err })
	if err == nil {
		_, err = r.commit()
	}
	return err
}

// writeJSON replaces one of the engine's own files.
func (d *disk) writeJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return d.write(path, append(text, '\n'))
}

// maxOwn bounds the files of the engine that are read at once.
const maxOwn = 4 << 20

// readJSON reads one of the engine's own files; there is false where there is none.
func readJSON(path string, value any) (there bool, err error) {
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
		return true, fmt.Errorf("%s is damaged: %w", path, err)
	}
	return true, nil
}

// lockWait bounds how long a write waits for the locks of a file.
const lockWait = 30 * time.Second

// open opens a file of the sources; nil if there is none.
func (d *disk) open(file string) (*sourceFile, error) {
	path, err := d.source(file)
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
	was  os.FileInfo
}

// ErrWrittenMeanwhile reports a file that a program has written into while it was read.
var ErrWrittenMeanwhile = errors.New("the file was written while it was read, by a program that does not replace it")

func unchanged(f *sourceFile) error {
	is, err := f.Stat()
	if err == nil && (is.Size() != f.was.Size() || !is.ModTime().Equal(f.was.ModTime())) {
		err = fmt.Errorf("%s: %w", f.name, ErrWrittenMeanwhile)
	}
	return err
}
