package pages

import (
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var root = os.DirFS("../..")

func read(t *testing.T) []Page {
	t.Helper()
	all, err := Read(root)
	if err != nil || len(all) < 20 {
		t.Fatalf("%d pages, %v", len(all), err)
	}
	return all
}

// TestCodeIsCompiled: a block of code is a region of a file that is compiled and
// tested. go generate ./internal/pages writes it into the page.
func TestCodeIsCompiled(t *testing.T) {
	code, seen := []string{"go", "ts", "python"}, 0
	for _, p := range read(t) {
		for _, b := range p.Blocks {
			if !slices.Contains(code, b.Lang) {
				continue
			}
			seen++
			file, _, _ := strings.Cut(b.About, "#")
			compiled := path.Ext(file) == "."+b.Lang || b.Lang == "python" && path.Ext(file) == ".py"
			if b.Mark != "example" || !compiled {
				t.Errorf("%s:%d: a block of %s has no mark that names a compiled file", p.Path, b.Line, b.Lang)
			}
		}
		text, err := Fill(root, p)
		if err != nil {
			t.Error(err)
		} else if diff := cmp.Diff(p.Text, text); diff != "" {
			t.Errorf("%s is stale: go generate ./internal/pages\n%s", p.Path, diff)
		}
	}
	if seen < 15 {
		t.Errorf("only %d blocks of code were found: the search is broken", seen)
	}
}

// TestMarks: a mark says what it may, and a console block has one.
func TestMarks(t *testing.T) {
	for _, p := range read(t) {
		for _, b := range p.Blocks {
			if strings.Contains(p.Text, "go generate") && strings.Contains(p.Text, "Do not edit") {
				continue // its commands are parsed, beside the generator
			}
			shell := slices.Contains([]string{"sh", "bash", "shell", "console"}, b.Lang)
			switch {
			case b.Lang == "":
				t.Errorf("%s:%d: a block says what it is: go, console, yaml, text …", p.Path, b.Line)
			case b.Mark != "" && !slices.Contains([]string{"example", "run", "not run"}, b.Mark):
				t.Errorf("%s:%d: there is no mark %q", p.Path, b.Line, b.Mark)
			case b.Lang == "console" && b.Mark != "run" && b.Mark != "not run":
				t.Errorf("%s:%d: a console block is run, or says why not", p.Path, b.Line)
			case shell && b.Lang != "console":
				t.Errorf("%s:%d: commands are in a console block, with $ before them", p.Path, b.Line)
			}
		}
	}
}

func TestRegion(t *testing.T) {
	text := "x\n\t//doc:begin a\n\tif x {\n\n\t\ty\n\t}\n\tcheck(err)\n\t//doc:end\n\t# doc:begin b\n\tz\n\t# " +
		"doc:end\n//doc:begin open\n"
	for _, c := range []struct{ name, want, fault string }{
		{"a", "if x {\n\n    y\n}\n", ""},
		{"b", "z\n", ""},
		{"c", "", "there is no region c with an end"},
		{"open", "", "there is no region open with an end"},
	} {
		got, err := Region(text, c.name)
		if got != c.want || err != nil && err.Error() != c.fault || err == nil && c.fault != "" {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
	if _, err := Region("//doc:begin a\n//doc:end\n//doc:begin a\n//doc:end\n", "a"); err == nil {
		t.Error("a region that is there twice is taken")
	}
}

func TestBlocks(t *testing.T) {
	text := "a\n<!-- run: x -->\n```console\n$ b\n```\n\n```\nc\n```\n"
	got, err := Blocks(text)
	want := []Block{{Line: 3, Lang: "console", Mark: "run", About: "x", Text: "$ b\n"}, {Line: 7, Text: "c\n"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, err := Blocks("```go\n"); err == nil {
		t.Error("a block without an end is taken")
	}
}
