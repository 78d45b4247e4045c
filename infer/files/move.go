package files

import (
	"cmp"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
)

// fit returns the move of a place to an entry, nil where its types or placeholders do not fit.
func fit(p *place, e *keyspace.Entry) *move {
	if !movable(e) || p.node.shape(p.last != nil || p.element) == empty {
		return nil
	}
	main := e.Keys[0]
	mv := &move{place: p, to: e.Name}
	sub := p.last // names the record in its key
	ok := false
	switch {
	case e.Construct == keyspace.Entity || main.Kind == keyspace.Hash && main.Fields != nil:
		mv.kind = keyspace.HashRecord
		if e.Construct == keyspace.Entity {
			mv.kind = keyspace.ItemRecord
		}
		sub, ok = nil, mv.fixed(e, main)
	case main.Kind == keyspace.Hash:
		mv.kind = keyspace.FieldRecord
		ok = mv.sub("field", main.Field) && mv.value("value", main.Item)
	case main.Kind == keyspace.String:
		mv.kind, sub = keyspace.StringRecord, nil
		ok = !p.element && mv.value("value", main.Value)
	case main.Kind == keyspace.List:
		mv.kind, sub = keyspace.ElementRecord, nil
		ok = p.element && p.array.longest <= maxList && mv.value("member", main.Member)
	case main.Kind == keyspace.Set:
		mv.kind = keyspace.MemberRecord
		ok = p.element && !p.array.twice && mv.value("member", main.Member)
		sub = nil
	case main.Kind == keyspace.ZSet:
		mv.kind = keyspace.ScoredRecord
		ok = mv.sub("member", main.Member) && mv.score(main.Score)
	}
	if !ok || !mv.bind(main, sub) {
		return nil
	}
	mv.times(e)
	return mv
}

func typeOr(t *scalar.Type) scalar.Type {
	if t == nil {
		return scalar.Type{}
	}
	return *t
}

// sub takes what names a record inside its key: the last capture, or a member of an element.
func (mv *move) sub(what string, t *scalar.Type) bool {
	typ, p := typeOr(t), mv.place
	if p.element {
		id := p.node.identity(func(n *node) bool { return n.texts.all(typ) })
		mv.props = append(mv.props, prop{what, member(id)})
		return id != ""
	}
	if p.last == nil || !p.last.texts.all(typ) {
		return false
	}
	mv.by, mv.subject = what, p.last
	return true
}

// value takes the whole of what is there.
func (mv *move) value(what string, t *scalar.Type) bool {
	term, ok := mv.place.node.term(".", typeOr(t))
	mv.props = append(mv.props, prop{what, term})
	mv.whole = true
	return ok
}

// dues are members that say when something is to be, or is over.
var dues = strings.Fields("ends_at endsAt closes_at closesAt due_at dueAt scheduled_at scheduledAt run_at runAt " +
	"expires_at expiresAt")

// score takes a number or time: the value, or a member of the record, those of a begin before those
// of an end.
func (mv *move) score(t *scalar.Type) bool {
	typ, n := typeOr(t), mv.place.node
	if t == nil {
		typ.Kind = scalar.Float
	}
	take := func(of string, n *node) {
		if term, ok := n.term(of, typ); ok {
			mv.scores = append(mv.scores, term)
		}
	}
	if n.objects == 0 || n.objects < n.total() {
		take(".", n)
		return len(mv.scores) > 0
	}
	for _, name := range slices.Concat(starts, dues) {
		if m := n.members[name]; m != nil && m.total() == n.objects {
			take(member(name), m)
		}
	}
	return len(mv.scores) > 0
}

// term returns how a value of a type is taken, and whether all that was seen may be.
func (n *node) term(of string, t scalar.Type) (string, bool) {
	all := n.total()
	if t.Kind == scalar.JSON {
		return of, all > 0
	}
	if all == 0 || n.nulls > 0 || n.objects+n.arrays > 0 {
		return "", false
	}
	numbers := n.ints + n.fractions
	switch t.Kind {
	case scalar.Bool:
		return of, n.bools == all
	case scalar.Float:
		return of, numbers == all
	case scalar.Int:
		return of, n.ints == all && t.Is(decimal(n.low)) && t.Is(decimal(n.high))
	case scalar.UnixS, scalar.UnixMS:
		switch {
		case n.seconds() && t.Kind == scalar.UnixS, n.millis() && t.Kind == scalar.UnixMS:
			return of, true
		}
		term := n.timeTerm(of)
		return term, term != ""
	case scalar.Timestamp:
		if n.texts.n == all && n.texts.all(t) {
			return of, true
		}
		term := n.timeTerm(of)
		return term, term != ""
	case scalar.Bytes:
		return "", false
	}
	fits := n.texts.n == 0 || n.texts.all(t) // what is remembered of them
	switch {
	case n.texts.n == all:
		return of, fits && (t.Max == 0 || n.texts.most <= t.Max)
	case n.texts.n+n.ints == all:
		kinds := []scalar.Kind{scalar.Text, scalar.Enum, scalar.Regexp, scalar.Hex, scalar.Slug}
		return "id(" + of + ")", fits && slices.Contains(kinds, t.Kind) && t.Is(decimal(n.low)) && t.Is(decimal(n.high))
	}
	return "", false
}

