package pages

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/keywrighttest"
)

// program builds a program of this folder.
func program(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("go", "build", "-o", path, "./"+name).CombinedOutput(); err != nil {
		t.Fatalf("go build ./%s: %v\n%s", name, err, out)
	}
	return path
}

// TestFirstProgram runs the program of docs/tutorials/first-go-program.md.
func TestFirstProgram(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	out, err := exec.Command(program(t, "first"), "redis://"+s.Addr()).CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "kettle costs 3900\na negative id: ") {
		t.Errorf("%v:\n%s", err, out)
	}
}

// TestKilledWorker does what docs/tutorials/killed-worker.md does: a worker is killed in the middle of a job, and
// another one does all jobs.
func TestKilledWorker(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	url, worker := "redis://"+s.Addr(), program(t, "worker")
	out, err := exec.Command(worker, url, "enqueue", "3").CombinedOutput()
	if err != nil || string(out) != "enqueued task-1\nenqueued task-2\nenqueued task-3\n" {
		t.Fatalf("%v:\n%s", err, out)
	}
	hangs := exec.Command(worker, url, "hang")
	pipe, err := hangs.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := hangs.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(pipe).ReadString('\n')
	if err != nil || line != "began task-1, attempt 1\n" {
		t.Errorf("%v: %q", err, line)
	}
	if err := hangs.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := hangs.Wait(); err == nil {
		t.Error("the worker ended by itself")
	}
	out, err = exec.Command(worker, url, "work", "3").CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(lines) != 4 || lines[3] != "done" {
		t.Fatalf("%v:\n%s", err, out)
	}
	slices.Sort(lines[:3])
	if want := "began task-1, attempt 1 began task-2, attempt 1 began task-3, attempt 1"; strings.Join(lines[:3],
		" ") != want {
		t.Errorf("%q", lines)
	}
}
