// Package pages keeps the project's documents true: it reads the fenced blocks of
// Markdown pages and the marks before them, and fills in those that show code.
//
// A mark is a comment on the line before a block:
//
//	<!-- example: examples/pages/lock_test.go#lock -->   the block is that region of a compiled file
//	<!-- run: setup.txt -->                              a console block; cmd/keywright runs it after that set-up
//	<!-- not run: why -->                                a console block that no test can run, with the reason
//	<!-- options: lock.Options -->                       a list of the fields of that struct, from their comments
//	<!-- table: layers -->                               a table that is made from the laws of internal/arch
//
// A region is what is between //doc:begin NAME and //doc:end, in Python with # in the
// place of //. A line in it that calls check is the test's own, and is left out: an example ends there with its first
// error. It knows no command and no server: the tests that run what a page
// shows are beside the programs.
package pages

import (
	"fmt"
	"go/format"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:generate go run ./write

// Page represents a document: its path from the root of the project, and its blocks.
type Page struct {
	Path   string
	Text   string
	Blocks []Block
}

// Block represents a fenced block of a page.
type Block struct {
	Line  int    // of its first fence, from 1
	Lang  string // after the fence, "" for none
	Mark  string // example, run, not run; "" for none
	About string // what the mark says
	Text  string // without the fences, with its last line break
}

// skipped are folders whose Markdown is no document of the project: test data,
// what generators write, and what package managers bring.
var skipped = []string{".git", ".bin", ".cache", "node_modules", "testdata"}

// Read gives the documents below root.
func Read(root fs.FS) ([]Page, error) {
	var out []Page
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		for _, s := range skipped {
			if d.IsDir() && d.Name() == s {
				return fs.SkipDir
			}
		}
		if generated, _ := path.Match("examples/*/docs/*", name); generated || d.IsDir() || path.Ext(name) != ".md" {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		blocks, err := Blocks(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, Page{Path: name, Text: string(text), Blocks: blocks})
		return nil
	})
	return out, err
}

// Blocks gives the fenced blocks of a text.
func Blocks(text string) ([]Block, error) {
	var out []Block
	var open *Block
	before := ""
	for i, line := range strings.SplitAfter(text, "\n") {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence && open == nil:
			open = &Block{Line: i + 1, Lang: strings.Trim(strings.TrimSpace(line), "` ")}
			open.Mark, open.About = mark(before)
		case fence:
			out, open = append(out, *open), nil
		case open != nil:
			open.Text += line
		}
		before = line
	}
	if open != nil {
		return nil, fmt.Errorf("the block of line %d has no end", open.Line)
	}
	return out, nil
}

// mark reads the comment on the line before a block.
func mark(line string) (kind, about string) {
	inner, ok := strings.CutPrefix(strings.TrimSpace(line), "<!-- ")
	inner, end := strings.CutSuffix(inner, " -->")
	kind, about, colon := strings.Cut(inner, ": ")
	if !ok || !end || !colon {
		return "", ""
	}
	return kind, about
}

// Region gives a region of a file, without the indentation that all of its lines have.
func Region(text, name string) (string, error) {
	var lines []string
	inside, found := false, false
	for line := range strings.Lines(text) {
		words := strings.Fields(strings.TrimLeft(line, "\t /#"))
		switch {
		case len(words) == 2 && words[0] == "doc:begin" && words[1] == name:
			if found {
				return "", fmt.Errorf("the region %s is there twice", name)
			}
			inside, found = true, true
		case len(words) == 1 && words[0] == "doc:end":
			inside = false
		case strings.HasPrefix(strings.TrimSpace(line), "check("):
		case inside:
			lines = append(lines, line)
		}
	}
	if !found || inside {
		return "", fmt.Errorf("there is no region %s with an end", name)
	}
	// Comments on both sides of what was left out are laid out as gofmt has them.
	if code, err := format.Source([]byte(strings.Join(lines, ""))); err == nil {
		lines = slices.Collect(strings.Lines(string(code)))
	}
	return strings.Trim(dedent(lines), "\n") + "\n", nil
}

func dedent(lines []string) string {
	indent, seen := "", false
	for _, l := range lines {
		blank := l[:len(l)-len(strings.TrimLeft(l, "\t "))]
		if strings.TrimSpace(l) != "" && (!seen || len(blank) < len(indent)) {
			indent, seen = blank, true
		}
	}
	var out strings.Builder
	for _, l := range lines {
		out.WriteString(strings.ReplaceAll(strings.TrimPrefix(l, indent), "\t", "    "))
	}
	return out.String()
}

// Fill gives the page with the regions and options that its marks name.
func Fill(root fs.FS, p Page) (string, error) {
	lines := strings.SplitAfter(p.Text, "\n")
	var out strings.Builder
	next := 0
	for _, b := range p.Blocks {
		if b.Mark != "example" {
			continue
		}
		file, name, _ := strings.Cut(b.About, "#")
		text, err := fs.ReadFile(root, file)
		if err != nil {
			return "", fmt.Errorf("%s:%d: %w", p.Path, b.Line, err)
		}
		region, err := Region(string(text), name)
		if err != nil {
			return "", fmt.Errorf("%s:%d: %s: %w", p.Path, b.Line, file, err)
		}
		out.WriteString(strings.Join(lines[next:b.Line], "") + region)
		next = b.Line + strings.Count(b.Text, "\n")
	}
	out.WriteString(strings.Join(lines[next:], ""))
	text, err := FillOptions(root, out.String())
	if err == nil {
		text, err = fillTables(root, text)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.Path, err)
	}
	return text, nil
}
