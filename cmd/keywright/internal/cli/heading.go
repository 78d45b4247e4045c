package cli

import (
	"fmt"
	"strings"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Scope says where a verb works: its report begins with it. JSON names are stable.
type Scope struct {
	servers     string
	Databases   string   `json:"databases,omitempty"`     // "all", or the number of one; absent: it is about none
	Into        string   `json:"into_database,omitempty"` // that keys of the one go to, where that is another one
	Declaration string   `json:"declaration,omitempty"`   // the file; absent: there is none
	Namespaces  []string `json:"namespaces,omitempty"`    // only their keys are meant; absent: all keys are
	Within      []string `json:"within,omitempty"`        // globs of owns: other keys that nothing declares are not meant
}

// AllDatabases and aboutNoDatabase take the place of a number. ACL users are about no database.
const AllDatabases, AboutNoDatabase = -1, -2

// NoteScope notes where this run works. servers has no passwords.
func (a *App) NoteScope(servers string, db int, ks *keyspace.Keyspace, anywhere bool) {
	s := Scope{servers: servers, Declaration: a.Declared}
	switch {
	case db >= 0:
		s.Databases = fmt.Sprint(db)
	case db == AllDatabases:
		s.Databases = "all"
	}
	if ks != nil && !anywhere && db != AboutNoDatabase {
		for _, n := range ks.Spaces {
			s.Namespaces = append(s.Namespaces, n.Name)
		}
	}
	a.Scope = s
}

// PrintScope prints where this run works.
func (a *App) PrintScope() {
	s, words := a.Scope, []string{finding.Printable(a.Scope.servers)}
	switch s.Databases {
	case "":
	case "all":
		words = append(words, "all databases")
	default:
		words = append(words, "database "+s.Databases)
	}
	if s.Into != "" {
		words[len(words)-1] += " into " + s.Into
	}
	if s.Declaration == "" {
		words = append(words, "no declaration")
	} else {
		words = append(words, "declared by "+finding.Printable(s.Declaration))
	}
	switch len(s.Namespaces) {
	case 0:
	case 1:
		words = append(words, "namespace "+finding.Printable(s.Namespaces[0]))
	default:
		words = append(words, "namespaces "+finding.Printable(strings.Join(s.Namespaces, " and ")))
	}
	a.Print("%s", strings.Join(words, ", "))
	if len(s.Within) > 0 {
		a.Print("only keys under owns are meant (%s); --match GLOB means others, --not-shared all",
			finding.Printable(strings.Join(s.Within, " ")))
	}
}

// CommandFor returns the command line that executes the plan in a file: with the flags of this run that it has, too,
// but for what the environment gives it. A password is left out: the reader has it, or REDISCLI_AUTH.
func (a *App) CommandFor(file string) string {
	words := []string{"keywright", "apply", ShellWord(file)}
	apply, _, err := a.command.Root().Find([]string{"apply"})
	if err != nil {
		return strings.Join(words, " ")
	}
	a.command.Flags().Visit(func(f *pflag.Flag) {
		given := a.Given(f.Name) || f.Shorthand != "" && a.Given("-"+f.Shorthand)
		if !given || f.Name == "output" || f.Name == "namespace" || !takes(apply, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			switch {
			case f.Name == "url":
				if at, err := connect.WithoutPasswords(v); err == nil {
					words = append(words, "-u", ShellWord(at))
				}
			case f.Shorthand != "" && f.NoOptDefVal == "":
				words = append(words, "-"+f.Shorthand, ShellWord(v))
			case f.Value.Type() == "bool":
				words = append(words, "--"+f.Name)
			default:
				words = append(words, "--"+f.Name, ShellWord(v))
			}
		}
	})
	return strings.Join(words, " ")
}

func takes(c *cobra.Command, name string) bool {
	return c.Flags().Lookup(name) != nil || c.InheritedFlags().Lookup(name) != nil
}
