package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/command"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

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
		if failing := []string{"audit", "lint", "doctor", "explain", "match", "fmt", "init", "demo"}; slices.Contains(failing,
			c.Name()) && !strings.Contains(c.Long, "Exit codes: 0 ") {
			t.Errorf("%s does not say its exit codes", c.CommandPath())
		}
	}
}

// TestExitCodes: the codes that commands and scripts name are those of the table, and a
// script ends with each of them.
func TestExitCodes(t *testing.T) {
	var table []string
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \|`).FindAllStringSubmatch(preface, -1) {
		table = append(table, m[1])
	}
	var list []*cobra.Command
	collect(command.New(), &list)
	for _, c := range list {
		_, text, _ := strings.Cut(c.Long, "Exit codes: ")
		text, _, _ = strings.Cut(text, "\n\n")
		for _, m := range regexp.MustCompile(`(?:^|[,;]\s+)(\d+)\s`).FindAllStringSubmatch(text, -1) {
			if !slices.Contains(table, m[1]) {
				t.Errorf("%s: the exit code %s is not in the table", c.CommandPath(), m[1])
			}
		}
	}
	scripts, err := filepath.Glob("../../testdata/script/*/*.txtar")
	if err != nil || len(scripts) < 30 {
		t.Fatal(len(scripts), err)
	}
	used := map[string]bool{"0": true, "130": true} // the interrupt has a test of its own
	for _, file := range scripts {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^exits (\d+) `).FindAllStringSubmatch(string(text), -1) {
			if used[m[1]] = true; !slices.Contains(table, m[1]) {
				t.Errorf("%s: the exit code %s is not in the table", file, m[1])
			}
		}
	}
	for _, code := range table {
		if !used[code] {
			t.Errorf("no script ends with %s", code)
		}
	}
}

// TestEveryVariableHasOneMeaning: two flags of one name have one text, or there is one
// for both.
func TestEveryVariableHasOneMeaning(t *testing.T) {
	var list []*cobra.Command
	root := command.New()
	collect(root, &list)
	all := meanings(root, list)
	for name, texts := range all {
		if _, ok := together[name]; ok != (len(texts) > 1) {
			t.Errorf("%s means %q: a text for all of them is in together, and only then", name, texts)
		}
	}
	if len(all) < 15 || len(all["KEYWRIGHT_KEY_RING"]) > 0 {
		t.Errorf("%d variables, and flags of the name of the key ring: %v", len(all), all["KEYWRIGHT_KEY_RING"])
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
