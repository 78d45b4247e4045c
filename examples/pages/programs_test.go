package pages

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/gen/golang"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keywrighttest"
)

// program does the steps of a tutorial in an empty folder: a module of the program's name, the declaration of the page,
// what keywright gen makes of it, and the program of the page. It returns the path of the built program.
func program(t *testing.T, name, page string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	copied := func(to, from string) {
		text, err := os.ReadFile(filepath.Join(root, from))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, to), text)
	}
	write(t, filepath.Join(dir, "go.mod"), []byte("module "+name+"\n\ngo 1.26.0\n\nrequire "+module+
		" v0.0.0\n\nreplace "+module+" => "+root+"\n"))
	copied("go.sum", "go.sum")
	copied("main.go", "examples/pages/testdata/"+name+"/main.go")
	generated(t, filepath.Join(root, page), filepath.Join(dir, "appkeys"))

	build := exec.Command("go", "build", "-mod=mod", "-o", name, ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return filepath.Join(dir, name)
}

// TestFirstProgram does what docs/tutorials/first-go-program.md says, in an empty folder.
func TestFirstProgram(t *testing.T) {
	hello := program(t, "hello", "docs/tutorials/first-go-program.md")
	s := keywrighttest.Start(t, keywrighttest.Redis)
	out, err := exec.Command(hello, "redis://"+s.Addr()).CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "kettle costs 3900\na negative id: ") {
		t.Errorf("%v:\n%s", err, out)
	}
}

const module = "github.com/keywright/keywright"

// generated writes what is made of the declaration of the page into a folder.
func generated(t *testing.T, path, folder string) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, declaration, _ := strings.Cut(string(page), "```yaml\n")
	declaration, _, _ = strings.Cut(declaration, "```")
	ks, findings := load.File(fstest.MapFS{"keyspace.yaml": {Data: []byte(declaration)}}, "keyspace.yaml")
	if len(findings) > 0 {
		t.Fatalf("%+v", findings)
	}
	files, err := golang.Generate(ks)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		write(t, filepath.Join(folder, f.Name), f.Text)
	}
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestKilledWorker does what docs/tutorials/killed-worker.md says, in an empty folder: a worker is killed in the middle
// of a job, and another one does all jobs.
func TestKilledWorker(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	url, worker := "redis://"+s.Addr(), program(t, "killed", "docs/tutorials/killed-worker.md")
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
