// Package migration reads the section `migrations`: from which files records come, to which entries they go, and
// what must hold before that. It reads no other section, and moves nothing.
package migration

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load/internal/node"
	"github.com/keywright/keywright/keyspace/load/internal/scope"
	"github.com/keywright/keywright/keyspace/route"
	yaml "go.yaml.in/yaml/v4"
)

// maxMoves bounds the moves of a declaration.
const maxMoves = 1000

// Read reads the migrations of one file, when all entries are known.
func Read(s *scope.Scope, d *scope.Document) {
	p, ok := d.Props["migrations"]
	if !ok {
		return
	}
	for _, v := range d.Mapping(p.Value, "migrations") {
		if d.Name(v, "a migration", false) {
			s.Take(d, "migration", v)
		}
		what := "the migration " + v.Name
		if v.Value.Kind != yaml.MappingNode {
			d.WrongKind(v.Value, what, "a mapping with sources and parts")
			continue
		}
		m := &migrant{Scope: s, d: d, m: &keyspace.Migration{Name: v.Name, Package: s.KS.Package, Pos: d.At(v.Key)}}
		m.read(d.Known(v.Value, what, scope.Properties["migrations"]), what)
		s.KS.Migrations = append(s.KS.Migrations, m.m)
	}
}

// migrant reads one migration.
type migrant struct {
	*scope.Scope
	d *scope.Document
	m *keyspace.Migration
}

func (m *migrant) read(props map[string]node.Property, what string) {
	m.m.Doc = m.d.Doc(props)
	for _, need := range []struct{ name, example string }{{"sources", "{state: {file: app_state.json}}"},
		{"parts", "{history: {moves: […]}}"}} {
		if _, there := props[need.name]; !there {
			m.d.Report("KW006", m.m.Pos, "add "+need.name+": "+need.example, "%s has no %s", what, need.name)
		}
	}
	if p, ok := props["sources"]; ok {
		for _, v := range m.d.Mapping(p.Value, "the sources of "+m.m.Name) {
			m.source(v)
		}
	}
	gates := keyspace.DefaultGates
	if p, ok := props["gates"]; ok {
		gates = readGates(m.d, p.Value, gates, "the gates of "+m.m.Name)
	}
	if p, ok := props["parts"]; ok {
		for _, v := range m.d.Mapping(p.Value, "the parts of "+m.m.Name) {
			m.part(v, gates)
		}
	}
	if p, ok := props["compare"]; ok {
		m.compare(p.Value)
	}
	if p, ok := props["ignore"]; ok {
		m.ignore(p.Value)
	}
}

// ignore reads what is meant to stay in the files.
func (m *migrant) ignore(n *yaml.Node) {
	const form = `a list like - {from: "state:/cache", reason: it is made again}`
	if n.Kind != yaml.SequenceNode {
		m.d.WrongKind(n, "ignore", form)
		return
	}
	for _, n := range n.Content {
		if m.Moves++; m.Moves > maxMoves {
			m.d.Report("KW008", m.d.At(n), "", "a declaration has at most %d moves, with what is ignored", maxMoves)
			return
		}
		props := m.d.Known(n, "what is ignored", scope.Properties["ignore"])
		if n.Kind != yaml.MappingNode {
			continue
		}
		i := keyspace.Ignored{Pos: m.d.At(n)}
		for _, need := range []struct{ name, example string }{{"from", "state:/cache"}, {"reason", "why it may stay"}} {
			if _, there := props[need.name]; !there {
				m.d.Report("KW006", i.Pos, "add "+need.name+": "+need.example, "what is ignored has no %s", need.name)
			}
		}
		if p, there := props["reason"]; there {
			i.Reason, _ = m.d.Text(p.Value, "reason")
		}
		if p, there := props["from"]; there {
			var ok bool
			if i.Source, i.From, ok = m.sourcePath(p.Value); ok && i.Reason != "" {
				m.m.Ignore = append(m.m.Ignore, i)
			}
		}
	}
}

