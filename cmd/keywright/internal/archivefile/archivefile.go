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

	"github.com/keywright/keywright/source/archive"
	"github.com/klauspost/compress/zstd"
)

// Zstd is the codec that archives are written with.
var Zstd = archive.Codec{ID: 2, Name: "zstd", Pack: pack, Unpack: unpack}

var encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
})

func pack(dst, src []byte) ([]byte, error) {
	e, err := encoder()
	if err != nil {
		return nil, err
	}
	return e.EncodeAll(src, dst), nil
}

var decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(archive.MaxSection))
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

// Codecs are those that archives may be written with beside the library's.
func Codecs() []archive.Codec { return []archive.Codec{Zstd} }

// Part is what the name of a file ends with while it is written.
const Part = ".part"

// File is an archive that is being written. Until Finish it has a name that ends with
// Part.
type File struct {
	*os.File
	path    string
	replace bool
}

// ErrInUse is returned where another program writes the same archive.
var ErrInUse = errors.New("another program is writing it")

// Create begins a file. One that is there already is only replaced by Finish, and only
// if replace is set. What a killed run has left under the name that ends with Part is
// written over, but not what a living one writes, and nothing that is no plain file.
func Create(path string, replace bool) (*File, error) {
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
	f, err := os.OpenFile(path+Part, os.O_WRONLY|os.O_CREATE|noFollow, 0o600)
	if err != nil {
		return nil, err
	}
	out := &File{f, path, replace}
	if err := lock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path+Part, err), f.Close())
	}
	err = out.still()
	if err == nil {
		err = errors.Join(f.Chmod(0o600), f.Truncate(0)) // one that a killed run has left
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return out, nil
}

// still checks that the name that ends with Part is that of this file.
func (f *File) still() error {
	own, err := f.Stat()
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
	if err := cmp.Or(f.Sync(), f.still()); err != nil {
		return errors.Join(err, f.Close())
	}
	if _, err := os.Lstat(f.path); err == nil && !f.replace { // it came meanwhile
		return errors.Join(fmt.Errorf("%s: %w", f.path, fs.ErrExist), f.Close())
	}
	if err := rename(f.File, f.path+Part, f.path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(f.path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Abandon closes the file and leaves it under its name that ends with Part: what is in
// it is good as far as it goes.
func (f *File) Abandon() error { return errors.Join(f.Sync(), f.Close()) }

// Remove closes the file and removes it: nothing was written.
func (f *File) Remove() error { return errors.Join(f.Close(), os.Remove(f.path+Part)) }

// Open opens an archive by its index.
func Open(path string) (*archive.Archive, io.Closer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file", path)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	a, err := archive.Open(f, info.Size(), Codecs()...)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return a, f, nil
}
