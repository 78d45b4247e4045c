package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/command"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestDocumentIsFresh(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/cli.md")
	if err != nil || string(text) != document() {
		t.Errorf("docs/cli.md is stale: run make gen (%v)", err)
	}
}

// TestEveryCommandIsDocumented: what it does, when it fails, how it is called.
func TestEveryCommandIsDocumented(t *testing.T) {
	var list []*cobra.Command
	collect(command.New(), &list)
	if len(list) < 13 {
		t.Fatalf("only %d commands were found", len(list))
	}
	for _, c := range list {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: %q is no short text", c.CommandPath(), c.Short)
		}
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || strings.HasSuffix(f.Usage, ".") {
				t.Errorf("%s --%s: %q is no usage", c.CommandPath(), f.Name, f.Usage)
			}
		})
		if failing := []string{"audit", "lint", "doctor", "explain", "match", "fmt", "init", "demo"}; slices.Contains(failing, c.Name()) && !strings.Contains(c.Long, "Exit codes: 0 ") {
			t.Errorf("%s does not say its exit codes", c.CommandPath())
		}
	}
}

// TestExamplesAreOfThisProgram: each line of an example that calls keywright
// calls a command with flags that it has.
func TestExamplesAreOfThisProgram(t *testing.T) {
	var list []*cobra.Command
	root := command.New()
	collect(root, &list)
	call := regexp.MustCompile(`(?m)(?:^ *|\| |\()keywright( [^|)>\n]*)`)
	for _, c := range list {
		for _, m := range call.FindAllStringSubmatch(c.Example, -1) {
			words := strings.Fields(strings.ReplaceAll(m[1], "'", ""))
			found, rest, err := root.Find(words)
			if err != nil || found == root {
				t.Errorf("%s: %q calls no command: %v", c.CommandPath(), m[0], err)
				continue
			}
			if err := found.ParseFlags(rest); err != nil {
				t.Errorf("%s: %q: %v", c.CommandPath(), m[0], err)
			}
		}
	}
}
