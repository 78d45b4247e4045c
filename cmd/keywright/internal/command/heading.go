package command

import (
	"fmt"
	"strings"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
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

// allDatabases and aboutNoDatabase take the place of a number. ACL users are about no database.
const allDatabases, aboutNoDatabase = -1, -2

// works notes where this run works. servers has no passwords.
func (a *app) works(servers string, db int, ks *keyspace.Keyspace, anywhere bool) {
	s := Scope{servers: servers, Declaration: a.declared}
	switch {
	case db >= 0:
		s.Databases = fmt.Sprint(db)
	case db == allDatabases:
		s.Databases = "all"
	}
	if ks != nil && !anywhere && db != aboutNoDatabase {
		for _, n := range ks.Spaces {
			s.Namespaces = append(s.Namespaces, n.Name)
		}
	}
	a.scope = s
}

// lead prints where this run works.
func (a *app) lead() {
	s, words := a.scope, []string{finding.Printable(a.scope.servers)}
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
	a.tell("%s", strings.Join(words, ", "))
	if len(s.Within) > 0 {
		a.tell("only keys under owns are meant (%s); --match GLOB means others, --not-shared all",
			finding.Printable(strings.Join(s.Within, " ")))
	}
}

// commandFor returns the command line that executes the plan in a file: with the flags of this run that it has, too,
// but for what the environment gives it. A password is left out: the reader has it, or REDISCLI_AUTH.
func (a *app) commandFor(file string) string {
	words := []string{"keywright", "apply", shellWord(file)}
	apply, _, err := a.command.Root().Find([]string{"apply"})
	if err != nil {
		return strings.Join(words, " ")
	}
	a.command.Flags().Visit(func(f *pflag.Flag) {
		given := a.given(f.Name) || f.Shorthand != "" && a.given("-"+f.Shorthand)
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
					words = append(words, "-u", shellWord(at))
				}
			case f.Shorthand != "" && f.NoOptDefVal == "":
				words = append(words, "-"+f.Shorthand, shellWord(v))
			case f.Value.Type() == "bool":
				words = append(words, "--"+f.Name)
			default:
				words = append(words, "--"+f.Name, shellWord(v))
			}
		}
	})
	return strings.Join(words, " ")
}

func takes(c *cobra.Command, name string) bool {
	return c.Flags().Lookup(name) != nil || c.InheritedFlags().Lookup(name) != nil
}
