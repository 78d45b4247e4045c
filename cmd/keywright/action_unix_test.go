//go:build unix

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"go.yaml.in/yaml/v4"
)

// action is action.yml: every field that it has, and no other.
type action struct {
	Name, Description, Author string
	Branding                  struct{ Icon, Color string }
	Inputs                    map[string]struct{ Description, Default string }
	Runs                      struct {
		Using string
		Steps []actionStep
	}
}

type actionStep struct {
	Name, Shell, Run string
	WorkingDirectory string `yaml:"working-directory"`
	Env              map[string]string
}

func readAction(t *testing.T) (a action) {
	t.Helper()
	text, err := os.ReadFile("../../action.yml")
	must(t, err)
	must(t, yaml.Load(text, &a, yaml.WithKnownFields()))
	return a
}

// TestActionIsSound: the action has what GitHub asks for; what is given to it comes to the shell in variables only, and
// each input is used once.
func TestActionIsSound(t *testing.T) {
	t.Parallel()
	a := readAction(t)
	if a.Name == "" || a.Description == "" || len(a.Description) > 125 || a.Runs.Using != "composite" ||
		len(a.Runs.Steps) != 2 {
		t.Fatalf("%+v", a)
	}
	used := map[string]int{}
	expression := regexp.MustCompile(`^\$\{\{ inputs\.([\w-]+) \}\}$`)
	for _, s := range a.Runs.Steps {
		if s.Name == "" || s.Shell != "bash" || strings.Contains(s.Run, "${{") || strings.Contains(s.Run, "INPUT_") {
			t.Errorf("%s: %s: %s", s.Name, s.Shell, s.Run)
		}
		values := []string{}
		for name, value := range s.Env {
			m := expression.FindStringSubmatch(value)
			if m == nil || name != "INPUT_"+strings.ToUpper(strings.ReplaceAll(m[1], "-", "_")) {
				t.Errorf("%s: %s is %s", s.Name, name, value)
			}
			values = append(values, value)
		}
		if s.WorkingDirectory != "" {
			values = append(values, s.WorkingDirectory)
		}
		for _, value := range values {
			if m := expression.FindStringSubmatch(value); m != nil {
				used[m[1]]++
			}
		}
	}
	for name, in := range a.Inputs {
		if in.Description == "" || used[name] != 1 {
			t.Errorf("the input %s is used %d times: %q", name, used[name], in.Description)
		}
	}
	if len(used) != len(a.Inputs) {
		t.Errorf("%v of %d inputs", used, len(a.Inputs))
	}
	for _, name := range []string{"install.sh", "check.sh"} {
		text, err := os.ReadFile("../../scripts/action/" + name)
		must(t, err)
		if found := regexp.MustCompile(`\beval\b|\bsource\b|\$\{\{`).Find(text); found != nil {
			t.Errorf("%s has %q", name, found)
		}
	}
}

// stepRunner runs a step of the action as GitHub does: the default of each input, or what is given for it, in the
// environment, and the text of the step in a file that bash reads.
type stepRunner struct {
	t    *testing.T
	dir  string // the working directory
	temp string
	env  []string
}

func newStepRunner(t *testing.T) *stepRunner {
	t.Helper()
	root, err := filepath.Abs("../..")
	must(t, err)
	temp := t.TempDir()
	return &stepRunner{t, t.TempDir(), temp,
		append(os.Environ(), "GITHUB_ACTION_PATH="+root, "RUNNER_TEMP="+temp, "RUNNER_OS=Linux", "RUNNER_ARCH=X64",
			"GITHUB_PATH="+filepath.Join(temp, "path"), "GITHUB_ACTIONS=true")}
}

// step runs a step with inputs and gives its exit code and what it printed.
func (r *stepRunner) step(n int, inputs map[string]string) (int, string) {
	r.t.Helper()
	a := readAction(r.t)
	script := filepath.Join(r.temp, "step.sh")
	must(r.t, os.WriteFile(script, []byte(a.Runs.Steps[n].Run), 0o600))
	cmd := exec.Command("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", script)
	cmd.Dir, cmd.Env = r.dir, slices.Clone(r.env)
	for name, value := range a.Runs.Steps[n].Env {
		input := strings.TrimSuffix(strings.TrimPrefix(value, "${{ inputs."), " }}")
		given, ok := inputs[input]
		if !ok {
			given = a.Inputs[input].Default
		}
		cmd.Env = append(cmd.Env, name+"="+given)
	}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		r.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func (r *stepRunner) write(name, text string) {
	r.t.Helper()
	must(r.t, os.MkdirAll(filepath.Dir(filepath.Join(r.dir, name)), 0o755))
	must(r.t, os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644))
}

