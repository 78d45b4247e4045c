package keyspace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace/route"
	"github.com/keywright/keywright/keyspace/scalar"
	yaml "go.yaml.in/yaml/v4"
)

// convertsTo are the types that the result of a conversion can be stored in; a
// conversion that is not here fits any.
var convertsTo = map[string][]scalar.Kind{
	"number":  {scalar.Text, scalar.Enum, scalar.Regexp, scalar.Hex, scalar.Slug},
	"iso8601": {scalar.UnixS, scalar.UnixMS, scalar.Timestamp},
	"unix_s":  {scalar.UnixS, scalar.UnixMS, scalar.Timestamp},
	"unix_ms": {scalar.UnixS, scalar.UnixMS, scalar.Timestamp},
	"id":      {scalar.Text, scalar.Enum, scalar.Regexp, scalar.Hex, scalar.Slug},
	"place":   {scalar.Int, scalar.Float, scalar.UnixS, scalar.UnixMS},
	"minutes": {scalar.Int, scalar.Float},
	"slug":    {scalar.Text, scalar.Enum, scalar.Regexp, scalar.Slug},
	"lower":   {scalar.Text, scalar.Enum, scalar.Regexp, scalar.Hex, scalar.Slug, scalar.UUID},
	"base64":  {scalar.Bytes},
	"rename":  {scalar.Text, scalar.Enum, scalar.Regexp, scalar.Hex, scalar.Slug},
}

// passes are the conversions whose result has the form of what they take.
var passes = []string{"default", "null"}

// fits reports a term whose result the type cannot hold. typ is nil where the
// declaration leaves it open.
func (m *migrant) fits(mv *Move, n *yaml.Node, what string, t route.Term, typ *scalar.Type) {
	if typ == nil {
		typ = &scalar.Type{}
	}
	for slices.Contains(passes, t.Func) {
		t = t.Of[0]
	}
	if kinds, limited := convertsTo[t.Func]; limited && !slices.Contains(kinds, typ.Kind) {
		var names []string
		for _, k := range kinds {
			names = append(names, k.String())
		}
		m.d.report("KW311", m.d.at(n), "declare it as one of "+strings.Join(names, ", "), "%s gives what is stored as %s, and the %s of %s is %s", t.Func, names[0], what, mv.To.Name, typ.Definition())
		return
	}
	if typ.Kind == scalar.Bytes && t.Func == "" {
		m.d.report("KW311", m.d.at(n), fmt.Sprintf("say how they are written: base64(%s)", t), "JSON has no bytes, and the %s of %s is bytes", what, mv.To.Name)
	}
	if typ.Kind != scalar.JSON && t.Whole && len(t.Members) == 0 && mv.Kind == FieldRecord && what == "field" {
		m.d.report("KW311", m.d.at(n), "name a member or a capture", "the whole record cannot be the name of its field")
	}
}
