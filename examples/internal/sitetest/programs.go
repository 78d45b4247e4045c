package sitetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// programs lists those of the tests of one example.
var programs struct {
	mu      sync.Mutex
	folders map[string]string // by name
	dir     string            // where they are built, once one is asked for
	built   map[string]error
}

// Main runs the tests of an example, which may start programs: these folders, by their last
// names, and keywright. It gives the exit code.
func Main(m *testing.M, folders ...string) int {
	programs.folders, programs.built = map[string]string{}, map[string]error{}
	for _, f := range folders {
		programs.folders[filepath.Base(f)] = f
	}
	defer func() {
		if programs.dir != "" {
			_ = os.RemoveAll(programs.dir)
		}
	}()
	return m.Run()
}

// Program builds a program if no test has, and gives its path.
func Program(t testing.TB, name string) string {
	t.Helper()
	programs.mu.Lock()
	defer programs.mu.Unlock()
	if programs.dir == "" {
		var err error
		programs.dir, err = os.MkdirTemp("", "site")
		Must(t, err)
	}
	path := filepath.Join(programs.dir, name)
	err, known := programs.built[name]
	if !known {
		err = build(name, path)
		programs.built[name] = err
	}
	Must(t, err)
	return path
}

// build builds a program in a folder that all test processes of this user share, one at a time:
// what is up to date there is not linked again, which takes seconds.
func build(name, path string) error {
	folder, env := programs.folders[name], os.Environ()
	if name == "keywright" { // it is in the workspace
		root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/keywright/keywright").Output()
		if err != nil {
			return err
		}
		folder, env = filepath.Join(strings.TrimSpace(string(root)), "cmd/keywright"), append(env, "GOWORK=")
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(folder))
	shared := filepath.Join(os.TempDir(), fmt.Sprintf("keywright-sites-%d", os.Getuid()), hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(shared, 0o700); err != nil {
		return err
	}
	lock, err := os.Create(filepath.Join(shared, "lock"))
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-o", filepath.Join(shared, name), ".")
	cmd.Dir, cmd.Env = folder, env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return os.Link(filepath.Join(shared, name), path) // the next build makes another file
}

// Keywright runs keywright in the folder of the example on a server, and gives its output.
func Keywright(t testing.TB, url string, args ...string) string {
	t.Helper()
	cmd := exec.Command(Program(t, "keywright"), args...)
	cmd.Env = append(os.Environ(), "KEYWRIGHT_URL="+url)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("keywright %s: %v\n%s%s", strings.Join(args, " "), err, out, said.String())
	}
	return string(out)
}

// Output describes what a program has said, read while it runs.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns all that was said so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Process represents a program that runs.
type Process struct {
	*exec.Cmd
	Said *Output
}

// Start runs a program with more variables; what it has said is in the log of a test that
// fails.
func Start(t testing.TB, env []string, path string, args ...string) *Process {
	t.Helper()
	cmd, said := exec.Command(path, args...), &Output{}
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), said, said
	Must(t, cmd.Start())
	p := &Process{cmd, said}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s %s said:\n%s", filepath.Base(path), strings.Join(args, " "), said)
		}
	})
	return p
}

// Kill is kill -9. It may be called twice.
func (p *Process) Kill() {
	if p.ProcessState == nil {
		_ = p.Process.Kill()
		_ = p.Wait()
	}
}

// Stop asks a program to stop, as systemd does, and gives the error of its end.
func (p *Process) Stop() error {
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return p.Wait()
}
