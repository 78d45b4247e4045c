package cli

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/spf13/cobra"
)

// Selecting holds the flags that say which keys are meant.
type Selecting struct {
	Entries    []string
	Owners     []string
	Globs      []string
	Where      []string
	Undeclared bool
	Anywhere   bool // also keys outside of the namespaces
}

// SelectionHelp explains them.
const SelectionHelp = `Which keys: --entry and --owner name entries of the declaration (their derived keys
belong to them), --match is a glob, and --where issue=123 means every key whose
placeholder issue is exactly 123, whatever its entry. They narrow each other;
without any, all keys are meant: those of the namespace that is declared, or of
--namespace, if the declaration has one. The declaration is only needed where a flag
names something of it; without one all keys are undeclared.`

func (s *Selecting) Flags(c *cobra.Command) {
	f := c.Flags()
	f.StringSliceVarP(&s.Entries, "entry", "e", nil, "these entries only")
	f.StringSliceVar(&s.Owners, "owner", nil, "entries of these owners only")
	f.StringArrayVar(&s.Globs, "match", nil, "keys that match this glob only (again: or this one)")
	f.StringArrayVar(&s.Where, "where", nil,
		"keys whose placeholder has this value only, as in issue=123 (again: and this one)")
	f.BoolVar(&s.Undeclared, "undeclared", false, "only keys that no entry declares and that are not foreign")
}

// Asked returns what was asked for, in words that an archive keeps.
func (s *Selecting) Asked() (out []string) {
	for _, part := range []struct {
		flag   string
		values []string
	}{{"entry", s.Entries}, {"owner", s.Owners}, {"match", s.Globs}, {"where", s.Where}} {
		for _, v := range part.values {
			out = append(out, "--"+part.flag+" "+v)
		}
	}
	for flag, given := range map[string]bool{"--undeclared": s.Undeclared, "--any-namespace": s.Anywhere} {
		if given {
			out = append(out, flag)
		}
	}
	slices.Sort(out)
	return out
}

// Selection compiles the flags against the declaration, an empty one where there is
// none.
func (a *App) Selection(s *Selecting) (*selection.Selection, *keyspace.Keyspace, error) {
	request, err := s.Request()
	if err != nil {
		return nil, nil, err
	}
	ks, err := a.DeclaredOrEmpty()
	if err != nil {
		return nil, nil, err
	}
	NarrowToNamespaces(ks, &request, s)
	sel, err := selection.Compile(ks, request)
	if refused, ok := errors.AsType[*selection.Error](err); ok && a.Declared == "" {
		return nil, nil, Usage("say where the declaration is with -f", "%s: none was named, or found here or in a folder above",
			refused.What)
	}
	return sel, ks, RefusedSelection(err)
}

func RefusedSelection(err error) error {
	var refused *selection.Error
	if errors.As(err, &refused) {
		return Usage(refused.Hint, "%s", refused.What)
	}
	return err
}

// UndeclaredName says what reports call keys that no entry declares.
const UndeclaredName = "(undeclared)"

// AskedFor returns what was asked for with the namespaces in effect, in words that an archive
// keeps.
func (a *App) AskedFor(ks *keyspace.Keyspace, s *Selecting) []string {
	out := s.Asked()
	for _, n := range ks.Spaces {
		if !s.Anywhere {
			out = append(out, "--namespace "+n.Name)
		}
	}
	return out
}

// Request returns what the flags ask for.
func (s *Selecting) Request() (selection.Request, error) {
	r := selection.Request{Entries: s.Entries, Owners: s.Owners, Globs: s.Globs, Undeclared: s.Undeclared}
	for _, text := range s.Where {
		c, err := selection.ParseCondition(text)
		if err != nil {
			return r, RefusedSelection(err)
		}
		r.Where = append(r.Where, c)
	}
	return r, nil
}

// everything reports whether the flags do not narrow what is meant.
func (s *Selecting) everything() bool {
	return len(s.Entries)+len(s.Owners)+len(s.Globs)+len(s.Where) == 0 && !s.Undeclared
}

// SomeKeys refuses a selection of everything, for a verb that needs a selection.
func SomeKeys(verb string, s *Selecting) error {
	if s.everything() {
		return Usage("name entries with --entry, a glob with --match, or say --undeclared",
			"%s needs a selection of keys", verb)
	}
	return nil
}

// DeclaredOrEmpty returns the declaration, an empty one where there is none.
func (a *App) DeclaredOrEmpty() (*keyspace.Keyspace, error) {
	if _, err := a.Find(); err != nil && a.File == "" {
		return &keyspace.Keyspace{}, nil
	}
	d, _, err := a.LoadDeclaration()
	if err != nil {
		return nil, err
	}
	return d.Keyspace, nil
}

// NamespaceFlag lets a command look at another namespace than the declared one.
func (a *App) NamespaceFlag(c *cobra.Command) {
	c.Flags().StringVar(&a.Namespace, "namespace", "",
		"the namespace of keys and channels, or DECLARED=NAME (default: as declared)")
}

// chosen returns the names of namespaces that the flag says, nil for the declared ones.
func (a *App) chosen(ks *keyspace.Keyspace) (map[string]string, error) {
	if a.Namespace == "" {
		return nil, nil
	}
	if a.Namespace == load.BeforeNamespaces && a.NamedBy != "" {
		before := map[string]string{}
		for _, n := range ks.Spaces {
			before[n.Default] = load.BeforeNamespaces
		}
		return before, nil
	}
	names, err := ks.Choose(a.Namespace)
	if err != nil {
		return nil, Usage("see namespace in docs/language.md", "%s: %v", cmp.Or(a.NamedBy, "--namespace"), err)
	}
	// it is a part of names now
	a.Variables = slices.DeleteFunc(a.Variables, func(v [2]string) bool { return v[0] == "KEYWRIGHT_NAMESPACE" })
	return names, nil
}

// SelectionFlags say which keys are meant, of a command that changes no key of the server that it reads: it may look
// beyond the namespaces in effect.
func (a *App) SelectionFlags(c *cobra.Command, s *Selecting) {
	a.NamespaceFlag(c)
	s.Flags(c)
	c.Flags().BoolVar(&s.Anywhere, "any-namespace", false, "also keys outside of the namespaces of the declaration")
}

// NarrowToNamespaces narrows what a command is about to the namespaces in effect: those that were asked
// for, else those of the declaration. Globs narrow it further.
func NarrowToNamespaces(ks *keyspace.Keyspace, r *selection.Request, s *Selecting) {
	if s.Anywhere {
		return
	}
	for _, n := range ks.Spaces {
		r.Within = append(r.Within, n.Glob())
	}
}

// SayNamespaces says once that the keys of the declared namespaces are all that is meant,
// where that was not asked for.
func (a *App) SayNamespaces(ks *keyspace.Keyspace, s *Selecting) {
	if a.Namespace != "" || a.saidNamespaces || len(ks.Spaces) == 0 || !s.everything() || s.Anywhere {
		return
	}
	a.saidNamespaces = true
	var names []string
	for _, n := range ks.Spaces {
		names = append(names, n.Name)
	}
	a.Say("only keys of the namespace %s are meant; --any-namespace means all keys", strings.Join(names, ", "))
}