func (r *stepRunner) git(args ...string) {
	r.t.Helper()
	cmd := exec.Command("git",
		append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgSign=false"}, args...)...)
	cmd.Dir = r.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("%v: %s", err, out)
	}
}

const soundDeclaration = "keywright: 1\nowner: a\nkeys:\n  page: {doc: A page., key: \"page:{id}\", type: string, value: text, ttl: 1h}\nvars: {id: int}\n"

// TestActionChecks: the checks of the action pass on a sound repository, and each finds its own defect, with an
// annotation on the line; findings are there as SARIF, too.
func TestActionChecks(t *testing.T) {
	t.Parallel()
	r := newStepRunner(t)
	r.write("keyspace.yaml", soundDeclaration)
	r.git("init", "--quiet", "--initial-branch=main")
	r.git("add", ".")
	r.git("commit", "--quiet", "--message=all")
	s := keywrighttest.Start(t, keywrighttest.Redis)
	s.Do("SET", "page:1", "x", "EX", "60")
	snapshot := func(name string) {
		s.Do("SAVE")
		text, err := os.ReadFile(filepath.Join(fmt.Sprint(s.Do("CONFIG", "GET", "dir").([]any)[1]), "dump.rdb"))
		must(t, err)
		r.write(name, string(text))
	}
	snapshot("sound.rdb")
	s.Do("SET", "page:2", "x")
	s.Do("SET", "page:x\n::error::owned\n::add-mask::page", "x")
	snapshot("wrong.rdb")
	if code, out := r.step(1, map[string]string{"breaking": "main", "audit": "sound.rdb",
		"sarif": "findings"}); code != 0 || strings.Contains(out, "\n::") {
		t.Errorf("%d: %s", code, out)
	}
	for _, name := range []string{"lint", "breaking", "audit"} {
		text, err := os.ReadFile(filepath.Join(r.dir, "findings", name+".sarif"))
		var sarif struct{ Version string }
		if err != nil || json.Unmarshal(text, &sarif) != nil || sarif.Version != "2.1.0" {
			t.Errorf("%s: %v %s", name, err, text)
		}
	}
	code, out := r.step(1, map[string]string{"audit": "wrong.rdb", "lint": ""})
	if code != 1 || !regexp.MustCompile(`(?m)^::error file=keyspace\.yaml,line=\d+.*KW505`).MatchString(out) {
		t.Errorf("%d: %s", code, out)
	}
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "::") && !strings.Contains(line, "KW5") {
			t.Errorf("a name of a key commands: %s", line)
		}
	}
	r.write("keyspace.yaml", strings.Replace(soundDeclaration, "page:{id}", "pages:{id}", 1))
	if code, out := r.step(1, map[string]string{"breaking": "main"}); code != 1 ||
		!regexp.MustCompile(`(?m)^::\w+ file=keyspace\.yaml,line=\d+.*KW6`).MatchString(out) {
		t.Errorf("%d: %s", code, out)
	}
	if code, out := r.step(1, map[string]string{"breaking": "main", "fail-on": "never"}); code != 0 {
		t.Errorf("%d: %s", code, out)
	}
	r.write("keyspace.yaml", soundDeclaration+"gen: {docs: docs}\n")
	if code, out := r.step(1, map[string]string{"gen": "true"}); code != 1 || !strings.Contains(out, "docs") {
		t.Errorf("%d: %s", code, out)
	}
	r.write("other/keyspace.yaml", "keywright: 1\nkeys: {a: {key: \"a:{\", type: string}}\n")
	if code, out := r.step(1, map[string]string{"lint": "keyspace.yaml\nother", "file": "keyspace.yaml",
		"gen": "true"}); code < 1 || !strings.Contains(out, "::error file=other/keyspace.yaml") ||
		!strings.Contains(out, "gen --check") {
		t.Errorf("%d: %s", code, out)
	}
}