// fixed takes the members of a record as the fields of a hash.
func (mv *move) fixed(e *keyspace.Entry, main *keyspace.Key) bool {
	n := mv.place.node
	if n.objects == 0 || n.objects != n.total() {
		return false
	}
	var props []prop
	for _, f := range main.Fields {
		m := n.members[f.Name]
		if st := e.Stamps; f.Name == st.Created || f.Name == st.Updated || f.Name == st.Version {
			continue
		}
		if m == nil || m.total() < n.objects {
			if !f.Type.Optional {
				return false
			}
			if m == nil {
				continue
			}
		}
		of := member(f.Name)
		term, ok := m.term(of, f.Type)
		if !ok {
			return false
		}
		if term != of {
			props = append(props, prop{f.Name, term})
		}
	}
	if len(props) > 0 {
		mv.maps = append(mv.maps, mapped{"fields", props})
	}
	return true
}

// bind gives each placeholder of the key a capture or a member, and says where the other captures
// are kept.
func (mv *move) bind(main *keyspace.Key, sub *capture) bool {
	p := mv.place
	names := map[*capture]string{}
	var with []prop
	for _, ph := range main.Pattern.Placeholders() {
		i := slices.IndexFunc(p.captures, func(c *capture) bool {
			return c != sub && names[c] == "" && c.texts.all(ph.Type)
		})
		if i >= 0 {
			names[p.captures[i]] = ph.Name
			continue
		}
		words := strings.Split(ph.Name, "_")
		found := false
		for _, name := range []string{ph.Name, words[len(words)-1]} {
			m := p.node.members[name]
			if !found && m != nil && m.texts.n == p.node.objects && m.texts.all(ph.Type) {
				with, found = append(with, prop{ph.Name, member(name)}), true
			}
		}
		if !found {
			return false
		}
	}
	for i, c := range p.captures {
		if names[c] != "" || c == sub {
			continue
		}
		told := p.tells(i)
		if told == "" {
			return false
		}
		mv.kept = append(mv.kept, told)
		mv.keeps = append(mv.keeps, c)
	}
	mv.names, mv.with = names, with
	return true
}

// call gives captures of a move the names of the placeholders that they are for. One that has a
// name already keeps it: all paths through it say the same.
func (mv *move) call(places []*place) {
	for _, c := range mv.place.captures {
		name := mv.names[c]
		other := func(o *capture) bool { return o != c && (o.name == name || o.called == name) }
		taken := slices.ContainsFunc(places, func(p *place) bool {
			return slices.Contains(p.captures, c) && slices.ContainsFunc(p.captures, other)
		})
		if name != "" && c.called == "" && !taken && !slices.Contains(mv.place.source.captures, c) {
			c.called = name
		}
	}
}

// spell writes the path of a move, and what names its captures.
func (mv *move) spell() {
	p := mv.place
	steps := slices.Clone(p.steps)
	with := slices.Clone(mv.with)
	for _, c := range p.captures {
		if i := slices.Index(steps, "{"+c.name+"}"); i >= 0 {
			steps[i] = c.text()
		}
		if name := mv.names[c]; name != "" && c.text() != "{"+name+"}" {
			with = append(with, prop{name, c.text()})
		}
	}
	mv.from = p.source.name + ":"
	if len(steps) > 0 {
		mv.from += "/" + strings.Join(steps, "/")
	}
	if mv.subject != nil {
		mv.props = slices.Insert(mv.props, 0, prop{mv.by, mv.subject.text()})
	}
	if len(mv.scores) > 0 {
		mv.props = append(mv.props, prop{"score", mv.scores[0]})
	}
	var kept []prop
	for i, c := range mv.keeps {
		kept = append(kept, prop{strings.Trim(c.text(), "{}"), member(mv.kept[i])})
	}
	slices.SortFunc(with, func(a, b prop) int { return cmp.Compare(a.name, b.name) })
	maps := mv.maps
	mv.maps = nil
	for _, m := range []mapped{{"with", with}, {"kept", kept}} {
		if len(m.props) > 0 {
			mv.maps = append(mv.maps, m)
		}
	}
	mv.maps = append(mv.maps, maps...)
}

// text returns a capture as paths and terms have it.
func (c *capture) text() string { return "{" + cmp.Or(c.called, c.name) + "}" }

// times says since when a record is there, where the entry has a TTL.
func (mv *move) times(e *keyspace.Entry) {
	own := mv.kind == keyspace.StringRecord || mv.kind == keyspace.HashRecord || mv.kind == keyspace.ItemRecord
	if !own || e.TTL.Policy != keyspace.TTLExpires {
		return
	}
	n := mv.place.node
	for _, t := range []struct {
		word string
		of   func() (string, string)
	}{{"until", n.ends}, {"from", n.began}} {
		if _, term := t.of(); term != "" {
			mv.maps = append(mv.maps, mapped{"ttl", []prop{{t.word, term}, {"over", "skip"}}})
			return
		}
	}
	mv.ignored = "KW351 the files do not say how old it is"
}
