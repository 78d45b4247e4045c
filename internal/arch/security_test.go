package arch

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestSecurity: every test that SECURITY.md names is in the package that it names.
func TestSecurity(t *testing.T) {
	text, err := os.ReadFile("../../docs/SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	test := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	for _, f := range load(t) {
		if f.Test {
			for _, m := range test.FindAllStringSubmatch(f.Text, -1) {
				there[f.Dir+" "+m[1]] = true
			}
		}
	}
	named := 0
	group := regexp.MustCompile("((?:`(?:Test|Fuzz)\\w+`(?:, )?)+) in `([\\w/]+)`")
	for _, m := range group.FindAllStringSubmatch(string(text), -1) {
		for _, name := range strings.Split(m[1], ", ") {
			named++
			if name = strings.Trim(name, "`"); !there[m[2]+" "+name] {
				t.Errorf("SECURITY.md names %s of %s, which is not there", name, m[2])
			}
		}
	}
	if all := len(regexp.MustCompile("`(?:Test|Fuzz)\\w+`").FindAllString(string(text), -1)); named != all || named < 20 {
		t.Errorf("%d of %d tests are named with their package", named, all)
	}
}