// TestActionTakesNoCommands: what is given to the action is a value: it is run by no shell and read as no flag.
func TestActionTakesNoCommands(t *testing.T) {
	gate.Skip(t, "99 shells")
	t.Parallel()
	for _, evil := range []string{"$(touch owned)", "`touch owned`", "x; touch owned", "x\ntouch owned",
		"' ; touch owned; '", "\"; touch owned; \"", "--output=json", "-o=json", "--update-baseline", "*", "a b"} {
		for _, input := range []string{"lint", "file", "gen", "breaking", "audit", "fail-on", "sarif", "version", "mirror"} {
			r, n := newStepRunner(t), 1
			if input == "version" || input == "mirror" {
				n = 0
			}
			inputs := map[string]string{"version": "0.1.0", "mirror": "file://" + r.temp + "/none", input: evil}
			if input == "file" { // something must read it
				inputs["gen"] = "true"
			}
			r.write("keyspace.yaml", soundDeclaration)
			code, out := r.step(n, inputs)
			if code == 0 && input != "gen" && input != "sarif" && !(input == "lint" && evil == "*") {
				t.Errorf("%s: %q passes: %s", input, evil, out)
			}
			if n == 0 && code != 2 {
				t.Errorf("%s: %q: %d: %s", input, evil, code, out)
			}
			for _, name := range []string{"owned", "keyspace-baseline.json", ".keywright"} {
				if _, err := os.Stat(filepath.Join(r.dir, name)); err == nil {
					t.Errorf("%s: %q was run", input, evil)
				}
			}
			if strings.Contains(out, "\"version\"") {
				t.Errorf("%s: %q is a flag: %s", input, evil, out)
			}
			for line := range strings.Lines(out) {
				if strings.HasPrefix(line, "touch owned") {
					t.Errorf("%s: %q begins a line: %s", input, evil, out)
				}
			}
		}
	}
}

// mirrored writes a release of which the program is a script.
func mirrored(t *testing.T, version, program string) (mirror, archive string) {
	t.Helper()
	mirror = t.TempDir()
	archive = filepath.Join(mirror, "v"+version, "keywright_"+version+"_linux_amd64.tar.gz")
	var text bytes.Buffer
	z := gzip.NewWriter(&text)
	w := tar.NewWriter(z)
	must(t, w.WriteHeader(&tar.Header{Name: "keywright", Mode: 0o755, Size: int64(len(program))}))
	_, err := w.Write([]byte(program))
	must(t, err)
	must(t, w.Close())
	must(t, z.Close())
	must(t, os.Mkdir(filepath.Dir(archive), 0o755))
	must(t, os.WriteFile(archive, text.Bytes(), 0o644))
	sums := fmt.Sprintf("%x  other.zip\n%x  %s\n", sha256.Sum256(nil), sha256.Sum256(text.Bytes()), filepath.Base(archive))
	must(t, os.WriteFile(filepath.Join(filepath.Dir(archive), "SHA256SUMS"), []byte(sums), 0o644))
	return "file://" + mirror, archive
}

// TestActionInstalls: the action puts a release into the PATH if its checksum is right, and otherwise nothing.
func TestActionInstalls(t *testing.T) {
	t.Parallel()
	mirror, _ := mirrored(t, "9.8.7", "#!/bin/sh\necho it is $1\n")
	path := func(r *stepRunner) string {
		text, _ := os.ReadFile(filepath.Join(r.temp, "path"))
		return strings.TrimSpace(string(text))
	}
	r := newStepRunner(t)
	code, out := r.step(0, map[string]string{"version": "v9.8.7", "mirror": mirror + "/"})
	if code != 0 || out != "it is version\n" {
		t.Fatalf("%d: %s", code, out)
	}
	if out, err := exec.Command(filepath.Join(path(r), "keywright"), "x").Output(); err != nil ||
		string(out) != "it is x\n" {
		t.Errorf("%q: %v", out, err)
	}
	for name, inputs := range map[string]map[string]string{
		"there is no such release":   {"version": "9.8.6", "mirror": mirror},
		"a version that is none":     {"version": "9.8.7/../x", "mirror": mirror},
		"a mirror of another kind":   {"version": "9.8.7", "mirror": "http://127.0.0.1:1"},
		"a system without a release": {"version": "9.8.7", "mirror": mirror, "RUNNER_OS": "Plan9"},
		"an exchanged archive":       {"version": "9.8.7", "mirror": mirror, "exchange": "yes"},
		"no sum of the archive":      {"version": "9.8.7", "mirror": mirror, "forget": "yes"},
	} {
		r := newStepRunner(t)
		switch {
		case inputs["RUNNER_OS"] != "":
			r.env = append(r.env, "RUNNER_OS="+inputs["RUNNER_OS"])
		case inputs["exchange"] != "":
			var archive string
			inputs["mirror"], archive = mirrored(t, "9.8.7", "one")
			other, _ := mirrored(t, "9.8.7", "two")
			text, err := os.ReadFile(filepath.Join(strings.TrimPrefix(other, "file://"), "v9.8.7", filepath.Base(archive)))
			must(t, err)
			must(t, os.WriteFile(archive, text, 0o644))
		case inputs["forget"] != "":
			var archive string
			inputs["mirror"], archive = mirrored(t, "9.8.7", "one")
			must(t, os.WriteFile(filepath.Join(filepath.Dir(archive), "SHA256SUMS"), nil, 0o644))
		}
		if code, out := r.step(0, inputs); code != 2 || !strings.Contains(out, "::error title=keywright::") || path(r) != "" {
			t.Errorf("%s: %d: %s, %s", name, code, out, path(r))
		}
	}
}

