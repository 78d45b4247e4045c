package load

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/route"
	yaml "go.yaml.in/yaml/v4"
)

// MaxMoves bounds the moves of a declaration.
const MaxMoves = 1000

// readMigrations reads the migrations of one file, when all entries are known.
func readMigrations(s *scope, d *document) {
	p, ok := d.props["migrations"]
	if !ok {
		return
	}
	for _, v := range d.mapping(p.value, "migrations") {
		if d.name(v, "a migration", false) {
			s.take(d, "migration", v)
		}
		what := "the migration " + v.name
		if v.value.Kind != yaml.MappingNode {
			d.wrongKind(v.value, what, "a mapping with sources and parts")
			continue
		}
		m := &migrant{scope: s, d: d, m: &keyspace.Migration{Name: v.name, Package: s.ks.Package, Pos: d.at(v.key)}}
		m.read(d.known(v.value, what, childProperties["migrations"]), what)
		s.ks.Migrations = append(s.ks.Migrations, m.m)
	}
}

// migrant reads one migration.
type migrant struct {
	*scope
	d *document
	m *keyspace.Migration
}

func (m *migrant) read(props map[string]property, what string) {
	m.m.Doc = m.d.doc(props)
	for _, need := range []struct{ name, example string }{{"sources", "{state: {file: app_state.json}}"},
		{"parts", "{history: {moves: […]}}"}} {
		if _, there := props[need.name]; !there {
			m.d.report("KW006", m.m.Pos, "add "+need.name+": "+need.example, "%s has no %s", what, need.name)
		}
	}
	if p, ok := props["sources"]; ok {
		for _, v := range m.d.mapping(p.value, "the sources of "+m.m.Name) {
			m.source(v)
		}
	}
	gates := keyspace.DefaultGates
	if p, ok := props["gates"]; ok {
		gates = readGates(m.d, p.value, gates, "the gates of "+m.m.Name)
	}
	if p, ok := props["parts"]; ok {
		for _, v := range m.d.mapping(p.value, "the parts of "+m.m.Name) {
			m.part(v, gates)
		}
	}
	if p, ok := props["compare"]; ok {
		m.compare(p.value)
	}
	if p, ok := props["ignore"]; ok {
		m.ignore(p.value)
	}
}

// ignore reads what is meant to stay in the files.
func (m *migrant) ignore(n *yaml.Node) {
	const form = `a list like - {from: "state:/cache", reason: it is made again}`
	if n.Kind != yaml.SequenceNode {
		m.d.wrongKind(n, "ignore", form)
		return
	}
	for _, n := range n.Content {
		if m.moves++; m.moves > MaxMoves {
			m.d.report("KW008", m.d.at(n), "", "a declaration has at most %d moves, with what is ignored", MaxMoves)
			return
		}
		props := m.d.known(n, "what is ignored", childProperties["ignore"])
		if n.Kind != yaml.MappingNode {
			continue
		}
		i := keyspace.Ignored{Pos: m.d.at(n)}
		for _, need := range []struct{ name, example string }{{"from", "state:/cache"}, {"reason", "why it may stay"}} {
			if _, there := props[need.name]; !there {
				m.d.report("KW006", i.Pos, "add "+need.name+": "+need.example, "what is ignored has no %s", need.name)
			}
		}
		if p, there := props["reason"]; there {
			i.Reason, _ = m.d.text(p.value, "reason")
		}
		if p, there := props["from"]; there {
			var ok bool
			if i.Source, i.From, ok = m.sourcePath(p.value); ok && i.Reason != "" {
				m.m.Ignore = append(m.m.Ignore, i)
			}
		}
	}
}

