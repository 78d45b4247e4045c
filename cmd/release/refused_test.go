package main

import (
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/modfile"
)

// toy returns a repository with modules as ours has them, a release of which builds nothing.
func toy(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	all := map[string]string{
		"go.work":       "go 1.26.0\n\nuse (\n\t./top\n\t./middle\n\t.\n)\n\nreplace " + root + " v0.0.0 => ./\n",
		"go.mod":        "module " + root + "\n\ngo 1.26.0\n",
		"middle/go.mod": "module " + root + "/middle\n\ngo 1.26.0\n\nrequire " + root + " v0.0.0\n",
		"middle/go.sum": "",
		"top/go.mod":    "module " + root + "/top\n\ngo 1.26.0\n\nrequire " + root + " v0.0.0\n",
		"top/go.sum":    "a.example/a v1.0.0 h1:x=\nz.example/z v1.0.0 h1:x=\n",
		"outside/go.mod": "module " + root + "/outside\n\ngo 1.26.0\n\nrequire " + root + " v0.0.0\n\nreplace " +
			root + " => ../\n",
		"CHANGELOG.md":          "# Changelog\n\n## [Unreleased]\n\n### Added\n- A thing.\n",
		"internal/built/cut.go": "package built\n\nconst cutFrom = \"\"\n",
		"LICENSE":               "yes\n",
	}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		write(t, filepath.Join(dir, name), text)
	}
	repository(t, dir)
	return dir
}

// newToy returns a release of a toy that is not made yet.
func newToy(t *testing.T, repo, version string) *release {
	return &release{version: version, repo: repo, dist: filepath.Join(t.TempDir(), "dist"), work: t.TempDir(),
		offline: true, out: io.Discard}
}

// ofToy makes a release of a toy.
func ofToy(t *testing.T, repo, version string) (*release, error) {
	t.Helper()
	r := newToy(t, repo, version)
	return r, r.steps(t.Context())
}

// TestRefused: what is no clean release is refused with the reason, and leaves no tag.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name, version string
		files         map[string]string
		then          func(repo string)
		says          string
	}{
		{name: "no version", version: "", says: `"" is no version: give three numbers`},
		{name: "two numbers", version: "0.1", says: "give three numbers"},
		{name: "with a v", version: "v0.1.0", says: "give three numbers"},
		{name: "a build", version: "0.1.0+x", says: "give three numbers"},
		{name: "the version before the first", version: "0.0.0", says: "what modules name before the first release"},
		{name: "another major version", version: "2.0.0", says: "need /v2"},
		{name: "a file that was changed", version: "0.1.0",
			then: func(repo string) { write(t, filepath.Join(repo, "LICENSE"), "no\n") },
			says: "not as it was committed; commit or remove these, then run it again:\n M LICENSE"},
		{name: "a file that is new", version: "0.1.0",
			then: func(repo string) { write(t, filepath.Join(repo, "new.txt"), "") }, says: "?? new.txt"},
		{name: "nothing new", version: "0.1.0",
			files: map[string]string{
				"CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n\n## [0.0.1] - 2026-01-01\n\n### Added\n- It.\n"},
			says: "under Unreleased: it must begin with one of the headings"},
		{name: "no heading", version: "0.1.0", files: map[string]string{"CHANGELOG.md": "# Changelog\n"},
			says: `no line "## [Unreleased]"`},
		{name: "a version that was released", version: "0.1.0",
			files: map[string]string{
				"CHANGELOG.md": "# C\n\n## [Unreleased]\n\n### Added\n- A.\n\n## [0.1.0] - 2026-01-01\n\n### Added\n- It.\n"},
			says: "has a section of 0.1.0 already"},
		{name: "a tag of another commit", version: "0.1.0",
			then: func(repo string) { commit(t, repo, "tag", "middle/v0.1.0") },
			says: "there is a tag middle/v0.1.0 already, of another commit"},
		{name: "a replace", version: "0.1.0",
			files: map[string]string{
				"middle/go.mod": "module " + root + "/middle\n\nrequire " + root + " v0.0.0\n\nreplace " + root + " => ../\n"},
			says: "middle/go.mod: go install refuses a module with a replace"},
		{name: "modules that require each other", version: "0.1.0",
			files: map[string]string{"go.mod": "module " + root + "\n\nrequire " + root + "/top v0.0.0\n"},
			says:  "only 0 can be released"},
		{name: "a path of another folder", version: "0.1.0",
			files: map[string]string{"top/go.mod": "module " + root + "/other\n"},
			says:  "in this folder it must be " + root + "/top"},
	} {
		repo := toy(t, c.files)
		if c.then != nil {
			c.then(repo)
		}
		before := commit(t, repo, "tag", "--list")
		_, err := ofToy(t, repo, c.version)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, not %q", c.name, err, c.says)
		}
		if after := commit(t, repo, "tag", "--list"); after != before {
			t.Errorf("%s: it left tags: %s", c.name, after)
		}
	}
}

