package command

import (
	"errors"
	"slices"
	"strings"
	"syscall"

	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/internal/typo"
	"github.com/keywright/keywright/keyspace/schema"
	"github.com/spf13/cobra"
)

// listed is the value of --output where it names no document.
const listed = " "

func (a *app) schemaCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the language, or of what a command prints",
		Long: `Prints the JSON Schema with which editors complete and check a declaration.
` + "`keywright init`" + ` writes it beside the file.

With --output COMMAND it prints the JSON Schema (draft 2020-12) of what that command
prints with -o json or -o jsonl; --output alone lists these documents and their
versions. What a version promises is in docs/json.md.`,
		Example: `  keywright schema > .keywright/keyspace.schema.json
  keywright schema --output
  keywright schema --output audit
  keywright schema --output entities check`,
		Args: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("output") {
				return nil
			}
			return noArgs(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("output") {
				return a.outputSchema(strings.TrimSpace(strings.Join(append([]string{output}, args...), " ")))
			}
			_, err := a.out.Raw().Write(schema.JSON)
			return err
		},
	}
	c.Flags().StringVar(&output, "output", "", "a command: print the schema of its JSON; alone it lists them")
	f := c.Flags().Lookup("output")
	f.NoOptDefVal = listed
	f.Annotations = map[string][]string{noVariable: {"of schema means a command, not a form"}}
	choices(c, "output", documentNames()...)
	return c
}

func documentNames() []string {
	var out []string
	for _, d := range Documents {
		out = append(out, d.Name)
	}
	return out
}

// outputSchema prints the schema of one document, or lists them.
func (a *app) outputSchema(name string) error {
	if name == "" {
		for _, d := range Documents {
			a.tell("%-16s %d  %s", d.Name, d.Version, d.What)
		}
		return nil
	}
	d, known := documentNamed(strings.TrimPrefix(name, "keywright "))
	if !known {
		hint := "`keywright schema --output` lists those that there are"
		if near := typo.Nearest(name, documentNames()); near != "" {
			hint = "did you mean `keywright schema --output " + near + "`?"
		}
		return usage(hint, "no command %q prints JSON", name)
	}
	text, err := d.published()
	if err != nil {
		return &bug{err}
	}
	_, err = a.out.Raw().Write(text)
	return err
}

// formsOf returns the forms of output of a command.
func formsOf(c *cobra.Command) []string { return strings.Fields(c.Annotations["forms"]) }

// tellGaps says in the table what it does not hold.
func (a *app) tellGaps(g *answer.Gaps) {
	for _, c := range g.Cut {
		a.tell("%s has more than the %s that are looked at here", c.Entry, terminal.Count(int64(c.Listed)))
	}
	for _, u := range g.Unread {
		a.tell("not read: %s", finding.Printable(u.String()))
	}
}

// none says that there is nothing, of what was read.
func (a *app) none(g *answer.Gaps, text string) {
	if len(g.Unread) > 0 {
		text += ", of those that were read"
	}
	a.tell("%s", text)
}

// partly returns the exit line of a listing that does not hold everything.
func partly(g *answer.Gaps, what string) error {
	var why []string
	for i, u := range g.Unread {
		if i == shownUnread {
			why = append(why, terminal.Plural(int64(len(g.Unread)-i), "more failure"))
			break
		}
		if name := u.Entry; !slices.Contains(why, name) {
			why = append(why, name)
		}
	}
	for _, c := range g.Cut {
		why = append(why, c.Entry+" has more than "+terminal.Count(int64(c.Listed)))
	}
	if len(why) == 0 {
		return nil
	}
	return &exit{exitPartial, "not all " + what + " are listed: " + strings.Join(why, ", "), "the result says of each why"}
}

// shownUnread bounds the exit line.
const shownUnread = 5

// unwritable says why a file cannot be written, and what helps.
func unwritable(what string, err error) error {
	hint := "name a file in a folder that you may write to"
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		hint = "make room on that disk, or name a file on another one"
	}
	return usage(hint, "%s cannot be written: %v", what, err)
}
