// Package archivefile writes and opens the files that archives are kept in: it has
// the codec that the library does not have, and sees to it that a file with the name
// of an archive is a whole one.
//
// It does not know what is in an archive: package source/archive does.
package archivefile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/keywright/keywright/internal/filelock"
	"github.com/keywright/keywright/source/archive"
	"github.com/klauspost/compress/zstd"
)

// Zstd is the codec that archives are written with.
var Zstd = archive.Codec{ID: 2, Name: "zstd", Pack: pack, Unpack: unpack}

var encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
})

func pack(dst, src []byte) ([]byte, error) {
	e, err := encoder()
	if err != nil {
		return nil, err
	}
	return e.EncodeAll(src, dst), nil
}

var decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(archive.MaxSection))
})

func unpack(dst, src []byte, limit int) ([]byte, error) {
	d, err := decoder()
	if err != nil {
		return dst, err
	}
	out, err := d.DecodeAll(src, dst)
	if err == nil && len(out)-len(dst) > limit {
		err = archive.ErrTooLarge
	}
	return out, err
}

// Codecs returns those that archives may be written with beside the library's.
func Codecs() []archive.Codec { return []archive.Codec{Zstd} }

// Part says what the name of a file ends with while it is written.
const Part = ".part"

// File represents an archive that is being written. Until Finish it has a name that ends with
// Part.
type File struct {
	file       *os.File // not embedded: all that is written goes through Write
	path       string
	replace    bool
	encrypting io.WriteCloser // nil: the file is not encrypted
}

// ErrInUse is returned where another program writes the same archive.
var ErrInUse = filelock.ErrInUse

// Create begins a file. One that is there already is only replaced by Finish, and only
// if replace is set. What a killed run has left under the name that ends with Part is
// written over, but not what a living one writes, and nothing that is no plain file.
func Create(path string, replace bool) (*File, error) {
	if path == "-" {
		return nil, errors.New("standard output cannot be renamed once the archive is whole")
	}
	switch info, err := os.Lstat(path); {
	case err == nil && !replace:
		return nil, fmt.Errorf("%s: %w", path, fs.ErrExist)
	case err == nil && !info.Mode().IsRegular() && info.Mode().Type() != fs.ModeSymlink:
		return nil, fmt.Errorf("%s is a folder, a device or a pipe", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if info, err := os.Lstat(path + Part); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no plain file", path+Part)
	}
	out, err := openPart(path, os.O_WRONLY|os.O_CREATE, replace)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(out.file.Chmod(0o600), out.file.Truncate(0)); err != nil { // one that a killed run has left
		return nil, errors.Join(err, out.file.Close())
	}
	return out, nil
}

// openPart opens the file that ends with Part, as the only program that writes it.
func openPart(path string, flags int, replace bool) (*File, error) {
	file, err := os.OpenFile(path+Part, flags|noFollow, 0o600)
	if err != nil {
		return nil, err
	}
	f := &File{file: file, path: path, replace: replace}
	if err = filelock.Lock(file); err != nil {
		err = fmt.Errorf("%s: %w", path+Part, err)
	} else {
		err = f.checkPartName()
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return f, nil
}

// Continue opens what a killed run has left of an archive, to write on after its last whole
// block. end is where that ends; the archive has what is before it, and is read from the
// same file. Abandon leaves the file as it was before what was written.
func Continue(path string, replace bool) (f *File, a *archive.Archive, end int64, err error) {
	if f, err = openPart(path, os.O_RDWR, replace); err != nil {
		return nil, nil, 0, err
	}
	file := f.file
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, 0, err
	}
	a, err = archive.Recover(file, info.Size(), Codecs()...)
	var cut *archive.CutError
	if a == nil || !errors.As(err, &cut) {
		return nil, nil, 0, err
	}
	_, err = file.Seek(cut.Offset, io.SeekStart)
	return f, a, cut.Offset, err
}

// Discard removes what a run has left of an archive, but not what a living one writes.
func Discard(path string) error {
	f, err := openPart(path, os.O_RDWR, false)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrInUse) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Remove()
}

// Cut forgets what is after the place that is written to next.
func (f *File) Cut() error {
	at, err := f.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	return f.file.Truncate(at)
}

// Sync puts what was written on the disk.
func (f *File) Sync() error { return f.file.Sync() }

// checkPartName checks that the name that ends with Part is that of this file.
func (f *File) checkPartName() error {
	own, err := f.file.Stat()
	if err != nil {
		return err
	}
	if !own.Mode().IsRegular() {
		return fmt.Errorf("%s is no plain file", f.path+Part)
	}
	named, err := os.Lstat(f.path + Part)
	if err != nil || !os.SameFile(own, named) {
		return fmt.Errorf("%s: %w", f.path+Part, ErrInUse)
	}
	return nil
}

// Finish syncs the file, gives it its name, and syncs its folder.
func (f *File) Finish() error {
	if err := cmp.Or(f.ended(), f.file.Sync(), f.checkPartName()); err != nil {
		return errors.Join(err, f.file.Close())
	}
	if _, err := os.Lstat(f.path); err == nil && !f.replace { // it came meanwhile
		return errors.Join(fmt.Errorf("%s: %w", f.path, fs.ErrExist), f.file.Close())
	}
	if err := filelock.Rename(f.file, f.path); err != nil {
		return err
	}
	return filelock.SyncFolder(filepath.Dir(f.path))
}

// Abandon closes the file and leaves it under its name that ends with Part: what is in
// it is good as far as it goes.
func (f *File) Abandon() error { return errors.Join(f.ended(), f.file.Sync(), f.file.Close()) }

// Remove closes the file and removes it: nothing was written.
func (f *File) Remove() error { return errors.Join(f.file.Close(), os.Remove(f.path+Part)) }
