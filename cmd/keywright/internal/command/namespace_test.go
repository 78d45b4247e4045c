package command

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// What commands mean where the declaration has a namespace.
const (
	inEffect   = "only the namespaces in effect"            // --namespace, else the declared ones
	orBeyond   = "the namespaces in effect, or beyond them" // with --any-namespace
	everything = "the whole server"                         // what is outside is counted, not judged
	asPlanned  = "as the plan says"
	none       = "no namespace"
)

// ruleOfNamespaces says what each command means. The lists of the first three are in
// docs/language.md.
var ruleOfNamespaces = map[string][]string{
	inEffect: {"acl apply", "acl diff", "acl print", "clean", "delete", "entities", "janitor run", "entities check",
		"entities index",
		"entities indexes", "entities repair", "explain", "locks", "locks break", "match", "migrate advance", "migrate diff",
		"migrate export", "migrate import", "migrate plan", "migrate repair", "migrate rollback", "migrate status",
		"migrate verify", "queues", "queues cancel",
		"queues discard",
		"queues pause", "queues repair", "queues resume", "queues retry", "queues run", "rankings", "rankings around", "rankings top",
		"rename",
		"seal adopt", "seal rotate",
		"seal status", "status", "ttl"},
	orBeyond:   {"archive diff", "archive export", "archive ls", "backup", "copy", "ls", "restore", "verify"},
	everything: {"audit", "merge", "serve", "top"},
	asPlanned:  {"apply"},
	none: {"acl", "archive", "archive info", "archive verify", "breaking", "demo", "diff", "doctor", "fmt", "gen", "infer",
		"init",
		"janitor", "janitor next", "serve check",
		"lint", "migrate", "rules", "schema", "seal", "seal key", "serve token", "version"},
}

// Every command is in the table, has the flags of its row, and is in the documentation of it.
func TestEveryCommandHasOneRuleOfNamespaces(t *testing.T) {
	rows := map[string]string{}
	for rule, paths := range ruleOfNamespaces {
		for _, path := range paths {
			rows[path] = rule
		}
	}
	text, err := os.ReadFile("../../../../docs/language.md")
	if err != nil {
		t.Fatal(err)
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		_, path, _ := strings.Cut(c.CommandPath(), " ")
		if path != "" && c.Runnable() && !slices.Contains([]string{"help", "completion"}, strings.Fields(path)[0]) {
			rule, known := rows[path]
			delete(rows, path)
			if !known {
				t.Errorf("%s: what does it mean where the declaration has a namespace? Write it into the table", path)
			}
			chosen := slices.Contains([]string{inEffect, orBeyond, everything}, rule)
			for flag, want := range map[string]bool{"namespace": chosen, "any-namespace": rule == orBeyond} {
				if has := c.Flags().Lookup(flag) != nil; has != want {
					t.Errorf("%s: that it has --%s is %v, and by its rule (%s) it is %v", path, flag, has, rule, want)
				}
			}
			if chosen && !strings.Contains(rowOf(string(text), rule), "`"+strings.Fields(path)[0]) {
				t.Errorf("docs/language.md does not say of %s: %s", path, rule)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(New())
	for path := range rows {
		if path != "acl" && path != "archive" {
			t.Errorf("there is no command %s", path)
		}
	}
}

// rowOf returns the row of a table that begins with a text.
func rowOf(text, first string) string {
	_, row, _ := strings.Cut(text, "\n| "+first)
	row, _, _ = strings.Cut(row, "\n")
	return row
}
