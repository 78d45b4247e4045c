package command

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestNoVariableHasTwoMeanings: a variable of a flag is none that something else
// reads, a flag has one type in all commands, and what changes something has none.
func TestNoVariableHasTwoMeanings(t *testing.T) {
	others := []string{ringVariable, "REDIS_URL", "REDISCLI_AUTH"}
	types := map[string]string{}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			name := Variable(f)
			if name == "" {
				return
			}
			if slices.Contains(others, name) {
				t.Errorf("%s --%s and something else read %s", c.CommandPath(), f.Name, name)
			}
			if kind := strings.TrimSuffix(f.Value.Type(), "64"); types[name] != "" && types[name] != kind {
				t.Errorf("%s is %s and, of %s, %s", name, types[name], c.CommandPath(), kind)
			} else {
				types[name] = kind
			}
		})
		for _, s := range c.Commands() {
			walk(s)
		}
	}
	walk(New())
	if len(types) < 20 {
		t.Errorf("only %d variables", len(types))
	}
}

// TestVariablesAreNotShown: whatever a variable of a flag holds, in no command is it
// printed, in a result or an error.
func TestVariablesAreNotShown(t *testing.T) {
	const canary = "canary-0123456789"
	t.Chdir(t.TempDir())
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			name := Variable(f)
			if name == "" {
				return
			}
			for _, value := range []string{canary, "x" + `"` + canary} {
				var out, errs strings.Builder
				args := strings.Fields(c.CommandPath())[1:]
				ctx, end := context.WithCancel(t.Context())
				if c.Name() == "serve" {
					end() // it goes on until it is told to end
				}
				defer end()
				Main(ctx, args, Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(n string) string {
					switch {
					case n == name || name == "KEYWRIGHT_URL" && n == "REDIS_URL":
						return value
					case n == "KEYWRIGHT_URL":
						return "redis://127.0.0.1:1"
					}
					return ""
				}})
				if shown := out.String() + errs.String(); strings.Contains(shown, canary) {
					t.Errorf("%s: %s is shown: %s", c.CommandPath(), name, shown)
				}
			}
		})
		for _, s := range c.Commands() {
			if s.Name() != "demo" && s.Name() != "completion" && s.Name() != "help" {
				walk(s)
			}
		}
	}
	walk(New())
}
