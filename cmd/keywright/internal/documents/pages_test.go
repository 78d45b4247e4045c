package main

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/command"
	"github.com/keywright/keywright/internal/pages"
	"github.com/spf13/pflag"
)

// TestPagesCallThisProgram: each call of keywright on a page, in a block or between
// backquotes, is a command with flags that it has.
func TestPagesCallThisProgram(t *testing.T) {
	all, err := pages.Read(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	call := regexp.MustCompile("(?m)(?:`|^\\$ |\\| |- run: )keywright( [^`|>\n#;]*)")
	seen := 0
	for _, p := range all {
		if p.Path == "CHANGELOG.md" { // what was
			continue
		}
		for _, m := range call.FindAllStringSubmatch(p.Text, -1) {
			words := strings.Fields(
				strings.NewReplacer("'", "", "[", "", "]", "", "…", "").Replace(strings.Split(m[1], " 2")[0]))
			if len(words) == 0 {
				continue
			}
			seen++
			root := command.New()
			found, rest, err := root.Find(words)
			if err != nil || found == root && !strings.HasPrefix(words[0], "-") {
				t.Errorf("%s: keywright%s calls no command: %v", p.Path, m[1], err)
			} else if err := found.ParseFlags(rest); err != nil && !strings.Contains(err.Error(), "needs an argument") &&
				!errors.Is(err, pflag.ErrHelp) {
				t.Errorf("%s: keywright%s: %v", p.Path, m[1], err)
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d calls were found: the search is broken", seen)
	}
}

// TestReadmeNamesEveryCommand: the table of commands in the README has each of them.
func TestReadmeNamesEveryCommand(t *testing.T) {
	text, err := os.ReadFile(root + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range command.New().Commands() {
		if !c.Hidden && c.Name() != "help" && !regexp.MustCompile("(?m)^\\|.*`(keywright )?"+c.Name()+"`").Match(text) {
			t.Errorf("the table of commands lacks %s", c.Name())
		}
	}
}
