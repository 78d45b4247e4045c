package sources

import (
	"github.com/keywright/keywright/apply/content"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/parts"
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/keywright/keywright/source/compare"
	"github.com/keywright/keywright/source/server"
	"github.com/spf13/cobra"
)

// FromUsage says what --from-namespace means to every command that has it.
const FromUsage = "the keys have the names of this namespace, and get those of the one in effect (see --namespace)"

// Mapping holds the flags of verbs that give keys the names of another namespace.
type Mapping struct {
	From string // a namespace
}

func (o *Mapping) Flags(c *cobra.Command) {
	c.Flags().StringVar(&o.From, "from-namespace", "", FromUsage)
}

// MappingHelp explains them.
const MappingHelp = `With --from-namespace A and --namespace B, keys of A get the names that they have in
B: each through its pattern in the declaration, with the keys that constructs derive.
The index record of an entity, which names the keys of its indexes, and the tags of a cache
are written with the new names. What is encrypted is bound to its name and is left
out, and so is what no entry declares; each with a reason. --match is about the names
in A.`

// Mapped represents a selection of keys in one namespace, and their names in another one. It is for
// one goroutine at a time.
type Mapped struct {
	*selection.Selection
	Schema  *keyspace.Keyspace // in the namespace in effect
	Renamed *plan.Elsewhere    // nil: keys keep their names
}

// MapNames compiles the flags against the declaration, in the namespace that keys come from.
func MapNames(a *cli.App, s *cli.Selecting, o *Mapping) (*Mapped, error) {
	sel, ks, err := a.Selection(s)
	if err != nil || o.From == "" {
		return &Mapped{Selection: sel, Schema: ks}, err
	}
	if o.From == load.BeforeNamespaces {
		return nil, cli.Usage("use rename, where the keys are", "--from-namespace - is for rename")
	}
	if s.Anywhere {
		return nil, cli.Usage("leave one of them out", "--from-namespace and --any-namespace exclude each other")
	}
	old, err := DeclaredIn(a, o.From)
	if err != nil {
		return nil, err
	}
	for i, n := range ks.Spaces {
		if len(ks.Spaces) == len(old.Spaces) && n.Name == old.Spaces[i].Name && len(ks.Spaces) == 1 {
			return nil, cli.Usage("name another one with --namespace", "keys of the namespace %s are to get the names of %s",
				n.Name,
				n.Name)
		}
	}
	request, err := s.Request()
	if err != nil {
		return nil, err
	}
	cli.NarrowToNamespaces(old, &request, s)
	m := &Mapped{Schema: ks}
	if m.Selection, err = selection.Compile(old, request); err == nil {
		m.Renamed, err = plan.NewElsewhere(old, ks)
	}
	return m, cli.RefusedSelection(err)
}

// Request returns what a server is asked for: the keys that are meant, or those with their names
// in the other namespace.
func (m *Mapped) Request(target bool) server.ContentsRequest {
	if !target || m.Renamed == nil {
		return server.ContentsRequest{Match: m.Glob(), Wants: func(name []byte) bool { _, ok := m.Moves(name); return ok }}
	}
	return server.ContentsRequest{Match: m.Renamed.Glob(), Wants: func(name []byte) bool {
		old, ok := m.Old(name)
		if ok {
			_, ok = m.Moves(old)
		}
		return ok
	}}
}

// Place returns where a key is written; what only makes sense in its moment is left out unless
// that was asked for.
func (m *Mapped) Place(p *restore.Place, momentary bool) (declared *keyspace.Key, err error) {
	_, declared, _ = m.Find(p.Key)
	if declared != nil && !momentary && parts.Momentary(declared) {
		return declared, &restore.LeftOut{Code: plan.OutOfMoment}
	}
	if m.Renamed == nil {
		return declared, nil
	}
	name, content, left := m.Renamed.Name(p.Key)
	if left != "" {
		return declared, &restore.LeftOut{Code: left}
	}
	p.Key, p.Content = name, content
	return declared, nil
}

// To returns the new name of a key; false: it has none.
func (m *Mapped) To(name []byte) ([]byte, bool) {
	if m.Renamed == nil {
		return name, true
	}
	to, _, left := m.Renamed.Name(name)
	return to, left == ""
}

// Old returns the reverse.
func (m *Mapped) Old(name []byte) ([]byte, bool) {
	if m.Renamed == nil {
		return name, true
	}
	return m.Renamed.Old(name)
}

// Content returns how the value of a key is written under its new name.
func (m *Mapped) Content(name []byte) *plan.Content {
	_, content, _ := m.Renamed.Name(name)
	return content
}

// Shown returns a place whose values are as they are under the new names.
func (m *Mapped) Shown(side compare.Side) compare.Side {
	if m.Renamed == nil {
		return side
	}
	return content.Renamed(side, m.Content)
}

// DeclaredIn returns the declaration in another namespace.
func DeclaredIn(a *cli.App, namespace string) (*keyspace.Keyspace, error) {
	inner := *a
	inner.Namespace, inner.NamedBy = namespace, "--from-namespace"
	ks, err := inner.DeclaredOrEmpty()
	if err == nil && len(ks.Spaces) == 0 && namespace != load.BeforeNamespaces {
		err = cli.Usage("see namespace in docs/language.md", "--from-namespace: the declaration has no namespace")
	}
	return ks, err
}