// TestActionKnowsItsRelease: without a version the action installs the newest one in the changelog beside it.
func TestActionKnowsItsRelease(t *testing.T) {
	t.Parallel()
	for log, says := range map[string]string{
		"# C\n\n## [Unreleased]\n\n### Added\n- A.\n\n## [0.2.0] - 2027-01-01\n\n## [0.1.0] " +
			"- 2026-12-01\n": "cannot download SHA256SUMS of 0.2.0",
		"# C\n\n## [Unreleased]\n\n### Added\n- A.\n": "belongs to no release",
	} {
		r, root := newStepRunner(t), t.TempDir()
		must(t, os.CopyFS(filepath.Join(root, "scripts", "action"), os.DirFS("../../scripts/action")))
		must(t, os.WriteFile(filepath.Join(root, "CHANGELOG.md"), []byte(log), 0o644))
		r.env = append(r.env, "GITHUB_ACTION_PATH="+root)
		if code, out := r.step(0, map[string]string{"mirror": "file://" + r.temp + "/none"}); code != 2 ||
			!strings.Contains(out, says) {
			t.Errorf("%d: %s, not %s", code, out, says)
		}
	}
}

// TestHooks: each hook of pre-commit names a command that there is, builds from this repository, and finds a defect.
func TestHooks(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../.pre-commit-hooks.yaml")
	must(t, err)
	var hooks []struct {
		ID, Name, Description, Entry, Language, Files string
		Dependencies                                  []string `yaml:"additional_dependencies"`
		Always                                        bool     `yaml:"always_run"`
		Pass                                          *bool    `yaml:"pass_filenames"`
	}
	must(t, yaml.Load(text, &hooks, yaml.WithKnownFields()))
	sound := "keywright: 1\nowner: a\nvars: {id: int}\nkeys:\n  page: {doc: A page., key: \"page:{id}\", type: string, value: text, ttl: 1h}\n"
	defects := map[string]string{
		"keywright-lint": strings.Replace(sound, "{id}\"", "{ids}\"", 1),
		"keywright-fmt":  strings.Replace(sound, "  page: {", "  page:    {", 1),
		"keywright-gen":  sound + "gen: {docs: docs}\n",
	}
	if len(hooks) != len(defects) {
		t.Errorf("%d hooks", len(hooks))
	}
	for _, h := range hooks {
		passes := h.Pass == nil || *h.Pass
		if h.Name == "" || h.Description == "" || h.Language != "golang" ||
			!slices.Equal(h.Dependencies, []string{"./cmd/keywright"}) || (h.Files != "") == h.Always {
			t.Errorf("%+v", h)
		}
		for at, declaration := range []string{sound, defects[h.ID]} {
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, "keyspace.yaml"), []byte(declaration), 0o644))
			words := strings.Fields(h.Entry)
			if h.ID == "keywright-gen" && at == 0 { // the defect is that nothing was generated
				declaration = defects[h.ID]
				must(t, os.WriteFile(filepath.Join(dir, "keyspace.yaml"), []byte(declaration), 0o644))
				ran(t, 0, dir, "gen")
			}
			if passes {
				if !regexp.MustCompile(h.Files).MatchString("a/keyspace.yaml") {
					t.Errorf("%s passes no declaration", h.ID)
				}
				words = append(words, "keyspace.yaml")
			}
			runs(t, h.ID, words[1:])
			cmd := runProgram(t, dir, words[1:]...)
			out, _ := cmd.CombinedOutput()
			after, err := os.ReadFile(filepath.Join(dir, "keyspace.yaml"))
			must(t, err)
			// pre-commit fails, too, when a file was changed
			fails := cmd.ProcessState.ExitCode() != 0 || string(after) != declaration
			if words[0] != "keywright" || fails != (at == 1) {
				t.Errorf("%s: %t for\n%s\n%s", h.ID, fails, declaration, out)
			}
		}
	}
}
