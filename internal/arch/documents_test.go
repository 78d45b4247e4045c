package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestContributingNamesEveryPackage: the table of layers in CONTRIBUTING.md has each
// package of the library, and no other.
func TestContributingNamesEveryPackage(t *testing.T) {
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n## Layers\n")
	table, _, _ = strings.Cut(table, "\n## ")
	named := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\|[^|]*\|([^|]*)\|`).FindAllStringSubmatch(table, -1) {
		for _, m := range regexp.MustCompile("`([\\w/]+)`").FindAllStringSubmatch(row[1], -1) {
			named[m[1]] = true
		}
	}
	there := map[string]bool{"keywright": true}
	for _, f := range load(t) {
		dir := f.dir
		for _, own := range ownModules {
			if within(dir, own) && dir != "fallback/bbolt" {
				dir = own
			}
		}
		if dir == "cmd" { // a module for each program
			dir = strings.Join(strings.SplitN(filepath.ToSlash(f.dir), "/", 3)[:2], "/")
		}
		if dir != "." && !f.test && !strings.Contains(dir, "testdata") {
			there[filepath.ToSlash(dir)] = true
		}
	}
	for dir := range there {
		if !named[dir] {
			t.Errorf("CONTRIBUTING.md does not say where %s belongs", dir)
		}
	}
	for dir := range named {
		if !there[dir] {
			t.Errorf("CONTRIBUTING.md names %s, which is not there", dir)
		}
	}
}

// TestEveryVariableIsDocumented: a variable that the program reads is in docs/cli.md, one
// that a test reads is in CONTRIBUTING.md or set by a test for a process of its own.
func TestEveryVariableIsDocumented(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	cli, contributing := read("docs/cli.md"), read("CONTRIBUTING.md")
	name := regexp.MustCompile(`(?i)env\("(KEYWRIGHT_\w+)"\)`)
	set, seen := "", 0
	for _, f := range load(t) {
		if f.test {
			set += strings.Join(regexp.MustCompile(`"KEYWRIGHT_\w+=`).FindAllString(f.text, -1), "\n") + "\n"
		}
	}
	for _, f := range load(t) {
		for _, m := range name.FindAllStringSubmatch(f.text, -1) {
			seen++
			ofTest := f.test || within(f.dir, "internal/mutation", "internal/harm", "internal/soak", "keywrighttest")
			documented := strings.Contains(cli, "`"+m[1]+"`")
			ofTests := strings.Contains(contributing, "`"+m[1]) || strings.Contains(set, `"`+m[1]+"=")
			switch {
			case !ofTest && !documented:
				t.Errorf("%s reads %s, which is not in docs/cli.md", f.path, m[1])
			case ofTest && !ofTests && !documented:
				t.Errorf("%s reads %s, which is not in CONTRIBUTING.md", f.path, m[1])
			case ofTest && ofTests && documented:
				t.Errorf("%s means something to a test and something else to the program", m[1])
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d were found: the search is broken", seen)
	}
}
