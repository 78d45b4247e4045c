package observe

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/infer"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
)

// Group is keys that no entry declares and that have a pattern in common.
type Group struct {
	Pattern  string
	Type     string
	Software string // whose keys these are, by the looks of them
	YAML     string // what would declare them
	Example  finding.JSONKey
	Near     []audit.Near // what may have been meant
	Keys     int64
	Bytes    int64
	NoTTL    int64
}

// Others are undeclared keys that are in no group.
type Others struct {
	Keys, Bytes int64
	Why         []string // the gravest first, at most some
}

// What is shown of undeclared keys.
const (
	maxGroups = 500
	maxWhy    = 20
)

// groupsOf returns the groups of a draft that knows the declaration, the largest first. They
// and the others are all keys that are not declared.
func groupsOf(d *infer.Draft, ks *keyspace.Keyspace) (groups []Group, others Others) {
	near := keyspace.NewNear(ks)
	for _, e := range d.Entries {
		g := Group{Pattern: e.Pattern, Type: e.Type, Example: bytes.Clone(e.Example), Keys: e.Keys, Bytes: e.Bytes,
			NoTTL: e.NoTTL}
		g.YAML = proposal(d, e)
		for _, k := range near.To(e.Example, 3) {
			g.Near = append(g.Near, audit.Near{Entry: k.Name, Pattern: k.Pattern.String()})
		}
		groups = append(groups, g)
	}
	for _, f := range d.Foreign {
		groups = append(groups,
			Group{Pattern: f.Glob, Type: f.Type, Software: f.Software, Keys: f.Keys, Bytes: f.Bytes, NoTTL: f.NoTTL,
				YAML: "foreign:\n  - " + quote(f.Glob) + "\n"})
	}
	slices.SortStableFunc(groups, func(a, b Group) int {
		if a.Bytes != b.Bytes {
			return int(min(max(b.Bytes-a.Bytes, -1), 1))
		}
		return int(min(max(b.Keys-a.Keys, -1), 1))
	})
	for _, g := range groups[min(len(groups), maxGroups):] {
		others.Keys, others.Bytes = others.Keys+g.Keys, others.Bytes+g.Bytes
	}
	groups = groups[:min(len(groups), maxGroups)]
	for _, l := range d.Left {
		others.Keys, others.Bytes = others.Keys+l.Keys, others.Bytes+l.Bytes
		if len(others.Why) < maxWhy {
			others.Why = append(others.Why, l.String())
		}
	}
	return groups, others
}

var placeholder = regexp.MustCompile(`\{(\w+)\}`)

// proposal returns the text that declares one drafted entry, with the vars that it needs.
func proposal(d *infer.Draft, e *infer.Entry) string {
	var vars strings.Builder
	text := d.EntryYAML(e)
	for _, m := range placeholder.FindAllStringSubmatch(e.Pattern, -1) {
		i := slices.IndexFunc(d.Vars, func(v infer.Var) bool { return v.Name == m[1] })
		line := ""
		if i >= 0 {
			line = "  " + d.Vars[i].Name + ": " + quote(d.Vars[i].Type) + "\n"
		}
		if !strings.Contains(vars.String(), line) {
			vars.WriteString(line)
		}
	}
	if vars.Len() > 0 {
		return "vars:\n" + vars.String() + "keys:\n" + text
	}
	return "keys:\n" + text
}

// quote writes a text as a YAML scalar.
func quote(s string) string { return `'` + strings.ReplaceAll(s, `'`, `''`) + `'` }
