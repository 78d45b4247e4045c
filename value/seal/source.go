package seal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/keywright/keywright/internal/filelock"
)

// Source gives the text of a key ring, each time it is asked. No error of it may
// show any of the text.
type Source func(ctx context.Context) ([]byte, error)

// File reads the ring from a file that only its owner can read or write,
// and that this user or root owns; the file that was opened is what is checked.
// A link is followed: secrets that are mounted are links.
func File(path string) Source {
	return func(context.Context) ([]byte, error) {
		f, err := openFile(path)
		if err != nil {
			return nil, fmt.Errorf("the key ring cannot be read: %w", err)
		}
		defer func() { _ = f.Close() }()
		if err := private(f); err != nil {
			return nil, fmt.Errorf("the key ring %s is refused: %w", path, err)
		}
		return readAll(f)
	}
}

func readAll(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err != nil {
		return nil, errors.New("the key ring cannot be read to its end")
	}
	return text, nil
}

// private reports what is wrong with a file of secrets.
func private(f *os.File) error {
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it is no regular file")
	}
	return owned(info)
}

// Environment reads the ring from a variable that holds its text. getenv is
// os.Getenv, or a stand-in.
func Environment(name string, getenv func(string) string) Source {
	return func(context.Context) ([]byte, error) {
		text := getenv(name)
		if text == "" {
			return nil, errors.New("the variable " + name + " holds no key ring: it is not set")
		}
		return []byte(text), nil
	}
}

// Exec runs a program that prints the ring: its name and arguments, without a
// shell. It has timeout (0: 10 s) to end with status 0; what it prints beyond 64
// KiB, and on its standard error, is not read. Of the environment it gets what
// programs need to run (PATH, HOME, LANG and the like); ExecOptions name more.
func Exec(timeout time.Duration, program string, args ...string) Source {
	return ExecOptions{Timeout: timeout}.Exec(program, args...)
}

// ExecOptions holds options of a program that prints the ring.
type ExecOptions struct {
	Timeout time.Duration // 0: 10 s
	Env     []string      // names of more variables that it gets, as VAULT_TOKEN; a star at the end is any rest, as AWS_*
}

// usual lists the variables that programs need to run, and no secrets.
var usual = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TMPDIR", "XDG_*", "SYSTEMROOT",
	"USERPROFILE", "APPDATA", "LOCALAPPDATA", "PATHEXT", "TEMP", "TMP"}

// environment returns what of the environment the program gets.
func (o ExecOptions) environment(all []string) []string {
	out := []string{}
	for _, entry := range all {
		name, _, _ := strings.Cut(entry, "=")
		for _, want := range append(usual[:len(usual):len(usual)], o.Env...) {
			start, star := strings.CutSuffix(want, "*")
			if name == want || star && strings.HasPrefix(name, start) {
				out = append(out, entry)
				break
			}
		}
	}
	return out
}

// Exec runs a program that prints the ring, as the function Exec does.
func (o ExecOptions) Exec(program string, args ...string) Source {
	timeout := o.Timeout
	if timeout <= 0 {
		timeout = 10 * time.Second
	}
	name := filepath.Base(program)
	return func(ctx context.Context) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		var out limited
		c := exec.CommandContext(ctx, program, args...)
		c.Stdout, c.WaitDelay = &out, time.Second
		c.Env = o.environment(os.Environ())
		ownProcessGroup(c)
		err := c.Run()
		switch exit, failed := errors.AsType[*exec.ExitError](err); {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("the key program %s did not end in time: %w", name, ctx.Err())
		case failed:
			return nil, fmt.Errorf("the key program %s failed: %s", name, exit.ProcessState)
		case err != nil:
			return nil, fmt.Errorf("the key program %s: %w", name, err)
		}
		return out.b.Bytes(), nil
	}
}

// limited takes one byte more than a ring can have, and drops the rest.
type limited struct{ b bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	_, _ = l.b.Write(p[:min(len(p), maxText+1-l.b.Len())])
	return len(p), nil
}

// Store writes the text of a ring to a file that only its owner can read, in
// place of the one there is: a reader sees the old one or the new one, whole.
// The file must not be a link: it would be replaced, not followed.
func Store(path string, text []byte) (err error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("the key ring %s is not written: it is a link or no regular file", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".ring-*") // mode 0600, made again
	if err != nil {
		return fmt.Errorf("the key ring cannot be written: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
			err = fmt.Errorf("the key ring cannot be written: %w", err)
		}
	}()
	_, err = f.Write(text)
	err = errors.Join(err, disk.sync(f), f.Close())
	if err != nil {
		return err
	}
	if err = disk.rename(f.Name(), path); err != nil {
		return err
	}
	return disk.syncFolder(filepath.Dir(path))
}

// disk says how a ring gets to its place and stays there: a text that is not synced, or a
// rename that is not synced with its folder, can be lost with the power, and a key with it.
var disk = struct {
	sync       func(*os.File) error
	rename     func(from, to string) error
	syncFolder func(folder string) error
}{(*os.File).Sync, os.Rename, filelock.SyncFolder}
