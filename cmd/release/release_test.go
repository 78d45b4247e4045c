package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

// must ends a test that cannot go on.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, name, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(t, os.WriteFile(name, []byte(text), 0o644))
}

func read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	return string(text)
}

// repository makes a repository of the files in a folder, with one commit.
func repository(t testing.TB, dir string) {
	t.Helper()
	for _, args := range [][]string{{"init", "--quiet", "--initial-branch=main"}, {"add", "--all"},
		{"commit", "--quiet", "--message=all"}} {
		commit(t, dir, args...)
	}
}

func commit(t testing.TB, dir string, args ...string) string {
	t.Helper()
	env := []string{"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_AUTHOR_DATE=@1790000000 +0200",
		"GIT_COMMITTER_NAME=c", "GIT_COMMITTER_EMAIL=c@example.com", "GIT_COMMITTER_DATE=@1790000000 +0200"}
	out, err := gitWith(t.Context(), env, dir, args...)
	must(t, err)
	return out
}

// copyOfTree returns a repository with the files of this one as they are now, committed or not, and with a key more.
func copyOfTree(t testing.TB, signers string) string {
	t.Helper()
	dir := t.TempDir()
	names, err := git(t.Context(), "../..", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	must(t, err)
	for name := range strings.SplitSeq(strings.TrimSuffix(names, "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join("../..", name))
		if os.IsNotExist(err) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		must(t, err)
		write(t, filepath.Join(dir, name), read(t, filepath.Join("../..", name)))
		must(t, os.Chmod(filepath.Join(dir, name), info.Mode()))
	}
	write(t, filepath.Join(dir, signersFile), read(t, filepath.Join(dir, signersFile))+signers)
	repository(t, dir)
	return dir
}

// quick returns a release of a repository for this system, without a network.
func quick(t testing.TB, repo string) *release {
	return &release{version: "0.1.0", repo: repo, dist: filepath.Join(t.TempDir(), "dist"), work: t.TempDir(),
		offline: true, level: gzip.BestSpeed,
		platforms: []string{runtime.GOOS + "/" + runtime.GOARCH}, programs: []string{"keywright"}, out: io.Discard}
}

// TestRelease makes a release of this tree, and installs it as users do, with no network: the command, each module of
// the library, and the first program of the README.
func TestRelease(t *testing.T) {
	key, line := newKey(t)
	repo := copyOfTree(t, line)
	base := commit(t, repo, "rev-parse", "HEAD")
	r := quick(t, repo)
	must(t, r.steps(t.Context()))
	t.Run("tags", func(t *testing.T) { tagsAreRight(t, r, base) })
	t.Run("twice", func(t *testing.T) { twiceIsTheSame(t, r, key) })
	t.Run("workspace", func(t *testing.T) { workspaceBuilds(t, r) })
	t.Run("install", func(t *testing.T) { commandIsInstalled(t, r, base) })
	t.Run("program", func(t *testing.T) { readmeProgramRuns(t, r) })
	t.Run("modules", func(t *testing.T) { modulesAreGot(t, r) })
	t.Run("files", func(t *testing.T) { filesAreWhole(t, r) })
	t.Run("parts", func(t *testing.T) { partsAreListed(t, r) })
	t.Run("formula", func(t *testing.T) { formulaFits(t, r) })
}

// tagsAreRight: a tag for each module of the workspace, of one commit whose go.mod files name the version; the branch
// is where it was, and so is the tree.
func tagsAreRight(t *testing.T, r *release, base string) {
	if got := commit(t, r.repo, "rev-parse", "main"); got != base {
		t.Errorf("the branch was moved to %s", got)
	}
	if got := commit(t, r.repo, "status", "--porcelain"); got != "" {
		t.Errorf("the tree was changed: %s", got)
	}
	want := []string{"cmd/keywright/v0.1.0", "cmd/keywrightd/v0.1.0", "fallback/bbolt/v0.1.0", "metrics/v0.1.0",
		"tracing/v0.1.0", "v0.1.0"}
	if got := strings.Fields(commit(t, r.repo, "tag", "--list")); !slices.Equal(got, want) {
		t.Errorf("tags %q, not %q", got, want)
	}
	if r.modules[0].dir != "." {
		t.Errorf("the first tag is of %s, which requires the root", r.modules[0].dir)
	}
	for _, m := range r.modules {
		tag := m.tag("0.1.0")
		if got := commit(t, r.repo, "rev-parse", tag+"^", tag+"^{commit}"); got != base+"\n"+r.commit {
			t.Errorf("%s is of %q", tag, got)
		}
		text := commit(t, r.repo, "show", tag+":"+filepath.ToSlash(filepath.Join(m.dir, "go.mod")))
		if strings.Contains(text, "v0.0.0\n") || strings.Contains(text, "replace") ||
			len(m.requires) > 0 && !strings.Contains(text, root+" v0.1.0\n") {
			t.Errorf("%s:\n%s", tag, text)
		}
	}
	if log := commit(t, r.repo, "show", "v0.1.0:CHANGELOG.md"); !strings.Contains(log,
		"\n## [Unreleased]\n\n## [0.1.0] - 2026-09-21\n\n### Added\n") {
		t.Error("the changelog has no section of the version")
	}
}

// twiceIsTheSame: another clone gives the same tags and bytes, and with a key a signature more; at the tag, too, it
// gives the same tags.
func twiceIsTheSame(t *testing.T, r *release, key string) {
	clone := filepath.Join(t.TempDir(), "clone")
	commit(t, r.repo, "clone", "--quiet", "--no-tags", r.repo, clone)
	again := quick(t, clone)
	again.keyFile = key
	must(t, again.steps(t.Context()))
	must(t, verify(again.dist, filepath.Join(clone, signersFile)))
	got, want := distOf(t, again), distOf(t, r)
	delete(got, sumsFile+".sig")
	if !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))) {
		t.Fatalf("%q, not %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	for name := range want {
		if !bytes.Equal(got[name], want[name]) {
			t.Errorf("%s has other bytes", name)
		}
	}
	for _, m := range r.modules {
		if got, want := commit(t, clone, "rev-parse", m.tag("0.1.0")),
			commit(t, r.repo, "rev-parse", m.tag("0.1.0")); got != want {
			t.Errorf("the tag %s is %s, not %s", m.tag("0.1.0"), got, want)
		}
	}
	commit(t, clone, "checkout", "--quiet", "v0.1.0")
	at := quick(t, clone)
	if err := errors.Join(at.check(t.Context()), at.cut(t.Context())); err != nil || at.commit != r.commit {
		t.Errorf("at the tag it makes %s: %v", at.commit, err)
	}
}

