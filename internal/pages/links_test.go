package pages

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// TestLinks: what a page links to is there, the heading too.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	texts, seen := map[string]string{}, 0
	all := read(t)
	for _, p := range all {
		texts[p.Path] = p.Text
	}
	for _, p := range all {
		for _, m := range link.FindAllStringSubmatch(prose(p), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			seen++
			file, anchor, _ := strings.Cut(m[1], "#")
			target := p.Path
			if file != "" {
				target = path.Join(path.Dir(p.Path), file)
			}
			if _, err := fs.Stat(root, target); err != nil {
				t.Errorf("%s links to %s, which is not there", p.Path, m[1])
			} else if anchor != "" && !anchors(texts[target])[anchor] {
				t.Errorf("%s links to %s, and %s has no such heading", p.Path, m[1], target)
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d links were found: the search is broken", seen)
	}
}

// prose returns a page without its blocks.
func prose(p Page) string {
	text := p.Text
	for _, b := range p.Blocks {
		text = strings.Replace(text, b.Text, "", 1)
	}
	return text
}

// anchors returns the headings of a page as GitHub names them.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(text) {
		if heading := strings.TrimLeft(line, "#"); heading != line && strings.HasPrefix(heading, " ") {
			out[strings.Map(func(r rune) rune {
				switch {
				case r == ' ':
					return '-'
				case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
					return unicode.ToLower(r)
				}
				return -1
			}, strings.TrimSpace(heading))] = true
		}
	}
	return out
}

// TestEveryPageIsInTheIndex: docs/index.md links to each page of docs.
func TestEveryPageIsInTheIndex(t *testing.T) {
	index, err := fs.ReadFile(root, "docs/index.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range read(t) {
		name, ok := strings.CutPrefix(p.Path, "docs/")
		if ok && name != "index.md" && !strings.Contains(string(index), "("+name) {
			t.Errorf("docs/index.md does not name %s", name)
		}
	}
}