func (m *migrant) source(v node.Property) {
	m.d.Name(v, "a source", false)
	what := "the source " + v.Name
	if v.Value.Kind != yaml.MappingNode {
		m.d.WrongKind(v.Value, what, "a mapping like {file: app_state.json}")
		return
	}
	props := m.d.Known(v.Value, what, scope.Properties["source"])
	s := &keyspace.Source{Name: v.Name, Doc: m.d.Doc(props), Format: keyspace.JSONDocument, Pos: m.d.At(v.Key),
		At: map[string]keyspace.Pos{}}
	for name, p := range props {
		s.At[name] = m.d.At(p.Value)
	}
	if p, ok := props["file"]; !ok {
		m.d.Report("KW006", s.Pos, "add file: "+v.Name+".json", "%s has no file", what)
	} else if text, ok := m.d.Text(p.Value, "file"); ok {
		var err error
		s.File, err = route.ParseFile(text)
		badRoute(m.d, p.Value, "the file of "+v.Name, err)
	}
	if p, ok := props["format"]; ok {
		if word := m.d.Choice(p.Value, "format", []string{string(keyspace.JSONDocument),
			string(keyspace.JSONLines)}); word != "" {
			s.Format = keyspace.SourceFormat(word)
		}
	}
	m.m.Sources = append(m.m.Sources, s)
}

// badRoute reports a path, file name or term that cannot be read.
func badRoute(d *scope.Document, n *yaml.Node, what string, err error) bool {
	var fault *route.SyntaxError
	if !errors.As(err, &fault) {
		return false
	}
	d.Report("KW310", d.Within(n, fault.Offset, fault.Length), fault.Fix, "%s: %s", what, fault.Message)
	return true
}

func (m *migrant) part(v node.Property, gates keyspace.Gates) {
	m.d.Name(v, "a part", false)
	what := "the part " + v.Name
	if v.Value.Kind != yaml.MappingNode {
		m.d.WrongKind(v.Value, what, "a mapping with moves")
		return
	}
	props := m.d.Known(v.Value, what, scope.Properties["part"])
	p := &keyspace.Part{Name: v.Name, Doc: m.d.Doc(props), Gates: gates, Pos: m.d.At(v.Key)}
	if g, ok := props["gates"]; ok {
		p.Gates = readGates(m.d, g.Value, gates, "the gates of "+v.Name)
	}
	m.m.Parts = append(m.m.Parts, p)
	moves, ok := props["moves"]
	if !ok {
		m.d.Report("KW006", p.Pos, "add moves: a list like - {from: …, to: …}", "%s has no moves", what)
		return
	}
	if moves.Value.Kind != yaml.SequenceNode {
		m.d.WrongKind(moves.Value, "the moves of "+v.Name,
			"a list of moves like {from: \"state:/guilds/{guild_id}\", to: guild}")
		return
	}
	for _, n := range moves.Value.Content {
		if m.Moves++; m.Moves > maxMoves {
			m.d.Report("KW008", m.d.At(n), "", "a declaration has at most %d moves", maxMoves)
			return
		}
		if mv := m.move(n, p); mv != nil {
			p.Moves = append(p.Moves, mv)
		}
	}
}

// readGates reads what must hold before a part goes on, over the gates that hold
// without a word.
func readGates(d *scope.Document, n *yaml.Node, g keyspace.Gates, what string) keyspace.Gates {
	if n.Kind != yaml.MappingNode {
		d.WrongKind(n, what, "a mapping like {compared: 1000, unequal: 0, for: 1h}")
		return g
	}
	props := d.Known(n, what, scope.Properties["gates"])
	g.Pos = d.At(n)
	for name, into := range map[string]*int64{"compared": &g.Compared, "unequal": &g.Unequal, "marks": &g.Marks} {
		if _, ok := props[name]; ok {
			*into = d.Number(props, name, 0)
		}
	}
	for name, into := range map[string]*time.Duration{"for": &g.For, "backup": &g.Backup} {
		switch p, ok := props[name]; {
		case ok && (p.Value.Value == "none" || p.Value.Value == "0s"):
			*into = 0
		case ok:
			*into = d.Duration(props, name)
		}
	}
	return g
}

// compare reads the rules of comparison.
func (m *migrant) compare(n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		m.d.WrongKind(n, "compare", "a list of rules like {entry: item, field: .tags, as: set}")
		return
	}
	for _, n := range n.Content {
		if r, ok := m.compareRule(n); ok {
			m.m.Compare = append(m.m.Compare, r)
		}
	}
}