func distOf(t *testing.T, r *release) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	entries, err := os.ReadDir(r.dist)
	must(t, err)
	for _, e := range entries {
		out[e.Name()] = []byte(read(t, filepath.Join(r.dist, e.Name())))
	}
	return out
}

// user returns someone's folder, and a go command that has nothing but the modules of the release and what others
// made.
func user(t *testing.T, r *release) (dir string, run func(args ...string) string) {
	dir, home := t.TempDir(), filepath.Join(r.work, "user")
	return dir, func(args ...string) string {
		t.Helper()
		out, err := r.tool.run(t.Context(), dir, r.tool.env(home, r.proxy(), "CGO_ENABLED=0"), args...) // as it was built
		must(t, err)
		return out
	}
}

// commandIsInstalled: in an empty folder go install gives the command, which knows its version and commit.
func commandIsInstalled(t *testing.T, r *release, base string) {
	_, run := user(t, r)
	run("install", "-trimpath", root+"/cmd/keywright@v0.1.0")
	out, err := exec.Command(filepath.Join(r.work, "user", "bin", "keywright"), "version").Output()
	if want := "keywright v0.1.0, commit " + base + ", " + runtime.Version() + "\n"; err != nil || string(out) != want {
		t.Errorf("%q, not %q: %v", out, want, err)
	}
}

// workspaceBuilds: who checks out the tag can work on it, with the workspace and, module by module, without it.
func workspaceBuilds(t *testing.T, r *release) {
	env := r.tool.env(filepath.Join(r.work, "user"), r.proxy())
	for _, at := range []struct{ dir, work string }{{".", "GOWORK="}, {"cmd/keywright", "GOWORK=off"},
		{"metrics", "GOWORK=off"}, {"tracing", "GOWORK=off"}, {"fallback/bbolt", "GOWORK=off"}} {
		if _, err := r.tool.run(t.Context(), filepath.Join(r.tree(), at.dir), append(env, at.work), "list", "-deps",
			"./..."); err != nil {
			t.Errorf("%s, %s: %v", at.dir, at.work, err)
		}
	}
}

