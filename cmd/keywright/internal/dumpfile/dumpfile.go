// Package dumpfile opens snapshot files: RDB files as they are, compressed with
// gzip or zstd, or from standard input. The kind of a file follows from its first
// bytes, not by its name.
//
// It does not read snapshots (package source/rdb does); it only gives their
// bytes, in one pass and in bounded memory, whatever they expand to, and says what an append-only folder has besides.
package dumpfile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"
)

type File struct {
	io.Reader           // the bytes of the snapshot
	Name      string    // as it was given; "standard input"
	Modified  time.Time // of the file; zero for standard input
	Folder    *Folder   // the append-only folder whose base it is; nil: it is none
	close     []func()
}

// Stdin is the name of standard input.
const Stdin = "-"

// Error represents a file that cannot be opened, and a way out.
type Error struct {
	Err  error
	Hint string
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Open opens a file, or stdin for "-". Of an append-only folder it opens the base.
func Open(name string, stdin io.Reader) (*File, error) {
	f := &File{Name: name}
	in := stdin
	if name == Stdin {
		f.Name = "standard input"
	} else {
		file, err := f.open(name)
		if err != nil {
			return nil, err
		}
		in = file
	}
	if err := f.decompress(bufio.NewReaderSize(in, 64<<10)); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (f *File) Close() {
	for _, c := range f.close {
		c()
	}
	f.close = nil
}

func (f *File) open(name string) (*os.File, error) {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{fmt.Errorf("there is no file %s", name),
			"the server tells where its snapshot is: `redis-cli CONFIG GET dir` and `CONFIG GET dbfilename`"}
	}
	if err != nil {
		return nil, &Error{err, ""}
	}
	f.close = append(f.close, func() { _ = file.Close() })
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		f.Close()
		folder, err := folderIn(name)
		if err != nil {
			return nil, err
		}
		return f.open(folder.Base)
	}
	if err == nil {
		f.Modified = info.ModTime()
	}
	if f.Folder, err = folderOf(name); err != nil {
		f.Close()
		return nil, err
	}
	return file, nil
}

// inFolder names the snapshot that is in a folder.
func inFolder(name string) string {
	if found, _ := filepath.Glob(filepath.Join(name, "*.rdb")); len(found) > 0 {
		return "did you mean " + found[0] + "?"
	}
	return "name the snapshot in it, dump.rdb"
}

// forms say what a file begins with that is compressed.
var forms = []struct {
	magic, name string
	open        func(io.Reader) (io.ReadCloser, error)
}{
	{"\x1f\x8b", "gzip", func(in io.Reader) (io.ReadCloser, error) { return gzip.NewReader(in) }},
	{"\x28\xb5\x2f\xfd", "zstd", openZstd},
}

func (f *File) decompress(in *bufio.Reader) error {
	head, _ := in.Peek(4)
	if bytes.HasPrefix(head, []byte("*")) {
		return &Error{errors.New("this is an AOF without a snapshot in it: commands, not keys"),
			"let the server write one with BGSAVE, or audit the server itself"}
	}
	f.Reader = in
	for _, form := range forms {
		if !bytes.HasPrefix(head, []byte(form.magic)) {
			continue
		}
		z, err := form.open(in)
		if err != nil {
			return &Error{fmt.Errorf("%s: %w", f.Name, err), "it begins like " + form.name + " and is none"}
		}
		f.Reader = z
		f.close = append(f.close, func() { _ = z.Close() })
	}
	return nil
}

// maxFrame bounds what a zstd file may ask for; its own tool refuses more than
// 128 MiB too.
const maxFrame = 128 << 20

func openZstd(in io.Reader) (io.ReadCloser, error) {
	z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(maxFrame))
	if err != nil {
		return nil, err
	}
	return z.IOReadCloser(), nil
}
