package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
)

// TestEveryFamilyHasAHeading: the first digit of each code is a family with a name.
func TestEveryFamilyHasAHeading(t *testing.T) {
	for _, r := range cli.AllRules() {
		if families[r.Code[2]] == "" {
			t.Errorf("%s has no family", r.Code)
		}
	}
	if strings.Contains(rulePage(), "\n## \n") {
		t.Error("a heading is empty")
	}
}

// TestCodesAreForEver: codes.golden grows by new lines. A line that changes
// gives an old code a new meaning, and every ignore comment and baseline with
// it.
func TestCodesAreForEver(t *testing.T) {
	text, err := os.ReadFile("testdata/codes.golden")
	if err != nil {
		t.Fatal(err)
	}
	now := map[string]string{}
	names := map[string]bool{}
	for _, r := range cli.AllRules() {
		if now[r.Code] != "" || names[r.Name] {
			t.Errorf("%s %s is there twice", r.Code, r.Name)
		}
		now[r.Code], names[r.Name] = r.Name, true
		if !regexp.MustCompile(`^KW\d{3}$`).MatchString(r.Code) ||
			!regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`).MatchString(r.Name) {
			t.Errorf("%s %s: a code is KW and three digits, a name kebab-case", r.Code, r.Name)
		}
		for what, s := range map[string]string{"summary": r.Summary, "explanation": r.Explain, "fix": r.Fix} {
			if s == "" || what != "explanation" && strings.HasSuffix(s, ".") {
				t.Errorf("%s: its %s is empty or ends with a period: %q", r.Code, what, s)
			}
		}
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range lines {
		code, name, _ := strings.Cut(line, " ")
		if now[code] != name {
			t.Errorf("%s was %q and is now %q", code, name, now[code])
		}
		delete(now, code)
	}
	for code, name := range now {
		t.Errorf("%s is new: add the line %q to testdata/codes.golden", code, fmt.Sprint(code, " ", name))
	}
}
