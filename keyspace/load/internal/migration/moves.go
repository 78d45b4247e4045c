package migration

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load/internal/node"
	"github.com/keywright/keywright/keyspace/load/internal/scope"
	"github.com/keywright/keywright/keyspace/route"
	"github.com/keywright/keywright/keyspace/scalar"
	yaml "go.yaml.in/yaml/v4"
)

// moveShape is what a move is made of.
type moveShape struct {
	need []string // the properties that it must have
	may  []string
}

// moveShapes lists the shapes by what the record becomes.
var moveShapes = map[keyspace.RecordKind]moveShape{
	keyspace.StringRecord:  {need: []string{"value"}},
	keyspace.FieldRecord:   {need: []string{"field", "value"}},
	keyspace.HashRecord:    {may: []string{"fields"}},
	keyspace.MemberRecord:  {need: []string{"member"}},
	keyspace.ScoredRecord:  {need: []string{"member", "score"}},
	keyspace.ElementRecord: {need: []string{"member"}},
	keyspace.EntryRecord:   {may: []string{"fields"}},
	keyspace.JobRecord:     {need: []string{"value"}, may: []string{"tries"}},
	keyspace.ItemRecord:    {may: []string{"fields"}},
}

// examples of the properties of a move, for what is missing.
var moveExamples = map[string]string{
	"from": "state:/guilds/{guild_id}", "to": "the name of an entry", "value": ".", "member": ".", "score": "unix_s(.at)",
	"field": `"{name}"`,
}

// move reads one move; nil if too little of it can be used.
func (m *migrant) move(n *yaml.Node, part *keyspace.Part) *keyspace.Move {
	if n.Kind != yaml.MappingNode {
		m.d.WrongKind(n, "a move", "a mapping with from and to")
		return nil
	}
	props := m.d.Known(n, "a move", scope.Properties["move"])
	mv := &keyspace.Move{Pos: m.d.At(n), At: map[string]keyspace.Pos{}}
	for name, p := range props {
		mv.At[name] = m.d.At(p.Value)
	}
	for _, need := range []string{"from", "to"} {
		if _, there := props[need]; !there {
			m.d.Report("KW006", mv.Pos, "add "+need+": "+moveExamples[need], "a move has no %s", need)
		}
	}
	from, there := props["from"]
	usable := there
	if there {
		mv.Source, mv.From, usable = m.sourcePath(from.Value)
	}
	if to, there := props["to"]; there {
		mv.To = m.EntryNamed(m.d, to.Value, "to")
	}
	if mv.To == nil || !usable {
		return nil
	}
	mv.Kind, mv.Name = mv.To.Record(), moveName(part, mv.To)
	if mv.Kind == "" {
		m.d.Report("KW311", mv.At["to"], "name an entry that holds data", "nothing can be moved to %s, which is a %s",
			mv.To.Name, mv.To.Type)
		return nil
	}
	m.moveProps(mv, props, moveShapes[mv.Kind])
	return mv
}

// moveName is part.entry, with a number from the second one on.
func moveName(part *keyspace.Part, e *keyspace.Entry) string {
	n := 1
	for _, other := range part.Moves {
		if other.To == e {
			n++
		}
	}
	if n > 1 {
		return fmt.Sprintf("%s.%s.%d", part.Name, e.Name, n)
	}
	return part.Name + "." + e.Name
}

func (m *migrant) moveProps(mv *keyspace.Move, props map[string]node.Property, s moveShape) {
	allowed := append([]string{"from", "to", "with", "ttl", "kept", "except"}, append(slices.Clone(s.need), s.may...)...)
	for _, name := range scope.Properties["move"] {
		if p, there := props[name]; there && !slices.Contains(allowed, name) {
			m.d.Report("KW311", m.d.At(p.Key), "remove it; here it is "+strings.Join(append(s.need, s.may...), ", "),
				"a move to %s, which is a %s, has no %s", mv.To.Name, mv.To.Type, name)
		}
	}
	for _, name := range s.need {
		if _, there := props[name]; !there {
			m.d.Report("KW311", mv.Pos, "add "+name+": "+moveExamples[name], "a move to %s, which is a %s, has no %s",
				mv.To.Name, mv.To.Type, name)
		}
	}
	types := mv.Types()
	for name, into := range map[string]**route.Term{"field": &mv.Field, "member": &mv.Member, "score": &mv.Score,
		"value": &mv.Value, "tries": &mv.Tries} {
		if slices.Contains(allowed, name) {
			*into = m.optionalTerm(mv, props, name, types[name])
		}
	}
	m.with(mv, props)
	m.moveFields(mv, props)
	m.moveTTL(mv, props)
	m.kept(mv, props)
	m.except(mv, props)
	m.ordered(mv)
}