// TestReleasesFollowEachOther: after a release was merged the next one names its own version everywhere, and the one
// before cannot be made again from there.
func TestReleasesFollowEachOther(t *testing.T) {
	repo := toy(t, nil)
	first, err := ofToy(t, repo, "0.1.0")
	must(t, err)
	if got := first.modules[0].dir + " " + first.modules[1].dir + " " + first.modules[2].dir; got != ". top middle" {
		t.Errorf("the order is %s", got)
	}
	if got := commit(t, repo, "show",
		"v0.1.0:top/go.sum"); !strings.HasPrefix(got,
		"a.example/a v1.0.0 h1:x=\n"+root+" v0.1.0 "+first.modules[0].sum+"\n"+root+" v0.1.0/go.mod h1:") ||
		!strings.HasSuffix(got, "\nz.example/z v1.0.0 h1:x=") {
		t.Error(got)
	}
	if got := commit(t, repo, "show", "v0.1.0:outside/go.mod"); !strings.Contains(got, "require "+root+" v0.1.0\n") ||
		!strings.Contains(got, "=> ../") {
		t.Error(got)
	}
	if got := commit(t, repo, "show", "v0.1.0:go.work"); !strings.Contains(got, "replace "+root+" v0.1.0 => ./") ||
		strings.Contains(got, "v0.0.0") {
		t.Error(got)
	}
	commit(t, repo, "merge", "--quiet", "--ff-only", "v0.1.0")
	again, err := ofToy(t, repo, "0.1.0")
	if err != nil || again.commit != first.commit {
		t.Errorf("at the tag it makes %s: %v", again.commit, err)
	}
	if _, err := ofToy(t, repo, "0.1.1"); err == nil ||
		!strings.Contains(err.Error(), "HEAD says that it is a release of") {
		t.Errorf("a release commit is released as another version: %v", err)
	}
	write(t, filepath.Join(repo, "CHANGELOG.md"), strings.Replace(read(t, filepath.Join(repo, "CHANGELOG.md")),
		"## [Unreleased]\n", "## [Unreleased]\n\n### Fixed\n- It.\n", 1))
	commit(t, repo, "commit", "--quiet", "--all", "--message=fix")
	second, err := ofToy(t, repo, "0.1.1")
	must(t, err)
	if got := commit(t, repo, "show", "v0.1.1:top/go.sum"); strings.Contains(got, "v0.1.0 ") ||
		!strings.Contains(got, " v0.1.1 ") {
		t.Error(got)
	}
	if got := commit(t, repo, "show", "v0.1.1:"+cutPath); !strings.Contains(got, second.base) ||
		second.base == first.base {
		t.Error(got)
	}
	if second.notes != "### Fixed\n- It.\n" {
		t.Errorf("%q", second.notes)
	}
	if _, err := ofToy(t, repo, "0.1.0"); err == nil {
		t.Error("the release before is made again")
	}
}

