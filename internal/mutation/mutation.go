// Package mutation takes guards out of the code, one at a time: a test that was
// written for a guard must fail without it, by what it asserts. It is for tests.
package mutation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/keywright/keywright/internal/gate"
)

// Row represents a guard: how it is written, what is written there instead, and the test that must show it. The guard
// is written once in the files of the tests' folder and below, or, if it is in none of these, in the project: a row
// holds wherever the guard is moved to.
type Row = struct{ Name, Guard, Instead, Test string }

// All reports whether guards are to be taken out. Tests without it hold only that each is
// there, and that what it guards is kept.
func All() bool { return os.Getenv("KEYWRIGHT_MUTATIONS") == "all" }

// Run holds that each guard of the package in this folder is written once, and with
// KEYWRIGHT_MUTATIONS=all (make mutations) takes them out one at a time, with some (make test-all)
// two that are drawn, while the others are only compiled: a mutant takes up to half a minute to be shown.
func Run(t *testing.T, rows []Row) { RunIn(t, ".", rows) }

// RunIn executes Run for tests of the package in another folder.
func RunIn(t *testing.T, pkg string, rows []Row) {
	if os.Getenv("KEYWRIGHT_MUTATED") != "" {
		return
	}
	drawn := draw(t, rows)
	folder, project := read(t, "."), sync.OnceValue(func() code { return read(t, root(t)) })
	for i, r := range rows {
		file, mutant, err := folder.without(r)
		if errors.Is(err, errNowhere) {
			file, mutant, err = project().without(r)
		}
		switch {
		case err != nil:
			t.Errorf("%s: the mutation tests nothing: %v", r.Name, err)
		case drawn[i]:
			t.Run(r.Name, func(t *testing.T) { run(t, pkg, file, mutant, r.Test) })
		case len(drawn) > 0:
			t.Run(r.Name, func(t *testing.T) { compile(t, file, mutant) })
		}
	}
}

// code holds the files of a folder and those below it, without tests, by their paths.
type code map[string]string

func read(t *testing.T, folder string) code {
	of := code{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if ends := filepath.Ext(path); err != nil || ends != ".go" && ends != ".lua" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		of[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return of
}

// root returns the folder of the project, which has keywright.go.
func root(t *testing.T) string {
	folder := "."
	for depth := 0; depth < 10; depth++ {
		if _, err := os.Stat(filepath.Join(folder, "keywright.go")); err == nil {
			return folder
		}
		folder = filepath.Join("..", folder)
	}
	t.Fatal("no keywright.go above")
	return ""
}

var errNowhere = errors.New("it is written nowhere")

// without returns the file that has a guard, and its text without it.
func (of code) without(r Row) (file, mutant string, err error) {
	for path, text := range of {
		switch n := strings.Count(text, r.Guard); {
		case n > 1 || n == 1 && file != "":
			return "", "", fmt.Errorf("%q is written more than once, in %s: write more of what is around it", r.Guard, path)
		case n == 1:
			file, mutant = path, strings.Replace(text, r.Guard, r.Instead, 1)
		}
	}
	if file == "" {
		return "", "", fmt.Errorf("%w: %q", errNowhere, r.Guard)
	}
	return file, mutant, nil
}

// draw returns which guards are taken out: all of them, or two with KEYWRIGHT_MUTATIONS=some, or none.
func draw(t *testing.T, rows []Row) map[int]bool {
	most := map[string]int{"all": len(rows), "some": 2}[os.Getenv("KEYWRIGHT_MUTATIONS")]
	drawn := map[int]bool{}
	if most > 0 {
		for _, i := range gate.Rand(t).Perm(len(rows))[:min(most, len(rows))] {
			drawn[i] = true
		}
	}
	return drawn
}

// overlay returns a file that tells go that another file has this text.
func overlay(t *testing.T, file, text string) string {
	dir := t.TempDir()
	mutant, overlay := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{file: mutant}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{mutant: text, overlay: string(replace)} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return overlay
}

// compile compiles the package of a file that has another text.
func compile(t *testing.T, file, text string) {
	command := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay(t, file, text), ".")
	command.Dir = filepath.Dir(file)
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("it does not compile: %v\n%.2000s", err, out)
	}
}

// run executes one test of a package, of which one file has another text.
func run(t *testing.T, pkg, file, text, test string) {
	command := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-timeout=5m", "-vet=off", "-overlay",
		overlay(t, file, text),
		"-run", "^"+test+"$", pkg)
	command.Env = append(os.Environ(), "KEYWRIGHT_MUTATED=1", "ALL_TESTS=1")
	out, err := command.CombinedOutput()
	said := string(out)
	shown := strings.Contains(said, "--- FAIL: "+test) || strings.Contains(said, "panic: ")
	if err == nil || !shown || strings.Contains(said, "panic: test timed out") || strings.Contains(said, "build failed") {
		t.Errorf("%s does not show it: %v\n%.2000s", test, err, said)
	}
}
