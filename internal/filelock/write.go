package filelock

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Write puts a text in the place of a file at once, and on the disk: a reader sees the old or the
// new text, never a half, also after the machine has lost its power. Its errors name that file.
func Write(path string, text []byte, mode fs.FileMode) error {
	err := write(path, text, mode)
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: failed.Op, Path: path, Err: failed.Err}
	}
	return err
}

func write(path string, text []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // it has another name, if all went well
	_, err = f.Write(text)
	if err := errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}
