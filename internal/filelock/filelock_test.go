package filelock

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// lockedVariable names the file that a child of the tests locks, until it is killed.
const lockedVariable = "FILELOCK_TEST"

func TestMain(m *testing.M) {
	if path := os.Getenv(lockedVariable); path != "" {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err == nil {
			err = Lock(f)
		}
		fmt.Println(err)
		_, _ = bufio.NewReader(os.Stdin).ReadByte() // the test closes it, or kills
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// One has the lock, or several share it; it ends when the file is closed.
func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	a, b, c := open(t, path), open(t, path), open(t, path)
	for _, s := range []struct {
		what string
		do   func() error
		want error
	}{
		{"lock", func() error { return Lock(a) }, nil},
		{"a second one", func() error { return Lock(b) }, ErrInUse},
		{"to share what is locked", func() error { return Share(b) }, ErrInUse},
		{"close", func() error { return Close(a) }, nil}, // not a.Close: another test starts a process just now
		{"share", func() error { return Share(b) }, nil},
		{"share twice", func() error { return Share(c) }, nil},
		{"lock what is shared", func() error { return Lock(open(t, path)) }, ErrInUse},
		{"close", func() error { return Close(b) }, nil},
		{"lock it alone", func() error { return Lock(c) }, nil},
		{"wait in vain", func() error { return Wait(open(t, path), 20*time.Millisecond) }, ErrInUse},
	} {
		if err := s.do(); !errors.Is(err, s.want) {
			t.Fatalf("%s: %v", s.what, err) // what follows would wait for a lock that is not as it should be
		}
	}
	waited := make(chan error, 1)
	d := open(t, path)
	go func() { waited <- Wait(d, time.Minute) }()
	_ = Close(c)
	if err := <-waited; err != nil {
		t.Error(err)
	}
}

// A process that is killed leaves no lock, and what it locked can be read meanwhile.
func TestLockOfKilledProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), lockedVariable+"="+path)
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if said, _ := bufio.NewReader(out).ReadString('\n'); said != "<nil>\n" {
		t.Fatal(said)
	}
	if err := Lock(open(t, path)); !errors.Is(err, ErrInUse) {
		t.Error(err)
	}
	if text, err := os.ReadFile(path); string(text) != "text" {
		t.Error(text, err)
	}
	_ = child.Process.Kill()
	_ = child.Wait()
	_ = in.Close()
	if err := Wait(open(t, path), time.Minute); err != nil {
		t.Error(err)
	}
}

// A file gets its name, and takes the place of another one with its lock, on systems that rename
// open files and on those that do not.
func TestRenameAndReplace(t *testing.T) {
	t.Parallel()
	for _, systems := range []bool{true, false} {
		dir := t.TempDir()
		first, next := filepath.Join(dir, "first"), filepath.Join(dir, "next")
		f := open(t, first)
		if err := rename(f, filepath.Join(dir, "renamed"), systems); err != nil {
			t.Error(err)
		}
		if err := f.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("it is not closed: %v", err)
		}
		old, part := open(t, first), open(t, next)
		if err := Lock(old); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(part, "new")
		now, err := replace(old, part, first, Lock, systems)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := now.WriteAt([]byte("N"), 0); err != nil {
			t.Error(err)
		}
		if err := Lock(open(t, first)); !errors.Is(err, ErrInUse) {
			t.Errorf("open %v: it is not locked: %v", systems, err)
		}
		if err := old.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("the old one is not closed: %v", err)
		}
		_ = now.Close()
		if text, err := os.ReadFile(first); string(text) != "New" {
			t.Errorf("%s %v", text, err)
		}
		if _, err := os.Lstat(next); err == nil {
			t.Error("it has its other name still")
		}
		refused := errors.New("refused")
		last := open(t, first)
		if _, err := replace(last, open(t, next), first, func(*os.File) error { return refused }, systems); !errors.Is(err,
			refused) {
			t.Error(err)
		}
	}
	if err := SyncFolder(t.TempDir()); err != nil {
		t.Error(err)
	}
	if err := SyncFolder("not there"); err == nil {
		t.Error("a folder that is not there was synced")
	}
}

// TestWriteNamesTheFile: an error names the file that was to be written, the same each time.
func TestWriteNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing", "al.json")
	first, again := Write(path, nil, 0o600), Write(path, nil, 0o600)
	if !errors.Is(first, fs.ErrNotExist) || first.Error() != again.Error() || !strings.Contains(first.Error(), path+":") {
		t.Errorf("%v, %v", first, again)
	}
}