func (m *migrant) compareRule(n *yaml.Node) (r keyspace.CompareRule, ok bool) {
	before := len(m.Findings)
	props := m.d.Known(n, "a rule of compare", scope.Properties["compare"])
	if n.Kind != yaml.MappingNode {
		return r, false
	}
	r = keyspace.CompareRule{Doc: m.d.Doc(props), Pos: m.d.At(n)}
	needs := []struct{ name, example string }{{"entry", "the entry that it is about"}, {"field", ".tags"},
		{"as", "set, instant or ignore"}}
	if p, there := props["as"]; there {
		r.As = keyspace.CompareAs(m.d.Choice(p.Value, "as",
			[]string{string(keyspace.CompareSet), string(keyspace.CompareInstant), string(keyspace.CompareIgnore)}))
	}
	if r.As == keyspace.CompareIgnore {
		needs = append(needs, []struct{ name, example string }{{"owner", "who answers for it"},
			{"until", "2027-01-31, the first day on which it is compared again"}}...)
	}
	for _, need := range needs {
		if _, there := props[need.name]; !there {
			m.d.Report("KW006", r.Pos, "add "+need.name+": "+need.example, "a rule of compare has no %s", need.name)
		}
	}
	if p, there := props["entry"]; there {
		r.Entry = m.EntryNamed(m.d, p.Value, "entry")
	}
	if p, there := props["field"]; there {
		r.Field = m.fieldPath(p.Value)
	}
	if p, there := props["owner"]; there {
		r.Owner, _ = m.d.Text(p.Value, "owner")
	}
	if p, there := props["until"]; there {
		var err error
		if r.Until, err = time.Parse(time.DateOnly, p.Value.Value); err != nil {
			m.d.Report("KW307", m.d.At(p.Value), "as in 2027-01-31", "until: %q is no date", p.Value.Value)
		}
	}
	return r, len(m.Findings) == before && r.Entry != nil
}

// fieldPath reads ".article.tags" and ".list[].name".
func (m *migrant) fieldPath(n *yaml.Node) []string {
	text, ok := m.d.Text(n, "field")
	if !ok {
		return nil
	}
	var out []string
	for _, piece := range strings.SplitAfter(text, "[]") {
		rest, element := strings.CutSuffix(piece, "[]")
		if rest != "" {
			t, err := route.ParseTerm(rest)
			if badRoute(m.d, n, "field", err) {
				return nil
			}
			if !t.Whole {
				m.d.Report("KW310", m.d.At(n), "as in .article.tags", "field: %q is no member of the record", text)
				return nil
			}
			out = append(out, t.Members...)
		}
		if element {
			out = append(out, "[]")
		}
	}
	return out
}

// sourcePath reads "history:/{guild_id}/stories/[]".
func (m *migrant) sourcePath(n *yaml.Node) (*keyspace.Source, route.Path, bool) {
	text, ok := m.d.Text(n, "from")
	if !ok {
		return nil, route.Path{}, false
	}
	name, path, ok := strings.Cut(text, ":")
	if !ok {
		m.d.Report("KW310", m.d.At(n), "as in state:/guilds/{guild_id}", "from: %q does not say from which source", text)
		return nil, route.Path{}, false
	}
	p, err := route.ParsePath(path)
	var fault *route.SyntaxError
	if errors.As(err, &fault) {
		m.d.Report("KW310", m.d.Within(n, len(name)+1+fault.Offset, fault.Length), fault.Fix, "from: %s", fault.Message)
	}
	i := slices.IndexFunc(m.m.Sources, func(s *keyspace.Source) bool { return s.Name == name })
	if i < 0 {
		var known []string
		for _, s := range m.m.Sources {
			known = append(known, s.Name)
		}
		m.d.Report("KW301", m.d.Within(n, 0, len(name)), cmp.Or(m.d.Near(name, known), "declare it under sources"),
			"there is no source %q", name)
	}
	if i < 0 || err != nil {
		return nil, route.Path{}, false
	}
	s := m.m.Sources[i]
	for _, c := range p.Captures() {
		if slices.Contains(s.File.Captures(), c) {
			m.d.Report("KW310", m.d.At(n), "give one of them another name",
				"from: {%s} is captured twice, by the file of %s and by the path", c, s.Name)
			return nil, route.Path{}, false
		}
	}
	return s, p, true
}

// term reads a term and checks that it uses captures that are there.
func (m *migrant) term(n *yaml.Node, what string, mv *keyspace.Move) (route.Term, bool) {
	text, ok := m.d.Text(n, what)
	if !ok {
		return route.Term{}, false
	}
	t, err := route.ParseTerm(text)
	if badRoute(m.d, n, what, err) {
		return t, false
	}
	known := mv.Captures()
	for _, r := range t.References() {
		if r.Whole || r.Capture == "" || slices.Contains(known, r.Capture) {
			continue
		}
		m.d.Report("KW312", m.d.At(n), cmp.Or(m.d.Near(r.Capture, known), "capture it in from, as in /{"+r.Capture+"}"),
			"%s: from captures no {%s}", what, r.Capture)
		ok = false
	}
	return t, ok
}