func (m *migrant) source(v property) {
	m.d.name(v, "a source", false)
	what := "the source " + v.name
	if v.value.Kind != yaml.MappingNode {
		m.d.wrongKind(v.value, what, "a mapping like {file: app_state.json}")
		return
	}
	props := m.d.known(v.value, what, childProperties["source"])
	s := &keyspace.Source{Name: v.name, Doc: m.d.doc(props), Format: keyspace.JSONDocument, Pos: m.d.at(v.key),
		At: map[string]keyspace.Pos{}}
	for name, p := range props {
		s.At[name] = m.d.at(p.value)
	}
	if p, ok := props["file"]; !ok {
		m.d.report("KW006", s.Pos, "add file: "+v.name+".json", "%s has no file", what)
	} else if text, ok := m.d.text(p.value, "file"); ok {
		var err error
		s.File, err = route.ParseFile(text)
		badRoute(m.d, p.value, "the file of "+v.name, err)
	}
	if p, ok := props["format"]; ok {
		if word := m.d.choice(p.value, "format", []string{string(keyspace.JSONDocument),
			string(keyspace.JSONLines)}); word != "" {
			s.Format = keyspace.SourceFormat(word)
		}
	}
	m.m.Sources = append(m.m.Sources, s)
}

// badRoute reports a path, file name or term that cannot be read.
func badRoute(d *document, n *yaml.Node, what string, err error) bool {
	var fault *route.SyntaxError
	if !errors.As(err, &fault) {
		return false
	}
	d.report("KW310", d.within(n, fault.Offset, fault.Length), fault.Fix, "%s: %s", what, fault.Message)
	return true
}

func (m *migrant) part(v property, gates keyspace.Gates) {
	m.d.name(v, "a part", false)
	what := "the part " + v.name
	if v.value.Kind != yaml.MappingNode {
		m.d.wrongKind(v.value, what, "a mapping with moves")
		return
	}
	props := m.d.known(v.value, what, childProperties["part"])
	p := &keyspace.Part{Name: v.name, Doc: m.d.doc(props), Gates: gates, Pos: m.d.at(v.key)}
	if g, ok := props["gates"]; ok {
		p.Gates = readGates(m.d, g.value, gates, "the gates of "+v.name)
	}
	m.m.Parts = append(m.m.Parts, p)
	moves, ok := props["moves"]
	if !ok {
		m.d.report("KW006", p.Pos, "add moves: a list like - {from: …, to: …}", "%s has no moves", what)
		return
	}
	if moves.value.Kind != yaml.SequenceNode {
		m.d.wrongKind(moves.value, "the moves of "+v.name,
			"a list of moves like {from: \"state:/guilds/{guild_id}\", to: guild}")
		return
	}
	for _, n := range moves.value.Content {
		if m.moves++; m.moves > MaxMoves {
			m.d.report("KW008", m.d.at(n), "", "a declaration has at most %d moves", MaxMoves)
			return
		}
		if mv := m.move(n, p); mv != nil {
			p.Moves = append(p.Moves, mv)
		}
	}
}

// readGates reads what must hold before a part goes on, over the gates that hold
// without a word.
func readGates(d *document, n *yaml.Node, g keyspace.Gates, what string) keyspace.Gates {
	if n.Kind != yaml.MappingNode {
		d.wrongKind(n, what, "a mapping like {compared: 1000, unequal: 0, for: 1h}")
		return g
	}
	props := d.known(n, what, childProperties["gates"])
	g.Pos = d.at(n)
	for name, into := range map[string]*int64{"compared": &g.Compared, "unequal": &g.Unequal, "marks": &g.Marks} {
		if _, ok := props[name]; ok {
			*into = d.number(props, name, 0)
		}
	}
	for name, into := range map[string]*time.Duration{"for": &g.For, "backup": &g.Backup} {
		switch p, ok := props[name]; {
		case ok && (p.value.Value == "none" || p.value.Value == "0s"):
			*into = 0
		case ok:
			*into = d.duration(props, name)
		}
	}
	return g
}

// compare reads the rules of comparison.
func (m *migrant) compare(n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		m.d.wrongKind(n, "compare", "a list of rules like {entry: item, field: .tags, as: set}")
		return
	}
	for _, n := range n.Content {
		if r, ok := m.compareRule(n); ok {
			m.m.Compare = append(m.m.Compare, r)
		}
	}
}