// except reads which texts of captures are not moved.
func (m *migrant) except(mv *keyspace.Move, props map[string]node.Property) {
	p, there := props["except"]
	if !there {
		return
	}
	mv.Except = map[string][]string{}
	for _, v := range m.d.Mapping(p.Value, "except") {
		mv.At["except."+v.Name] = m.d.At(v.Value)
		if known := mv.Captures(); !slices.Contains(known, v.Name) {
			m.d.Report("KW312", m.d.At(v.Key), cmp.Or(m.d.Near(v.Name, known), "remove it"), "except: from captures no {%s}",
				v.Name)
			continue
		}
		mv.Except[v.Name] = m.d.Texts(v.Value, v.Name)
	}
}

// optionalTerm reads a property that is a term of a type, nil if it is absent.
func (m *migrant) optionalTerm(mv *keyspace.Move, props map[string]node.Property, name string,
	typ *scalar.Type) *route.Term {
	p, there := props[name]
	if !there {
		return nil
	}
	t, ok := m.term(p.Value, name, mv)
	if !ok {
		return nil
	}
	m.fits(mv, p.Value, name, t, typ)
	return &t
}

// with binds each placeholder of the key: by with, else by the capture of its
// name.
func (m *migrant) with(mv *keyspace.Move, props map[string]node.Property) {
	given := map[string]node.Property{}
	places := mv.To.Keys[0].Pattern.Placeholders()
	if p, there := props["with"]; there {
		for _, v := range m.d.Mapping(p.Value, "with") {
			if given[v.Name] = v; !mv.To.Keys[0].Pattern.Has(v.Name) {
				var known []string
				for _, p := range places {
					known = append(known, p.Name)
				}
				m.d.Report("KW312", m.d.At(v.Key), cmp.Or(m.d.Near(v.Name, known), "remove it"), "the key of %s has no {%s}",
					mv.To.Name, v.Name)
			}
		}
	}
	for _, p := range places {
		if v, there := given[p.Name]; there {
			if t, ok := m.term(v.Value, p.Name, mv); ok {
				m.fits(mv, v.Value, p.Name, t, &p.Type)
				mv.With = append(mv.With, keyspace.Bound{Name: p.Name, Term: t, Pos: m.d.At(v.Value)})
				mv.At["with."+p.Name] = m.d.At(v.Value)
			}
			continue
		}
		if !slices.Contains(mv.Captures(), p.Name) {
			m.d.Report("KW312", mv.At["from"],
				fmt.Sprintf("capture it, as in /{%s}, or say it: with: {%s: .…}", p.Name, p.Name),
				"nothing says what {%s} of %s is", p.Name, mv.To.Name)
			continue
		}
		mv.With = append(mv.With, keyspace.Bound{Name: p.Name, Term: route.Term{Capture: p.Name}, Pos: mv.At["from"]})
	}
}

// moveFields reads where the fields of an item, hash or stream entry come from: a
// field that is not named is the member of its name.
func (m *migrant) moveFields(mv *keyspace.Move, props map[string]node.Property) {
	declared := mv.To.Keys[0].Fields
	if mv.Kind != keyspace.ItemRecord && mv.Kind != keyspace.HashRecord && mv.Kind != keyspace.EntryRecord {
		return
	}
	given := map[string]node.Property{}
	var names []string
	for _, f := range declared {
		names = append(names, f.Name)
	}
	if p, there := props["fields"]; there {
		for _, v := range m.d.Mapping(p.Value, "fields") {
			if given[v.Name] = v; !slices.Contains(names, v.Name) {
				m.d.Report("KW311", m.d.At(v.Key), cmp.Or(m.d.Near(v.Name, names), "remove it"), "%s has no field %q", mv.To.Name,
					v.Name)
			}
		}
	}
	st := mv.To.Stamps
	for i, f := range declared {
		v, there := given[f.Name]
		if !there && (f.Name == st.Created || f.Name == st.Updated || f.Name == st.Version) {
			continue // the server fills it
		}
		b := keyspace.Bound{Name: f.Name, Term: route.Term{Whole: true, Members: []string{f.Name}}, Pos: mv.Pos}
		if there {
			t, ok := m.term(v.Value, f.Name, mv)
			if !ok {
				continue
			}
			b.Term, b.Pos = t, m.d.At(v.Value)
			mv.At["fields."+f.Name] = b.Pos
			m.fits(mv, v.Value, f.Name, t, &declared[i].Type)
		}
		mv.Fields = append(mv.Fields, b)
	}
}

