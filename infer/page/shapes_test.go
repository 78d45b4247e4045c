package page_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/infer"
	"github.com/keywright/keywright/infer/page"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/lint"
	"github.com/keywright/keywright/keyspace/load"
)

// What the reader must reach on the shapes: shares of what a person wrote down.
const (
	shapePatterns = 0.95
	shapeInvented = 0.01
	shapeTTLs     = 0.85
)

// TestShapes reads pages as people write them, one shape a page: in eighteen languages, as tables, lists,
// labels, sentences, programs and transcripts. Most patterns and TTLs are read, hardly any is
// made up, none is wrong, what is missed is listed, and each draft passes lint.
func TestShapes(t *testing.T) {
	readsPages(t, "testdata/shapes/*.md", 30)
}

// readsPages holds the pages of a glob, so many at least, to the goals of the shapes.
func readsPages(t *testing.T, glob string, least int) {
	pages, err := filepath.Glob(glob)
	if err != nil || len(pages) < least {
		t.Fatal(len(pages), err)
	}
	var all score
	for _, path := range pages {
		all.add(readPage(t, path))
		passesLint(t, path)
		listsMisses(t, path)
	}
	t.Log(all)
	if !all.full() {
		t.Error(all)
	}
}

// full reports whether a score reaches the goals of the shapes.
func (s score) full() bool {
	return float64(s.found) >= shapePatterns*float64(s.patterns) &&
		float64(s.invented) <= shapeInvented*float64(s.patterns) &&
		float64(s.rightTTLs) >= shapeTTLs*float64(s.ttls) && s.wrongTTLs == 0
}

// TestDraftsPassLint drafts the older pages, too.
func TestDraftsPassLint(t *testing.T) {
	for _, glob := range []string{"testdata/*.md", "testdata/wiki/*.md"} {
		pages, err := filepath.Glob(glob)
		if err != nil || len(pages) == 0 {
			t.Fatal(glob, err)
		}
		for _, path := range pages {
			passesLint(t, path)
		}
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// passesLint drafts what a page documents and runs lint on it.
func passesLint(t *testing.T, path string) {
	t.Helper()
	draft := infer.FromPage(readFile(t, path), infer.Options{})
	if len(draft.Entries) == 0 {
		return
	}
	ks, problems := load.File(fstest.MapFS{"keyspace.yaml": {Data: draft.YAML()}}, "keyspace.yaml")
	if finding.Count(problems).Errors > 0 {
		t.Errorf("%s: the draft does not load: %v", path, problems)
		return
	}
	for _, f := range append(problems, lint.Run(ks)...) {
		t.Errorf("%s: %s %s: %s", filepath.Base(path), f.Code, f.Entry, f.Message)
	}
	if len(draft.Left) > 0 {
		t.Errorf("%s: left out: %v", filepath.Base(path), draft.Left)
	}
}

// listsMisses holds that a pattern that a page has and the reader does not take is listed.
func listsMisses(t *testing.T, path string) {
	t.Helper()
	read := page.Read(readFile(t, path))
	got, passed := map[string]bool{}, ""
	for _, k := range read.Keys {
		got[blank(k.Pattern)] = true
	}
	for _, p := range read.Passed {
		if p.Line == 0 || p.Why == "" {
			t.Errorf("%s: %+v", filepath.Base(path), p)
		}
		passed += p.Text + "\n"
	}
	want := string(readFile(t, strings.TrimSuffix(path, ".md")+".want"))
	for _, line := range strings.Split(strings.TrimSpace(want), "\n") {
		pattern, _, _ := strings.Cut(line, " | ")
		head, _, _ := strings.Cut(strings.TrimLeft(blank(pattern), "{}:"), "{")
		if !got[blank(pattern)] && !strings.Contains(passed, head) {
			t.Errorf("%s: %s is missed and not listed", filepath.Base(path), pattern)
		}
	}
}
