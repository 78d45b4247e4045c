package pages

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
	"go.yaml.in/yaml/v4"
)

// around says what a page's pieces of a declaration leave out.
var around = map[string]string{
	"docs/encryption.md": "vars: {userId: int}\n",
	"docs/pressure.md": "keys:\n  item: {key: \"item:{id}\", type: entity, ttl: 1h, fields: {priority: int 1..9, at: " +
		"unix_ms}, index: {priority+at: \"items:{priority}\"}}\n",
}

// TestDeclarationsLoad: the YAML of a page is a declaration, or a piece of one, that loads
// and has no fault. Those of docs/language.md are tested with the language.
func TestDeclarationsLoad(t *testing.T) {
	seen := 0
	for _, p := range read(t) {
		for _, b := range p.Blocks {
			text := b.Text
			switch first, _, _ := strings.Cut(text, "\n"); {
			case b.Lang != "yaml" || p.Path == "docs/language.md":
				continue
			case strings.HasPrefix(first, "# keywright:ignore"): // a comment alone
				continue
			case first == "steps:":
				workflow(t, p.Path, text)
				continue
			case first == "repos:":
				hooks(t, p.Path, text)
				continue
			case strings.HasPrefix(first, "apiVersion:"):
				manifest(t, p.Path, text)
				continue
			case first != "keywright: 1":
				text = "keywright: 1\n" + around[p.Path] + text
			}
			seen++
			_, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte(text)}}, "k.yaml")
			if finding.Count(found).Errors > 0 {
				t.Errorf("%s:%d: %s: %s\n%s", p.Path, b.Line, found[0].Code, found[0].Message, text)
			}
		}
	}
	if seen < 4 {
		t.Errorf("only %d declarations were found: the search is broken", seen)
	}
}

// manifest holds an object of Kubernetes against what each has.
func manifest(t *testing.T, page, text string) {
	t.Helper()
	var m struct {
		APIVersion     string `yaml:"apiVersion"`
		Kind           string
		Metadata, Spec map[string]any
	}
	if err := yaml.Load([]byte(text), &m, yaml.WithKnownFields()); err != nil || m.Kind == "" ||
		m.Metadata["name"] == nil || len(m.Spec) == 0 {
		t.Errorf("%s: %v: %+v", page, err, m)
	}
}

// workflow holds a part of a CI workflow against what such a file has.
func workflow(t *testing.T, page, text string) {
	t.Helper()
	var w struct {
		Steps []struct {
			Uses, Run, Name, If string
			With, Env           map[string]any
		}
	}
	if err := yaml.Load([]byte(text), &w, yaml.WithKnownFields()); err != nil {
		t.Errorf("%s: %v", page, err)
	}
	runs := 0
	for _, s := range w.Steps {
		if (s.Uses == "") == (s.Run == "") {
			t.Errorf("%s: a step uses an action or runs a command: %+v", page, s)
		}
		if strings.HasPrefix(s.Run, "keywright ") {
			runs++
		}
		if strings.HasPrefix(s.Uses, "keywright/keywright@v") {
			runs++
			for name := range s.With {
				if !slices.Contains(inputs(t), name) {
					t.Errorf("%s: the action has no input %s", page, name)
				}
			}
		}
	}
	if runs == 0 {
		t.Errorf("%s: the workflow runs nothing", page)
	}
}

// inputs returns what the action of this repository takes.
func inputs(t *testing.T) []string {
	t.Helper()
	var a struct{ Inputs map[string]any }
	text, err := fs.ReadFile(root, "action.yml")
	if err != nil || yaml.Load(text, &a) != nil || len(a.Inputs) < 5 {
		t.Fatalf("action.yml: %v", err)
	}
	return slices.Collect(maps.Keys(a.Inputs))
}

// TestInputsAreDocumented: docs/ci.md has a row for each input of the action.
func TestInputsAreDocumented(t *testing.T) {
	page, err := fs.ReadFile(root, "docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range inputs(t) {
		if !strings.Contains(string(page), "\n| `"+name+"` |") {
			t.Errorf("docs/ci.md has no row for %s", name)
		}
	}
}

// hooks holds a configuration of pre-commit against the hooks that there are.
func hooks(t *testing.T, page, text string) {
	t.Helper()
	var used struct {
		Repos []struct {
			Repo, Rev string
			Hooks     []struct{ ID string }
		}
	}
	there, err := fs.ReadFile(root, ".pre-commit-hooks.yaml")
	if err != nil || yaml.Load([]byte(text), &used, yaml.WithKnownFields()) != nil || len(used.Repos) != 1 ||
		len(used.Repos[0].Hooks) == 0 {
		t.Fatalf("%s: %v: %+v", page, err, used)
	}
	for _, h := range used.Repos[0].Hooks {
		if !strings.Contains(string(there), "- id: "+h.ID+"\n") {
			t.Errorf("%s: there is no hook %s", page, h.ID)
		}
	}
}

// TestReasonsNameTests: a block that is not run because a test does the same names one.
func TestReasonsNameTests(t *testing.T) {
	tests := testNames(t)
	for _, p := range read(t) {
		for _, b := range p.Blocks {
			if b.Mark != "not run" {
				continue
			}
			for _, word := range strings.Fields(b.About) {
				word = strings.Trim(word, ".,;:")
				switch {
				case strings.HasPrefix(word, "Test") && !strings.Contains(tests, word+"\n"):
					t.Errorf("%s:%d: there is no %s", p.Path, b.Line, word)
				case strings.Contains(word, "/") && !exists(word):
					t.Errorf("%s:%d: there is no %s", p.Path, b.Line, word)
				}
			}
		}
	}
}
