package command

import (
	"slices"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/spf13/cobra"
)

// namespaceFlag lets a command look at another namespace than the declared one.
func (a *app) namespaceFlag(c *cobra.Command) {
	c.Flags().StringVar(&a.namespace, "namespace", "", "the namespace of keys and channels, or DECLARED=NAME (default: as declared)")
}

// chosen are the names of namespaces that the flag says, nil for the declared ones.
func (a *app) chosen(ks *keyspace.Keyspace) (map[string]string, error) {
	if a.namespace == "" {
		return nil, nil
	}
	names, err := ks.Choose(a.namespace)
	if err != nil {
		return nil, usage("see namespace in docs/language.md", "--namespace: %v", err)
	}
	a.variables = slices.DeleteFunc(a.variables, func(v [2]string) bool { return v[0] == "KEYWRIGHT_NAMESPACE" }) // it is a part of names now
	return names, nil
}

// within narrows what a command is to look at to the namespace that was asked for.
// Globs narrow it further.
func (a *app) within(ks *keyspace.Keyspace, r *selection.Request) {
	if a.namespace == "" {
		return
	}
	for _, n := range ks.Spaces {
		r.Within = append(r.Within, n.Glob())
	}
}