// readmeProgramRuns: a program of the first Go snippet of the README is built in an empty folder, with code that the
// installed command generates, and runs on a server. Nothing of the command line is in its module graph.
func readmeProgramRuns(t *testing.T, r *release) {
	_, text, _ := strings.Cut(read(t, filepath.Join(r.tree(), "README.md")), "\n```go\n")
	snippet, _, found := strings.Cut(text, "\n```\n")
	if !found {
		t.Fatal("the README has no Go")
	}
	dir, run := user(t, r)
	write(t, filepath.Join(dir, "keyspace.yaml"), read(t, filepath.Join(r.tree(), "examples/pages/keyspace.yaml")))
	write(t, filepath.Join(dir, "main.go"), `package main

import (
	"context"
	"fmt"
	"os"

	"example.com/shop/appkeys"
	"`+root+`"
)

var page = appkeys.ProductDetailValue{Name: "kettle", Price: 3900}

func main() {
	ctx, url := context.Background(), os.Args[1]
	`+snippet+`
	if err != nil {
		panic(err)
	}
	defer client.Close()
	fmt.Print(page.Name)
}
`)
	write(t, filepath.Join(dir, "main_test.go"), `package main

import (
	"os/exec"
	"testing"

	"`+root+`/keywrighttest"
)

func TestProgram(t *testing.T) {
	out, err := exec.Command("./shop", keywrighttest.Start(t, keywrighttest.Redis).URL()).CombinedOutput()
	if err != nil || string(out) != "kettle" {
		t.Fatalf("%v: %s", err, out)
	}
}
`)
	run("mod", "init", "example.com/shop")
	generate := exec.Command(filepath.Join(r.work, "user", "bin", "keywright"), "gen")
	generate.Dir = dir
	_, err := output(generate)
	must(t, err)
	run("get", root+"@v0.1.0")
	run("build", "-o", "shop", ".")
	run("test", ".")
	nothingOfTheCommandLine(t, r, run("list", "-m", "-f", "{{.Path}}", "all")+"\n"+run("mod", "graph"))
	linked := strings.Fields(run("list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "."))
	slices.Sort(linked)
	if got, want := slices.Compact(linked),
		[]string{"example.com/shop", root, "github.com/redis/rueidis", "golang.org/x/sys"}; !slices.Equal(got, want) {
		t.Errorf("the program links %q, not %q", got, want)
	}
}

// nothingOfTheCommandLine holds a list of modules against what cmd/keywright itself requires and the library does not.
func nothingOfTheCommandLine(t *testing.T, r *release, modules string) {
	t.Helper()
	requires := func(dir string, indirect bool) map[string]bool {
		f, err := modfile.Parse("go.mod", []byte(read(t, filepath.Join(r.tree(), dir, "go.mod"))), nil)
		must(t, err)
		out := map[string]bool{}
		for _, m := range f.Require {
			if indirect || !m.Indirect {
				out[m.Mod.Path] = true
			}
		}
		return out
	}
	library, seen := requires(".", true), 0
	for path := range requires("cmd/keywright", false) { // what it requires indirectly comes only with these
		if library[path] || path == root {
			continue
		}
		seen++
		if regexp.MustCompile(`(?m)(^|\s)` + regexp.QuoteMeta(path) + `(@|\s|$)`).MatchString(modules) {
			t.Errorf("a program that imports the library gets %s", path)
		}
	}
	if seen < 10 || !strings.Contains(modules, "github.com/redis/rueidis") {
		t.Errorf("%d dependencies of the command line were looked for: the search is broken", seen)
	}
}

// modulesAreGot: each module of the library is got by its version, and what it has is built.
func modulesAreGot(t *testing.T, r *release) {
	dir, run := user(t, r)
	run("mod", "init", "example.com/all")
	text := "package all\n\nimport (\n"
	for _, m := range r.modules {
		if strings.HasPrefix(m.dir, "cmd/") {
			continue
		}
		run("get", m.path+"@v0.1.0")
		text += "\t_ \"" + m.path + "\"\n"
	}
	write(t, filepath.Join(dir, "all.go"), text+")\n")
	run("build", "./...")
	if n := strings.Count(text, "\t_"); n != 4 {
		t.Errorf("%d modules of the library: the search is broken", n)
	}
}

// filesAreWhole: the files of a release are there, and their sums are right, also where others name them.
func filesAreWhole(t *testing.T, r *release) {
	system := runtime.GOOS + "_" + runtime.GOARCH
	want := []string{"CHANGELOG-0.1.0.md", "Containerfile", "SHA256SUMS", "keywright.rb",
		"keywright-0.1.0-1." + rpmArch[runtime.GOARCH] + ".rpm", "keywright_0.1.0_" + runtime.GOARCH + ".deb",
		"keywright_0.1.0_" + system + ".cdx.json", "keywright_0.1.0_" + system + ".tar.gz"}
	slices.Sort(want)
	files := distOf(t, r)
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
	check := exec.Command("sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS")
	check.Dir = r.dist
	_, err := output(check)
	must(t, err)
	if n := strings.Count(string(files["SHA256SUMS"]), "\n"); n != len(want)-1 {
		t.Errorf("%d sums of %d files", n, len(want)-1)
	}
	archive := "keywright_0.1.0_" + system + ".tar.gz"
	sum, _, _ := strings.Cut(string(files["SHA256SUMS"][strings.Index(string(files["SHA256SUMS"]), archive)-66:]), " ")
	for name, want := range map[string]string{
		"Containerfile": `"` + sum + "  /" + archive + `"`,
		"keywright.rb":  "/releases/download/v0.1.0/" + archive + "\"\n      sha256 \"" + sum + "\"\n",
	} {
		if text := string(files[name]); !strings.Contains(text, want) {
			t.Errorf("%s does not have %s:\n%s", name, want, text)
		}
	}
}

// partsAreListed: a bill names what is linked, and under the program that embeds the dashboard what is built into that.
func partsAreListed(t *testing.T, r *release) {
	var b bill
	must(t, json.Unmarshal(distOf(t, r)["keywright_0.1.0_"+runtime.GOOS+"_"+runtime.GOARCH+".cdx.json"], &b))
	names, on := map[string]bool{}, map[string][]string{}
	for _, c := range b.Components {
		names[c.Ref] = true
	}
	for _, d := range b.Dependencies {
		on[d.Ref] = d.On
		for _, ref := range d.On {
			if !names[ref] {
				t.Errorf("%s depends on %s, which is no component", d.Ref, ref)
			}
		}
	}
	if !names["pkg:golang/"+root+"@v0.1.0"] || !names["pkg:golang/github.com/spf13/cobra@v1.10.2"] ||
		names["pkg:golang/github.com/google/rpmpack@v0.7.1"] {
		t.Errorf("%v", names)
	}
	page, err := readDashboard(r.tree())
	must(t, err)
	var parts []string
	for _, p := range page.parts {
		parts = append(parts, p.Ref)
	}
	if !slices.Contains(on["keywright"], "dashboard") || !slices.Equal(on["dashboard"], parts) || len(parts) < 3 {
		t.Errorf("the program depends on %q, the dashboard on %q", on["keywright"], on["dashboard"])
	}
}

// formulaFits: what the formula runs after an installation does what it says.
func formulaFits(t *testing.T, r *release) {
	_, text, _ := strings.Cut(string(distOf(t, r)["keywright.rb"]), "<<~YAML\n")
	text, _, found := strings.Cut(text, "    YAML\n")
	if !found {
		t.Fatal("the formula has no declaration")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "keyspace.yaml"), strings.ReplaceAll(text, "\n      ", "\n")[len("      "):])
	program := filepath.Join(r.work, "home", "bin", "keywright")
	match := exec.Command(program, "match")
	match.Dir, match.Stdin = dir, strings.NewReader("user:7\n")
	if out, err := output(match); err != nil || !strings.Contains(out, "account") {
		t.Errorf("%q %v", out, err)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} { // as generate_completions_from_executable does
		if out, err := output(exec.Command(program, "completion", shell)); err != nil || len(out) < 1000 {
			t.Errorf("%s: %q %v", shell, out, err)
		}
	}
	if out, err := output(exec.Command(program, "version")); err != nil ||
		!strings.HasPrefix(out, "keywright v0.1.0, commit ") {
		t.Errorf("%q %v", out, err)
	}
}
