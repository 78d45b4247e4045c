package cli

import (
	"github.com/keywright/keywright/gen/acl"
	"github.com/keywright/keywright/keyspace"
	"github.com/spf13/cobra"
)

// CompleteEntries offers the names of entries from the declaration.
func (a *App) CompleteEntries(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	path, err := a.Find()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	d, err := ReadDeclaration(path, nil)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, e := range d.Entries {
		out = append(out, cobra.CompletionWithDesc(e.Name, firstLine(e.Doc)))
		for _, k := range e.Keys {
			if k.Name != e.Name {
				out = append(out, cobra.CompletionWithDesc(k.Name, k.Pattern.String()))
			}
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// CompleteComponents offers the users of the declaration: its owners and readers.
func (a *App) CompleteComponents(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var out []string
	if path, err := a.Find(); err == nil {
		if d, err := ReadDeclaration(path, nil); err == nil {
			users, _ := acl.Users(d.Keyspace)
			for _, u := range users {
				out = append(out, u.Name)
			}
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// CompleteConstructs offers the entries of one construct.
func (a *App) CompleteConstructs(of keyspace.Construct) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var out []string
		if path, err := a.Find(); err == nil {
			if d, err := ReadDeclaration(path, nil); err == nil {
				for _, e := range d.Entries {
					if e.Construct == of {
						out = append(out, cobra.CompletionWithDesc(e.Name, firstLine(e.Doc)))
					}
				}
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

func firstLine(text string) string {
	for i, r := range text {
		if r == '\n' || i > 60 {
			return text[:i]
		}
	}
	return text
}

// CompleteExplain offers entries and rules.
func (a *App) CompleteExplain(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, directive := a.CompleteEntries(c, args, word)
	for _, r := range AllRules() {
		names = append(names, cobra.CompletionWithDesc(r.Code, r.Summary))
	}
	return names, directive
}