func (m *migrant) compareRule(n *yaml.Node) (r keyspace.CompareRule, ok bool) {
	before := len(m.findings)
	props := m.d.known(n, "a rule of compare", childProperties["compare"])
	if n.Kind != yaml.MappingNode {
		return r, false
	}
	r = keyspace.CompareRule{Doc: m.d.doc(props), Pos: m.d.at(n)}
	needs := []struct{ name, example string }{{"entry", "the entry that it is about"}, {"field", ".tags"},
		{"as", "set, instant or ignore"}}
	if p, there := props["as"]; there {
		r.As = keyspace.CompareAs(m.d.choice(p.value, "as",
			[]string{string(keyspace.CompareSet), string(keyspace.CompareInstant), string(keyspace.CompareIgnore)}))
	}
	if r.As == keyspace.CompareIgnore {
		needs = append(needs, []struct{ name, example string }{{"owner", "who answers for it"},
			{"until", "2027-01-31, the first day on which it is compared again"}}...)
	}
	for _, need := range needs {
		if _, there := props[need.name]; !there {
			m.d.report("KW006", r.Pos, "add "+need.name+": "+need.example, "a rule of compare has no %s", need.name)
		}
	}
	if p, there := props["entry"]; there {
		r.Entry = m.entryNamed(m.d, p.value, "entry")
	}
	if p, there := props["field"]; there {
		r.Field = m.fieldPath(p.value)
	}
	if p, there := props["owner"]; there {
		r.Owner, _ = m.d.text(p.value, "owner")
	}
	if p, there := props["until"]; there {
		var err error
		if r.Until, err = time.Parse(time.DateOnly, p.value.Value); err != nil {
			m.d.report("KW307", m.d.at(p.value), "as in 2027-01-31", "until: %q is no date", p.value.Value)
		}
	}
	return r, len(m.findings) == before && r.Entry != nil
}

// fieldPath reads ".article.tags" and ".list[].name".
func (m *migrant) fieldPath(n *yaml.Node) []string {
	text, ok := m.d.text(n, "field")
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
				m.d.report("KW310", m.d.at(n), "as in .article.tags", "field: %q is no member of the record", text)
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
	text, ok := m.d.text(n, "from")
	if !ok {
		return nil, route.Path{}, false
	}
	name, path, ok := strings.Cut(text, ":")
	if !ok {
		m.d.report("KW310", m.d.at(n), "as in state:/guilds/{guild_id}", "from: %q does not say from which source", text)
		return nil, route.Path{}, false
	}
	p, err := route.ParsePath(path)
	var fault *route.SyntaxError
	if errors.As(err, &fault) {
		m.d.report("KW310", m.d.within(n, len(name)+1+fault.Offset, fault.Length), fault.Fix, "from: %s", fault.Message)
	}
	i := slices.IndexFunc(m.m.Sources, func(s *keyspace.Source) bool { return s.Name == name })
	if i < 0 {
		var known []string
		for _, s := range m.m.Sources {
			known = append(known, s.Name)
		}
		m.d.report("KW301", m.d.within(n, 0, len(name)), cmp.Or(m.d.near(name, known), "declare it under sources"),
			"there is no source %q", name)
	}
	if i < 0 || err != nil {
		return nil, route.Path{}, false
	}
	s := m.m.Sources[i]
	for _, c := range p.Captures() {
		if slices.Contains(s.File.Captures(), c) {
			m.d.report("KW310", m.d.at(n), "give one of them another name",
				"from: {%s} is captured twice, by the file of %s and by the path", c, s.Name)
			return nil, route.Path{}, false
		}
	}
	return s, p, true
}

// term reads a term and checks that it uses captures that are there.
func (m *migrant) term(n *yaml.Node, what string, mv *keyspace.Move) (route.Term, bool) {
	text, ok := m.d.text(n, what)
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
		m.d.report("KW312", m.d.at(n), cmp.Or(m.d.near(r.Capture, known), "capture it in from, as in /{"+r.Capture+"}"),
			"%s: from captures no {%s}", what, r.Capture)
		ok = false
	}
	return t, ok
}
