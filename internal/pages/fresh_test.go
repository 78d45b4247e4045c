package pages

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goList lists packages as go run would find them, in a folder of a clone.
func goList(t *testing.T, folder string, off bool, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=")
	if off {
		cmd.Env = append(cmd.Env, "GOWORK=off")
	}
	var said bytes.Buffer // where go also says what it downloads
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%s: go list %s: %v\n%s", folder, strings.Join(args, " "), err, said.String())
	}
	return string(out)
}

var goRun = regexp.MustCompile(`(GOWORK=off )?go run \./((?:cmd/)?[\w/]+)`)

// TestGoRunRuns: a program that a page runs with `go run` is one in the folder that the
// page is about, under the workspace that the page sets.
func TestGoRunRuns(t *testing.T) {
	programs := map[string]map[string]bool{} // by folder
	for _, p := range read(t) {
		if p.Path == "CHANGELOG.md" { // what was
			continue
		}
		for _, m := range goRun.FindAllStringSubmatch(p.Text, -1) {
			folder := "."
			for _, module := range []string{"bench", "examples"} { // modules that are not in the workspace
				if !exists(m[2]) && exists(module+"/"+m[2]) {
					folder = module
				}
			}
			if off := m[1] != "" || strings.Contains(p.Text, "export GOWORK=off"); folder != "." && !off {
				t.Errorf("%s: %s fails in %s without GOWORK=off", p.Path, m[0], folder)
			}
			if programs[folder] == nil {
				programs[folder] = map[string]bool{}
			}
			programs[folder]["./"+m[2]] = true
		}
	}
	for folder, set := range programs {
		args := []string{"-f", "{{.Name}} {{.ImportPath}}"}
		for program := range set {
			args = append(args, program)
		}
		for line := range strings.Lines(goList(t, filepath.Join("../..", folder), folder != ".", args...)) {
			if !strings.HasPrefix(line, "main ") {
				t.Errorf("%s: %s", folder, line)
			}
		}
	}
	if len(programs["bench"]) < 10 || len(programs["examples"]) < 2 {
		t.Errorf("%v: the search is broken", programs)
	}
}

// TestAFreshCloneHasAllThatMakeNeeds: what `make unit` and `make lint` test and check is
// whole in a clone, without what generators, editors and package managers leave.
func TestAFreshCloneHasAllThatMakeNeeds(t *testing.T) {
	dir := clone(t)
	makes := exec.Command("make", "-n", "unit", "lint")
	makes.Dir = dir
	out, err := makes.CombinedOutput()
	if err != nil {
		t.Fatalf("make -n unit lint: %v\n%s", err, out)
	}
	var packages []string
	for _, line := range strings.Split(string(out), "\n") {
		if strings.HasPrefix(line, "go test ") || strings.HasPrefix(line, "go vet ") {
			line, _, _ = strings.Cut(line, "#")
			for _, word := range strings.Fields(line) {
				if strings.HasPrefix(word, "./") {
					packages = append(packages, word)
				}
			}
		}
	}
	if len(packages) < 8 {
		t.Fatalf("%q: the search is broken", packages)
	}
	// Faults are packages that are not there, and files to be embedded that are not.
	faults := goList(t, dir, false,
		append([]string{"-e", "-test", "-f", "{{with .Error}}{{.Err}}{{end}}{{range .DepsErrors}}{{.Err}}{{end}}"},
			packages...)...)
	if faults = strings.TrimSpace(faults); faults != "" {
		t.Errorf("%s", faults)
	}
}

// clone returns the project as git has it, without what is not in it.
func clone(t *testing.T) string {
	archive, err := exec.Command("git", "-C", "../..", "archive", "HEAD").Output()
	if err != nil {
		t.Fatalf("git archive: %v", err)
	}
	dir := t.TempDir()
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if !filepath.IsLocal(h.Name) || h.Typeflag != tar.TypeReg {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
