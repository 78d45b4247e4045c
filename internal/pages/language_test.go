package pages

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// unclear are words that a reader of English as a second language stumbles over, or
// that make a person of a process.
var unclear = regexp.MustCompile(`(?i)\b(behind|stands|nobody|anew|whoever)\b`)

// generatedPages are written from the texts of the program, which have them still: not
// more than these.
var generatedPages = map[string]int{"docs/cli.md": 15, "docs/rules.md": 25}

// TestPlainEnglish: a page has no unclear word, and no line that is too wide; a row of a
// table cannot be broken.
func TestPlainEnglish(t *testing.T) {
	for _, p := range read(t) {
		if p.Path == "CHANGELOG.md" { // what was
			continue
		}
		found := unclear.FindAllString(strings.ReplaceAll(p.Text, "`Behind(", ""), -1)
		if most := generatedPages[p.Path]; len(found) > most {
			t.Errorf("%s has %d unclear words (%d at most): %s", p.Path, len(found), most, strings.Join(found, ", "))
		}
		number := 0
		for line := range strings.Lines(p.Text) {
			number++
			row := strings.HasPrefix(strings.TrimSpace(line), "|")
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > Width && !row && generatedPages[p.Path] == 0 {
				t.Errorf("%s:%d has %d columns, %d at most", p.Path, number, n, Width)
			}
		}
	}
}

// TestPlainComments is a ratchet: the unclear words in comments of Go files, tests left
// out. When there are fewer, put the number down.
func TestPlainComments(t *testing.T) {
	const most = 425
	comment := regexp.MustCompile(`(?m)(?:^|\s)//.*$`)
	found := 0
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == ".cache" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		for _, c := range comment.FindAllString(string(text), -1) {
			found += len(unclear.FindAllString(c, -1))
		}
		return err
	})
	if err != nil || found > most {
		t.Errorf("%d unclear words in comments, %d at most (%v)", found, most, err)
	}
	t.Logf("%d unclear words in comments", found)
}
