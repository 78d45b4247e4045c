package command

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

// selecting holds the flags that say which keys are meant.
type selecting struct {
	entries    []string
	owners     []string
	globs      []string
	where      []string
	undeclared bool
	anywhere   bool // also keys outside of the namespaces
}

// selectionHelp explains them.
const selectionHelp = `Which keys: --entry and --owner name entries of the declaration (their derived keys
belong to them), --match is a glob, and --where issue=123 means every key whose
placeholder issue is exactly 123, whatever its entry. They narrow each other;
without any, all keys are meant: those of the namespace that is declared, or of
--namespace, if the declaration has one. The declaration is only needed where a flag
names something of it; without one all keys are undeclared.`

func (s *selecting) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringSliceVarP(&s.entries, "entry", "e", nil, "these entries only")
	f.StringSliceVar(&s.owners, "owner", nil, "entries of these owners only")
	f.StringArrayVar(&s.globs, "match", nil, "keys that match this glob only (again: or this one)")
	f.StringArrayVar(&s.where, "where", nil,
		"keys whose placeholder has this value only, as in issue=123 (again: and this one)")
	f.BoolVar(&s.undeclared, "undeclared", false, "only keys that no entry declares and that are not foreign")
}

// asked returns what was asked for, in words that an archive keeps.
func (s *selecting) asked() (out []string) {
	for _, part := range []struct {
		flag   string
		values []string
	}{{"entry", s.entries}, {"owner", s.owners}, {"match", s.globs}, {"where", s.where}} {
		for _, v := range part.values {
			out = append(out, "--"+part.flag+" "+v)
		}
	}
	for flag, given := range map[string]bool{"--undeclared": s.undeclared, "--any-namespace": s.anywhere} {
		if given {
			out = append(out, flag)
		}
	}
	slices.Sort(out)
	return out
}

// selection compiles the flags against the declaration, an empty one where there is
// none.
func (a *app) selection(s *selecting) (*selection.Selection, *keyspace.Keyspace, error) {
	request, err := s.request()
	if err != nil {
		return nil, nil, err
	}
	ks, err := a.declaredOrNot()
	if err != nil {
		return nil, nil, err
	}
	within(ks, &request, s)
	sel, err := selection.Compile(ks, request)
	return sel, ks, refusedSelection(err)
}

func refusedSelection(err error) error {
	var refused *selection.Error
	if errors.As(err, &refused) {
		return usage(refused.Hint, "%s", refused.What)
	}
	return err
}

// undeclaredName says what reports call keys that no entry declares.
const undeclaredName = "(undeclared)"

// askedFor returns what was asked for with the namespaces in effect, in words that an archive
// keeps.
func (a *app) askedFor(ks *keyspace.Keyspace, s *selecting) []string {
	out := s.asked()
	for _, n := range ks.Spaces {
		if !s.anywhere {
			out = append(out, "--namespace "+n.Name)
		}
	}
	return out
}

// request returns what the flags ask for.
func (s *selecting) request() (selection.Request, error) {
	r := selection.Request{Entries: s.entries, Owners: s.owners, Globs: s.globs, Undeclared: s.undeclared}
	for _, text := range s.where {
		c, err := selection.ParseCondition(text)
		if err != nil {
			return r, refusedSelection(err)
		}
		r.Where = append(r.Where, c)
	}
	return r, nil
}

// everything reports whether the flags do not narrow what is meant.
func (s *selecting) everything() bool {
	return len(s.entries)+len(s.owners)+len(s.globs)+len(s.where) == 0 && !s.undeclared
}

// someKeys refuses a selection of everything, for a verb that must be told.
func someKeys(verb string, s *selecting) error {
	if s.everything() {
		return usage("name entries with --entry, a glob with --match, or say --undeclared",
			"%s must be told which keys", verb)
	}
	return nil
}

// declaredOrNot returns the declaration, an empty one where there is none.
func (a *app) declaredOrNot() (*keyspace.Keyspace, error) {
	if _, err := a.find(); err != nil && a.file == "" {
		return &keyspace.Keyspace{}, nil
	}
	d, _, err := a.usable()
	if err != nil {
		return nil, err
	}
	return d.Keyspace, nil
}

// namespaceFlag lets a command look at another namespace than the declared one.
func (a *app) namespaceFlag(c *cobra.Command) {
	c.Flags().StringVar(&a.namespace, "namespace", "",
		"the namespace of keys and channels, or DECLARED=NAME (default: as declared)")
}

// chosen returns the names of namespaces that the flag says, nil for the declared ones.
func (a *app) chosen(ks *keyspace.Keyspace) (map[string]string, error) {
	if a.namespace == "" {
		return nil, nil
	}
	if a.namespace == load.BeforeNamespaces && a.namedBy != "" {
		before := map[string]string{}
		for _, n := range ks.Spaces {
			before[n.Default] = load.BeforeNamespaces
		}
		return before, nil
	}
	names, err := ks.Choose(a.namespace)
	if err != nil {
		return nil, usage("see namespace in docs/language.md", "%s: %v", cmp.Or(a.namedBy, "--namespace"), err)
	}
	// it is a part of names now
	a.variables = slices.DeleteFunc(a.variables, func(v [2]string) bool { return v[0] == "KEYWRIGHT_NAMESPACE" })
	return names, nil
}

// anywhereFlag lets a command that changes no key of the server that it reads look beyond
// the namespaces in effect.
func (s *selecting) anywhereFlag(c *cobra.Command) {
	c.Flags().BoolVar(&s.anywhere, "any-namespace", false, "also keys outside of the namespaces of the declaration")
}

// within narrows what a command is about to the namespaces in effect: those that were asked
// for, else those of the declaration. Globs narrow it further.
func within(ks *keyspace.Keyspace, r *selection.Request, s *selecting) {
	if s.anywhere {
		return
	}
	for _, n := range ks.Spaces {
		r.Within = append(r.Within, n.Glob())
	}
}

// sayNamespaces says once that the keys of the declared namespaces are all that is meant,
// where that was not asked for.
func (a *app) sayNamespaces(ks *keyspace.Keyspace, s *selecting) {
	if a.namespace != "" || a.saidNamespaces || len(ks.Spaces) == 0 || !s.everything() || s.anywhere {
		return
	}
	a.saidNamespaces = true
	var names []string
	for _, n := range ks.Spaces {
		names = append(names, n.Name)
	}
	a.say("only keys of the namespace %s are meant; --any-namespace means all keys", strings.Join(names, ", "))
}
