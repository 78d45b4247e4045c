package command

import (
	"cmp"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/spf13/cobra"
)

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