// TestChangelogCanBeCut: what is under Unreleased in this tree can be a section.
func TestChangelogCanBeCut(t *testing.T) {
	text, err := cutChangelog(read(t, "../../CHANGELOG.md"), "99.0.0", time.Unix(0, 0))
	if err != nil && !strings.Contains(err.Error(), "it must begin with") { // nothing new yet, right after a release
		t.Fatal(err)
	}
	if err == nil && !strings.Contains(text, "\n## [99.0.0] - 1970-01-01\n") {
		t.Error("it has no section")
	}
}

// TestCheckSection: a section has each heading of Keep a Changelog once at most, and no other.
func TestCheckSection(t *testing.T) {
	for text, says := range map[string]string{
		"\n### Added\n- A.\n\n### Fixed\n- B.\n": "",
		"\n### New\n- A.\n":                      `the heading "New" is not one of`,
		"\n### Added\n- A.\n\n### Added\n- B.\n": `two headings "Added"`,
		"\n### Added\n\n### Fixed\n- B.\n":       `nothing is said under "Added"`,
		"\n- A.\n\n### Fixed\n- B.\n":            "it must begin with",
		"\n":                                     "it must begin with",
	} {
		err := checkSection(text)
		if said := ""; err != nil {
			said = err.Error()
			if says == "" || !strings.Contains(said, says) {
				t.Errorf("%q: %s, not %q", text, said, says)
			}
		} else if says != "" {
			t.Errorf("%q passes", text)
		}
	}
}

// TestUsersGetWhatIsTested: what the modules are tested with, which is one version for the whole workspace, is what
// each go.mod names, and so what users build with.
func TestUsersGetWhatIsTested(t *testing.T) {
	modules, err := published("../..")
	must(t, err)
	list := exec.Command("go", "list", "-m", "-f", "{{.Path}} {{.Version}}", "all")
	list.Dir, list.Env = "../..", append(cleanEnvironment(), "GOWORK=")
	text, err := output(list)
	must(t, err)
	tested := map[string]string{}
	for line := range strings.Lines(text) {
		path, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		tested[path] = version
	}
	seen := 0
	for _, m := range modules {
		name := filepath.Join("../..", m.dir, "go.mod")
		f, err := modfile.Parse(name, []byte(read(t, name)), nil)
		must(t, err)
		for _, r := range f.Require {
			if seen++; !ours(r.Mod.Path) && tested[r.Mod.Path] != r.Mod.Version {
				t.Errorf("%s: users get %s %s, tests have %s: run go get %[2]s@%[4]s there", name, r.Mod.Path, r.Mod.Version,
					tested[r.Mod.Path])
			}
		}
	}
	if seen < 30 {
		t.Errorf("%d requirements: the search is broken", seen)
	}
}

// TestAnotherRepositoryIsLeftAlone: the variables that git sets for a hook name its repository. A release that a hook
// makes, or a person with these variables, changes the one that it was asked for.
func TestAnotherRepositoryIsLeftAlone(t *testing.T) {
	repo, other := toy(t, nil), toy(t, nil)
	before := commit(t, other, "symbolic-ref", "HEAD")
	t.Setenv("GIT_DIR", filepath.Join(other, ".git"))
	_, err := ofToy(t, repo, "0.1.0")
	must(t, err)
	if after := commit(t, other, "symbolic-ref", "HEAD"); after != before {
		t.Errorf("HEAD of the other repository is %s, and was %s", after, before)
	}
	if tags := commit(t, repo, "tag", "--list"); !strings.Contains(tags, "v0.1.0") {
		t.Errorf("tags: %q", tags)
	}
}

// TestFilesOfAnotherRun: a release is whole beside what others write: no file that it has not made itself is in it.
func TestFilesOfAnotherRun(t *testing.T) {
	repo := toy(t, nil)
	r := newToy(t, repo, "0.1.0")
	write(t, filepath.Join(r.dist, "of-another-run.deb"), "x")
	must(t, r.steps(t.Context()))
	if sums := read(t, filepath.Join(r.dist, sumsFile)); strings.Contains(sums, "of-another-run") || sums == "" {
		t.Errorf("%s", sums)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(r.dist), "*"))
	must(t, err)
	if len(left) != 1 || left[0] != r.dist {
		t.Errorf("%v is left", left)
	}
}
