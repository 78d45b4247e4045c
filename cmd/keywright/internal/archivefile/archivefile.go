// Package archivefile writes and opens the files that archives are kept in: it has
// the codec that the library does not have, and sees to it that a file with the name
// of an archive is a whole one.
//
// It does not know what is in an archive: package source/archive does.
package archivefile

import (
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
	path string
}

// Create begins a file. One that is there already is only replaced by Finish, and only
// if replace is set.
func Create(path string, replace bool) (*File, error) {
	if _, err := os.Lstat(path); err == nil && !replace {
		return nil, fmt.Errorf("%s: %w", path, fs.ErrExist)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := os.OpenFile(path+Part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(0o600); err != nil { // one that a killed run has left
		return nil, errors.Join(err, f.Close())
	}
	return &File{f, path}, nil
}

// Finish syncs the file, gives it its name, and syncs its folder.
func (f *File) Finish() error {
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.path+Part, f.path); err != nil {
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
