// Package mutation takes guards out of the code, one at a time: a test that was
// written for a guard must fail without it, by what it asserts. It is for tests.
package mutation

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Row is a guard: what is written in a file, what is written there instead, and the
// test that must show it.
type Row = struct{ Name, File, Guard, Instead, Test string }

// Run takes out every so many of the guards of the package in this folder, all of them
// with KEYWRIGHT_MUTATIONS=all (make soak).
func Run(t *testing.T, every int, rows []Row) {
	if os.Getenv("KEYWRIGHT_MUTATED") != "" {
		return
	}
	for i, r := range rows {
		if i%every == 0 || os.Getenv("KEYWRIGHT_MUTATIONS") == "all" {
			t.Run(r.Name, func(t *testing.T) { run(t, r) })
		}
	}
}

func run(t *testing.T, r Row) {
	file, err := filepath.Abs(r.File)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Count(string(text), r.Guard) != 1 {
		t.Fatalf("%s has %q %d times: the mutation tests nothing (%v)", r.File, r.Guard, strings.Count(string(text), r.Guard), err)
	}
	dir := t.TempDir()
	mutant, overlay := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{file: mutant}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{mutant: strings.Replace(string(text), r.Guard, r.Instead, 1), overlay: string(replace)} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-timeout=5m", "-vet=off", "-overlay", overlay, "-run", "^"+r.Test+"$", ".")
	command.Env = append(os.Environ(), "KEYWRIGHT_MUTATED=1")
	out, err := command.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--- FAIL: "+r.Test) || strings.Contains(string(out), "panic: test timed out") {
		t.Errorf("%s does not show it: %v\n%.2000s", r.Test, err, out)
	}
}
