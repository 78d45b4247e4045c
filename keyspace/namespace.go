package keyspace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Namespace represents the first part of all keys and channels of a file, of which a
// program chooses another one when it starts: one per environment or tenant.
type Namespace struct {
	Default string       // as written in the patterns of the file
	Name    string       // in effect: the one that was chosen, else Default
	Names   *scalar.Type // which names may be chosen; nil: any
	Pos     Pos
}

// InEffect returns the name in effect, "" without a namespace.
func (n *Namespace) InEffect() string {
	if n == nil {
		return ""
	}
	return n.Name
}

// Glob matches the keys of the namespace in effect, and no key of another one.
func (n *Namespace) Glob() string { return n.Name + `[^\-A-Za-z0-9_]*` }

// Refuse says why a name cannot be chosen, "" if it can.
func (n *Namespace) Refuse(name string) string {
	if reason := pattern.NamespaceName(name); reason != "" {
		return reason
	}
	if n.Names != nil && name != n.Default && !n.Names.Is([]byte(name)) {
		return "is not " + n.Names.Describe()
	}
	return ""
}

// Others returns the namespaces that the declaration names beside the one in effect.
func (n *Namespace) Others() []string {
	if n.Names == nil || n.Names.Kind != scalar.Enum {
		return nil
	}
	return slices.DeleteFunc(append([]string{n.Default}, slices.DeleteFunc(slices.Clone(n.Names.Values),
		func(w string) bool { return w == n.Default })...), func(w string) bool { return w == n.Name })
}

// Namespace returns the only one of the declaration, nil if there is none or several.
func (ks *Keyspace) Namespace() *Namespace {
	if len(ks.Spaces) != 1 {
		return nil
	}
	return ks.Spaces[0]
}

// Choose reads which namespaces are to be used: NAME where the declaration has one,
// or DECLARED=NAME, with commas between several. The result is for load.In.
func (ks *Keyspace) Choose(text string) (map[string]string, error) {
	out := map[string]string{}
	for choice := range strings.SplitSeq(text, ",") {
		declared, name, named := strings.Cut(choice, "=")
		if !named {
			declared, name = "", choice
		}
		n, err := ks.space(declared)
		if err != nil {
			return nil, err
		}
		if reason := n.Refuse(name); reason != "" {
			return nil, fmt.Errorf("the namespace %s %s", finding.Printable(fmt.Sprintf("%q", name)), reason)
		}
		if _, twice := out[n.Default]; twice {
			return nil, fmt.Errorf("the namespace %s has two names", n.Default)
		}
		out[n.Default] = name
	}
	used := map[string]string{}
	for _, n := range ks.Spaces {
		name := cmp.Or(out[n.Default], n.Default)
		if other, taken := used[name]; taken {
			return nil, fmt.Errorf("the namespaces %s and %s cannot both be %s", other, n.Default, name)
		}
		used[name] = n.Default
	}
	return out, nil
}

// space finds a namespace by its declared name; "" is the only one.
func (ks *Keyspace) space(declared string) (*Namespace, error) {
	var names []string
	for _, n := range ks.Spaces {
		names = append(names, n.Default)
		if n.Default == declared || declared == "" && len(ks.Spaces) == 1 {
			return n, nil
		}
	}
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("the declaration has no namespace: its keys have fixed names")
	case declared == "":
		return nil, fmt.Errorf("the declaration has the namespaces %s: say which one, as in %s=%s-test",
			strings.Join(names, ", "), names[0], names[0])
	}
	return nil, fmt.Errorf("the declaration has no namespace %s; it has %s",
		finding.Printable(fmt.Sprintf("%q", declared)), strings.Join(names, ", "))
}

// Generated returns the namespace of code that is generated, nil if keys have fixed names.
// Code has one: it is refused for a declaration with several, or with entries
// outside of the one there is.
func (ks *Keyspace) Generated() (*Namespace, error) {
	if len(ks.Spaces) == 0 {
		return nil, nil
	}
	space := ks.Spaces[0]
	for _, e := range ks.Entries {
		if e.Namespace != space && e.Script == nil {
			return nil, fmt.Errorf(
				"the entry %s is not in the namespace %s: generate code from one file, with imports in its namespace", e.Name,
				space.Default)
		}
	}
	for _, c := range ks.Channels {
		if c.Namespace != space {
			return nil, fmt.Errorf(
				"the channel %s is not in the namespace %s: generate code from one file, with imports in its namespace", c.Name,
				space.Default)
		}
	}
	return space, nil
}
