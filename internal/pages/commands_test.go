package pages

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// TestCommandsExist: a test, a program or a target that a page names is there.
func TestCommandsExist(t *testing.T) {
	makefile, err := fs.ReadFile(root, "Makefile")
	if err != nil {
		t.Fatal(err)
	}
	tests := testNames(t)
	seen := 0
	for _, p := range read(t) {
		if p.Path == "CHANGELOG.md" { // what was
			continue
		}
		for _, m := range regexp.MustCompile("go test ([^`\n]*)-run '?([\\w|]+)[^`\n]*").FindAllStringSubmatch(p.Text, -1) {
			for _, part := range strings.Split(m[2], "|") {
				seen++
				if part != "NONE" && part != "xxx" && !strings.Contains(tests, part) {
					t.Errorf("%s: %s: no test is named so", p.Path, m[0])
				}
			}
		}
		for _, m := range regexp.MustCompile(`go run \./(cmd/\w+|\w+/\w+)`).FindAllStringSubmatch(p.Text, -1) {
			seen++
			if !exists(m[1]) && !exists("bench/"+m[1]) && !exists("examples/"+m[1]) {
				t.Errorf("%s: there is no %s", p.Path, m[0])
			}
		}
		for _, m := range regexp.MustCompile("(?:`|\\$ )make (\\w[\\w-]*)").FindAllStringSubmatch(p.Text, -1) {
			seen++
			if !strings.Contains(string(makefile), "\n"+m[1]+":") {
				t.Errorf("%s: the Makefile has no target %s", p.Path, m[1])
			}
		}
	}
	if seen < 40 {
		t.Errorf("only %d commands were found: the search is broken", seen)
	}
}

func exists(name string) bool {
	_, err := fs.Stat(root, name)
	return err == nil
}

// testNames returns the names of all tests and benchmarks, one a line.
func testNames(t *testing.T) string {
	var names strings.Builder
	name := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w*)\(`)
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git") {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, "_test.go") {
			text, err := fs.ReadFile(root, path)
			if err != nil {
				return err
			}
			for _, m := range name.FindAllStringSubmatch(string(text), -1) {
				names.WriteString(m[1] + "\n")
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names.String()
}
