package apply_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	kt "github.com/keywright/keywright/keywrighttest"
)

// ours returns a plan with its ID.
func ours(t *testing.T) *plan.Plan {
	t.Helper()
	p := &plan.Plan{Format: plan.Format, Verb: "rename", Entries: []plan.Part{}}
	must(t, p.Seal())
	return p
}

// What is already there under the name of an undo file or a journal is not written over,
// unless it begins as the new file would; neither is what a link leads to.
func TestNothingElseIsWrittenOver(t *testing.T) {
	t.Parallel()
	p, dir := ours(t), t.TempDir()
	path := filepath.Join(dir, "x.undo")
	write := func(text string) { must(t, os.WriteFile(path, []byte(text), 0o600)) }
	read := func(path string) string {
		text, err := os.ReadFile(path)
		must(t, err)
		return string(text)
	}
	for _, there := range []string{"a note", `{"undo":2,"plan":{"format":2`, `{"undo":2,"plan":{"format":1,`,
		strings.Repeat("x", 100_000)} {
		write(there)
		u, err := apply.OpenUndo(path, p)
		if begun := there == `{"undo":2,"plan":{"format":1,`; (err == nil) != begun ||
			!begun && (read(path) != there || !errors.Is(err, apply.ErrNoUndo)) {
			t.Errorf("%.40s: %v, and then %.40s", there, err, read(path))
		}
		must(t, u.Close())
	}
	must(t, os.Remove(path))
	for range 2 { // the second time it goes on
		u, err := apply.OpenUndo(path, p)
		must(t, errors.Join(err, u.Close()))
	}
	if u, err := apply.ReadUndo(path); err != nil || u.Plan.ID != p.ID {
		t.Error(err)
	}
	another, was := *p, read(path)
	another.ID = "another"
	u, err := apply.OpenUndo(path, &another)
	if err == nil || !strings.Contains(err.Error(), "it says what another plan has changed") || read(path) != was {
		t.Errorf("the undo of another plan: %v, and then %.80s", err, read(path))
	}
	must(t, u.Close())
	other := filepath.Join(dir, "another")
	must(t, os.WriteFile(other, nil, 0o600))
	must(t, os.Remove(path))
	must(t, os.Symlink(other, path))
	if _, err := apply.OpenUndo(path, p); err == nil || read(other) != "" {
		t.Errorf("through a link: %v, %q", err, read(other))
	}
	must(t, os.WriteFile(other, []byte("kept"), 0o600))
	beside := filepath.Join(dir, "x.journal")
	must(t, os.Symlink(other, beside+".part"))
	j, _, err := journal.Open(beside, p.ID)
	must(t, errors.Join(err, j.Close()))
	if read(other) != "kept" {
		t.Errorf("the journal was written over what a link leads to: %q", read(other))
	}
	must(t, os.Remove(beside))
	must(t, os.Symlink(other, beside))
	if _, _, err := journal.Open(beside, p.ID); err == nil || read(other) != "kept" {
		t.Errorf("through a link: %v", err)
	}
}

// Files that a hostile hand wrote are refused before they are decoded into much.
func TestFilesThatWouldBeLarge(t *testing.T) {
	t.Parallel()
	p, dir := ours(t), t.TempDir()
	many := strings.Repeat("{},", 1_000_000)
	path := filepath.Join(dir, "file")
	write := func(text string) { must(t, os.WriteFile(path, []byte(text), 0o600)) }
	write(`{"undo":2,"plan":{"format":1,"changes":[` + many + "{}]}}\n")
	if _, err := apply.ReadUndo(path); !errors.Is(err, apply.ErrNoUndo) ||
		!strings.Contains(err.Error(), "too many values") {
		t.Error(err)
	}
	must(t, os.Remove(path))
	u, err := apply.OpenUndo(path, p)
	must(t, errors.Join(err, u.Close()))
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(`{"db":0,"keys":[` + many + "{}]}\n{}\n")
	must(t, errors.Join(err, f.Close()))
	if _, err = apply.ReadUndo(path); err == nil || !strings.Contains(err.Error(), "too many values") {
		t.Error(err)
	}
	write(`{"format":1,"plan":"` + p.ID + "\"}\n{\"done\":{\"\":[" + many + "{}]}}\n")
	if _, _, err := journal.Open(path, p.ID); err == nil || !strings.Contains(err.Error(), "too many values") {
		t.Error(err)
	}
	if _, err := plan.Read(strings.NewReader(`{"format":1,"changes":[` + many + "{}]}")); err == nil ||
		!strings.Contains(err.Error(), "too many values") {
		t.Error(err)
	}
}

// TestUndoFilesAreWhole: a file of which a line was changed, or lacks one in the middle, or that another version wrote,
// is refused; one that lacks its end says so, as that of a killed run does.
func TestUndoFilesAreWhole(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis)
	clients := applytest.Open(t, s.URL())
	applytest.Do(t, clients, 0, "DEBUG", "POPULATE", "3000", "u")
	path := filepath.Join(t.TempDir(), "undo")
	u := undoFile(t, path)
	renameOf(t, "u:{id}=v:{id}").run(t, s.URL(), plan.RenameOptions{}, apply.KeysOptions{Undo: u})
	text, err := os.ReadFile(path)
	must(t, err)
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) < 6 {
		t.Fatalf("%d lines", len(lines))
	}
	end := len(lines) - 1
	without := func(from, to int) string {
		return strings.Join(slices.Concat(lines[:from], lines[to:]), "")
	}
	for _, c := range []struct {
		name, text string
		ended      bool
		fails      string
	}{
		{"whole", string(text), true, ""},
		{"without its end", without(end, end+1), false, ""},
		{"cut at a line", without(3, end+1), false, ""},
		{"cut within a line", string(text[:len(text)-len(lines[end])-5]), false, ""},
		{"without a batch", without(1, 3), false, "lines before line 2 were changed, or are missing"},
		{"of another version", strings.Replace(string(text), `"undo":2`, `"undo":1`, 1), false, "form 1"},
		{"with another key", strings.Replace(string(text), "u:1", "u:2", 1), false, "lines before line"},
	} {
		must(t, os.WriteFile(path, []byte(c.text), 0o600))
		u, err := apply.ReadUndo(path)
		if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err == nil && u.Ended != c.ended {
			t.Errorf("%s: ended %v", c.name, u.Ended)
		}
	}
}