// moveTTL reads when records end.
func (m *migrant) moveTTL(mv *keyspace.Move, props map[string]node.Property) {
	p, there := props["ttl"]
	if !there {
		return
	}
	if p.Value.Kind != yaml.MappingNode {
		m.d.WrongKind(p.Value, "the ttl of a move", "a mapping like {from: iso8601(.posted_at)} or {until: unix_s(.ends_at)}")
		return
	}
	ttl := m.d.Known(p.Value, "the ttl of a move", scope.Properties["move ttl"])
	out := &keyspace.TTLSource{Over: keyspace.OverReject, Pos: m.d.At(p.Value)}
	for name, into := range map[string]**route.Term{"from": &out.From, "until": &out.Until} {
		v, there := ttl[name]
		if !there {
			continue
		}
		mv.At["ttl."+name] = m.d.At(v.Value)
		if t, ok := m.term(v.Value, name, mv); ok {
			if *into = &t; !t.Instant() {
				m.d.Report("KW313", m.d.At(v.Value),
					fmt.Sprintf("say how the time is written: iso8601(%s), unix_s(%s) or unix_ms(%s)", t, t, t),
					"%s of a ttl is a time, and nothing says that %s is one", name, t)
			}
		}
	}
	_, from := ttl["from"]
	if _, until := ttl["until"]; from == until {
		m.d.Report("KW006", out.Pos,
			"add from: (the time from which the declared ttl counts) or until: (the time at which it ends)",
			"the ttl of a move says either from or until")
	}
	if v, there := ttl["over"]; there {
		if word := m.d.Choice(v.Value, "over", []string{string(keyspace.OverReject), string(keyspace.OverSkip)}); word != "" {
			out.Over = keyspace.Over(word)
		}
	}
	if mv.To.TTL.Policy != keyspace.TTLExpires {
		m.d.Report("KW313", out.Pos, "remove it, or give the entry a ttl", "%s has ttl: %s, so its keys do not end at a time",
			mv.To.Name, mv.To.TTL.Text)
	} else if sub := mv.Kind; sub != keyspace.StringRecord && sub != keyspace.HashRecord && sub != keyspace.ItemRecord {
		m.d.Report("KW313", out.Pos, "remove it: the ttl of the key counts from its last write",
			"a record of %s is only a part of its key, and has no end of its own", mv.To.Name)
	}
	mv.TTL = out
}

// kept reads which hash has the text of captures that cannot be had back.
func (m *migrant) kept(mv *keyspace.Move, props map[string]node.Property) {
	p, there := props["kept"]
	if !there {
		return
	}
	mv.Kept, mv.Told = map[string]*keyspace.Entry{}, map[string]route.Term{}
	for _, v := range m.d.Mapping(p.Value, "kept") {
		mv.At["kept."+v.Name] = m.d.At(v.Value)
		if known := mv.Captures(); !slices.Contains(known, v.Name) {
			m.d.Report("KW312", m.d.At(v.Key), cmp.Or(m.d.Near(v.Name, known), "remove it"), "kept: from captures no {%s}",
				v.Name)
			continue
		}
		if strings.HasPrefix(v.Value.Value, ".") {
			if t, ok := m.term(v.Value, v.Name, mv); ok {
				mv.Told[v.Name] = t
			}
			continue
		}
		e := m.EntryNamed(m.d, v.Value, v.Name)
		if e == nil {
			continue
		}
		if e.Record() != keyspace.FieldRecord {
			m.d.Report("KW311", m.d.At(v.Value), "name a hash whose fields are these texts",
				"%s keeps no {%s}: it is no hash with open fields", e.Name, v.Name)
			continue
		}
		mv.Kept[v.Name] = e
	}
}

// ordered: what has an order in Redis must come from what has one in the file.
func (m *migrant) ordered(mv *keyspace.Move) {
	if mv.Kind != keyspace.ElementRecord && mv.Kind != keyspace.EntryRecord && mv.Kind != keyspace.JobRecord {
		return
	}
	n := len(mv.From.Steps)
	if n == 0 || mv.From.Steps[n-1].Kind != route.Element && mv.From.Steps[n-1].Kind != route.Place {
		m.d.Report("KW311", mv.At["from"], "end it with /[]",
			"the records of %s are in an order, and the path does not end in an array", mv.To.Name)
	}
	for _, s := range mv.From.Steps[:max(0, n-1)] {
		if s.Kind == route.Element {
			m.d.Report("KW311", mv.At["from"], "use /{#place}, and the place in the key",
				"one %s would be filled from several arrays", mv.To.Name)
			return
		}
	}
}

// convertsTo lists the types that the result of a conversion can be stored in; a
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

// passes lists the conversions whose result has the form of what they take.
var passes = []string{"default", "null"}

// fits reports a term whose result the type cannot hold. typ is nil where the
// declaration leaves it open.
func (m *migrant) fits(mv *keyspace.Move, n *yaml.Node, what string, t route.Term, typ *scalar.Type) {
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
		m.d.Report("KW311", m.d.At(n), "declare it as one of "+strings.Join(names, ", "),
			"%s gives what is stored as %s, and the %s of %s is %s", t.Func, names[0], what, mv.To.Name, typ.Definition())
		return
	}
	if typ.Kind == scalar.Bytes && t.Func == "" {
		m.d.Report("KW311", m.d.At(n), fmt.Sprintf("say how they are written: base64(%s)", t),
			"JSON has no bytes, and the %s of %s is bytes", what, mv.To.Name)
	}
	if typ.Kind != scalar.JSON && t.Whole && len(t.Members) == 0 && mv.Kind == keyspace.FieldRecord && what == "field" {
		m.d.Report("KW311", m.d.At(n), "name a member or a capture", "the whole record cannot be the name of its field")
	}
}
