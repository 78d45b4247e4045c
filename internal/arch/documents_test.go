package arch

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestEveryPackageHasALayer: the layers, and the modules of their own, have each package of the project and no
// other. The tables of CONTRIBUTING.md and ARCHITECTURE.md are written from them: see internal/pages.
func TestEveryPackageHasALayer(t *testing.T) {
	row, _ := Rank()
	there := map[string]bool{}
	for _, f := range load(t) {
		there[f.Dir] = there[f.Dir] || !f.Test
		if _, known := row[f.Dir]; !known && !f.Test && !Within(f.Dir, Modules...) && !Within(f.Dir, "cmd") {
			t.Errorf("%s is in no layer", f.Dir)
		}
	}
	for dir := range row {
		if !there[dir] {
			t.Errorf("the layers have %s, which is not there", dir)
		}
	}
	for _, dir := range Modules {
		if _, err := os.Stat("../../" + dir + "/go.mod"); err != nil {
			t.Errorf("%s is no module: %v", dir, err)
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
	cli, contributing := read("docs/cli.md"), read("docs/CONTRIBUTING.md")
	name := regexp.MustCompile(`(?i)env\("(KEYWRIGHT_\w+)"\)`)
	set, seen := "", 0
	for _, f := range load(t) {
		if f.Test {
			set += strings.Join(regexp.MustCompile(`"KEYWRIGHT_\w+=`).FindAllString(f.Text, -1), "\n") + "\n"
		}
	}
	for _, f := range load(t) {
		for _, m := range name.FindAllStringSubmatch(f.Text, -1) {
			seen++
			ofTest := f.Test || Within(f.Dir, "internal/mutation", "internal/harm", "internal/gate", "keywrighttest",
				"examples/internal")
			documented := strings.Contains(cli, "`"+m[1]+"`")
			ofTests := strings.Contains(contributing, "`"+m[1]) || strings.Contains(set, `"`+m[1]+"=")
			switch {
			case !ofTest && !documented:
				t.Errorf("%s reads %s, which is not in docs/cli.md", f.Path, m[1])
			case ofTest && !ofTests && !documented:
				t.Errorf("%s reads %s, which is not in CONTRIBUTING.md", f.Path, m[1])
			case ofTest && ofTests && documented:
				t.Errorf("%s means something to a test and something else to the program", m[1])
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d were found: the search is broken", seen)
	}
}
