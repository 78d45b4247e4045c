package record

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/keywright/keywright/keyspace/route"
	"github.com/keywright/keywright/migrate/record/internal/datum"
	"github.com/keywright/keywright/migrate/record/internal/jsontext"
	"github.com/keywright/keywright/migrate/record/internal/scan"
)

// addition represents a value that a document may have to get: where, and of which
// records it is made.
type addition struct {
	node  *node         // the path
	steps []*datum.Want // the captures on the way, by their depth; nil for other steps
	edit  *pending
	lost  string // the capture that nothing says
	at    int    // of the additions, in the order of the edits
}

// locate notes where the records of an edit belong if the document has them not.
// Records of several moves that share a match belong in one place.
func (e *editor) locate(p *pending) error {
	wants, err := p.move.wants(p.records[0], e.names)
	if err != nil {
		return err
	}
	a := &addition{node: p.move.path, edit: p}
	for n := a.node; n.parent != nil; n = n.parent {
		var w *datum.Want
		if n.step.Kind == route.Capture || n.step.Kind == route.Place {
			if w = wants[n.step.Name]; w == nil {
				a.lost = n.step.Name
			}
		}
		a.steps = append(a.steps, w)
	}
	slices.Reverse(a.steps)
	if a.lost == "" {
		a.at = len(e.adds)
		e.adds = append(e.adds, a)
		return nil
	}
	p.lost = a // another record of its match may say where
	key := joint{a.node, e.shared(a)}
	e.lost[key] = append(e.lost[key], p)
	return nil
}

// joint describes what the records of one match have in common.
type joint struct {
	node *node
	key  string
}

// step returns the step of an addition below so many frames.
func (a *addition) step(depth int) (route.Step, *datum.Want) {
	n := a.node
	for n.depth > depth {
		n = n.parent
	}
	return n.step, a.steps[depth-1]
}

// complete reports whether the path of the addition ends below so many frames.
func (a *addition) complete(depth int) bool { return a.node.depth == depth }

// leads reports whether the value under way, with so many frames around it, is on
// the way of an addition.
func (a *addition) leads(w *walker, depth int) bool {
	if depth > a.node.depth {
		return false
	}
	f := &w.frames[depth-1]
	switch step, want := a.step(depth); step.Kind {
	case route.Member:
		return f.object && f.name == step.Name
	case route.Capture:
		return f.object && want.Is(step.Name, f.name)
	case route.Place:
		return !f.object && want.Is(step.Name, strconv.FormatInt(f.place, 10))
	}
	return false
}

// passed returns the additions that belong below, or are, the value under way, with so
// many frames around it.
func (e *editor) passed(w *walker, depth int) []*addition {
	if depth == 0 {
		return e.adds
	}
	return w.frames[depth-1].edits.leading(w, depth)
}

// ways holds the additions of a level by what leads to them: each member and element is asked for, so
// that they must not be looked through each time.
type ways struct {
	by    map[string][]*addition // by the name of a member, or the place of an element
	other []*addition            // whose capture is known by a conversion only
}

// leading returns the additions of a level for which the value under way, with so many frames around it,
// is on their way, in the order of the edits.
func (l *level) leading(w *walker, depth int) (out []*addition) {
	if len(l.adds) == 0 {
		return nil
	}
	f := &w.frames[depth-1]
	if l.ways == nil {
		l.ways = waysOf(l.adds, depth, f.object)
	}
	if len(l.ways.by) > 0 {
		name := f.name
		if !f.object {
			name = strconv.FormatInt(f.place, 10)
		}
		out = slices.Clone(l.ways.by[name])
	}
	sorted := len(out)
	for _, a := range l.ways.other {
		if a.leads(w, depth) {
			out = append(out, a)
		}
	}
	if sorted > 0 && sorted < len(out) {
		slices.SortFunc(out, func(a, b *addition) int { return a.at - b.at })
	}
	return out
}

func waysOf(adds []*addition, depth int, object bool) *ways {
	out := &ways{by: map[string][]*addition{}}
	for _, a := range adds {
		if depth > a.node.depth {
			continue
		}
		step, want := a.step(depth)
		switch {
		case step.Kind == route.Member && object:
			out.by[step.Name] = append(out.by[step.Name], a)
		case step.Kind != route.Capture && step.Kind != route.Place || object != (step.Kind == route.Capture):
		case want.Known:
			out.by[want.Text] = append(out.by[want.Text], a)
		default:
			out.other = append(out.other, a)
		}
	}
	return out
}

// open reports whether the document lacks a record of the addition so far.
func (a *addition) open() bool {
	return !a.edit.done || a.edit.list && a.edit.next < len(a.edit.records)
}

// close puts what is missing at the end of the innermost object or array, whose
// closing bracket is the next byte.
func (e *editor) close(w *walker) error {
	f := &w.frames[len(w.frames)-1]
	l := &f.edits
	left := slices.DeleteFunc(slices.Clone(l.adds), func(a *addition) bool {
		return !a.open() || a.node.depth < len(w.frames)
	})
	if len(left) > 0 {
		if err := e.insert(w, f, left); err != nil {
			return err
		}
	} else if l.any && l.kept == 0 && len(f.nodes) > 0 && l.went > 0 {
		e.Put(scan.Splice{From: l.went, To: w.Offset(), Text: nil})
	}
	return nil
}

func (e *editor) insert(w *walker, f *frame, left []*addition) error {
	l := &f.edits
	depth := len(w.frames)
	if step, _ := left[0].step(depth); f.object != step.InObject() {
		return e.blocked(w, left, step.InObject())
	}
	members, err := e.build(left, depth)
	if err != nil || len(members) == 0 { // all were refused
		return err
	}
	if w.Lines && depth == 1 {
		e.lines(w, l, members)
		return nil
	}
	lead, tail := l.lead, []byte(nil)
	if !l.any {
		lead, tail = e.leadOf(w)
	} else if l.kept > 0 && len(lead) == 0 {
		lead = []byte(e.Style.Comma)
	}
	var text []byte
	for i, m := range members {
		if i > 0 || l.kept > 0 {
			text = append(text, ',')
		}
		switch {
		case i == 0 && l.kept == 0 && !bytes.ContainsRune(lead, '\n'):
		case i > 0 && len(lead) == 0:
			text = append(text, e.Style.Comma...)
		default:
			text = append(text, lead...)
		}
		if f.object {
			text = append(jsontext.Quote(text, m.Name), e.Colon...)
		}
		text = append(text, e.Lay(m.Value, lead)...)
	}
	at, to := l.end, l.end
	if l.kept == 0 {
		to = w.Offset()
		if l.any && l.went > 0 {
			at = min(at, l.went)
			tail = bytes.Clone(w.Buf[l.went-w.Base : to-w.Base])
		}
	}
	e.Put(scan.Splice{From: at, To: to, Text: append(text, tail...)})
	return nil
}

// leadOf returns the white space before the first value of an object or array that is
// empty, and after its last one: as its neighbours have it.
func (e *editor) leadOf(w *walker) (lead, tail []byte) {
	if len(w.frames) < 2 {
		return e.Below([]byte{'\n'})
	}
	return e.Below(w.frames[len(w.frames)-2].edits.lead)
}

// lines puts documents at the end of a file of lines.
func (e *editor) lines(w *walker, l *level, members []jsontext.Member) {
	var text []byte
	for i, m := range members {
		if i > 0 || l.kept > 0 {
			text = append(text, '\n')
		}
		text = append(text, e.Inline(m.Value)...)
	}
	at := l.end
	if l.kept == 0 && l.went > 0 {
		at = l.went
	}
	e.Put(scan.Splice{From: at, To: at, Text: text})
}

// build makes the members or elements that a place below so many frames gets, in
// the order of the edits.
func (e *editor) build(adds []*addition, depth int) (out []jsontext.Member, err error) {
	type group struct {
		name  string
		inner []*addition
	}
	var groups []*group
	byName := map[string]*group{}
	for _, a := range adds {
		step, _ := a.step(depth)
		first, _ := adds[0].step(depth)
		name, err := a.name(depth, first.InObject())
		if err != nil {
			if err := e.refuse(a.edit, err); err != nil {
				return nil, err
			}
			continue
		}
		if step.Kind == route.Element && a.complete(depth) {
			name = e.shared(a)
		}
		g := byName[name]
		if g == nil || step.Kind == route.Element && name == "" && a.complete(depth) {
			g = &group{name: name}
			byName[name], groups = g, append(groups, g)
		}
		g.inner = append(g.inner, a)
	}
	for _, g := range groups {
		values, err := e.buildOne(g.inner, depth)
		if err != nil {
			return nil, err
		}
		for _, v := range values {
			out = append(out, jsontext.Member{Name: g.name, Value: v})
		}
	}
	return out, nil
}

// name returns the name below so many frames, where an object or an array is made.
func (a *addition) name(depth int, inObject bool) (string, error) {
	step, w := a.step(depth)
	if step.InObject() != inObject {
		return "", a.fault("another record makes an object of an array")
	}
	if w == nil {
		return step.Name, nil
	}
	if err := w.Find(step.Name); err != nil {
		return "", err
	}
	if !w.Known {
		return "", a.fault("nothing says what {" + step.Name + "} is: only " + w.Term.String() + " of it is kept")
	}
	return w.Text, nil
}

func (a *addition) fault(reason string) error {
	return a.edit.move.fault(a.edit.records[0], "%s", reason)
}

// shared returns what the records of several moves of one match have in common: the
// members that say which record it is. It is "" where there is nothing.
func (e *editor) shared(a *addition) string {
	p := a.edit
	if len(p.move.path.moves) < 2 || p.list {
		return ""
	}
	common := identityMembers(p.move)
	for _, mv := range p.move.path.moves {
		other := identityMembers(mv)
		common = slices.DeleteFunc(common, func(name string) bool { return !slices.Contains(other, name) })
	}
	parts, ok := p.move.parts(p.records[0])
	if !ok {
		return ""
	}
	var key []byte
	for _, name := range common {
		for i := range parts {
			if parts[i].Term.String() == name && identifies(p.move, parts[i].Slot) {
				key = jsontext.Quote(key, parts[i].Stored)
			}
		}
	}
	return string(key)
}

// buildOne makes one value, or the elements of a list, of what belongs in one
// place.
func (e *editor) buildOne(adds []*addition, depth int) (out [][]byte, err error) {
	var value []byte
	var inner []*addition
	var here *addition
	var edits []*pending // of one match
	for _, a := range adds {
		if !a.complete(depth) {
			inner = append(inner, a)
			continue
		}
		if a.edit.list {
			values, err := e.fresh([]*pending{a.edit}, a)
			if err != nil {
				return nil, err
			}
			out = append(out, values...)
			continue
		}
		if here = a; e.shared(a) != "" {
			edits = append(edits, e.lost[joint{a.node, e.shared(a)}]...)
		}
		edits = append(edits, a.edit)
	}
	slices.SortStableFunc(edits, wholeFirst)
	if values, err := e.fresh(edits, here); err != nil {
		return nil, err
	} else if len(values) > 0 {
		value = values[0]
	}
	if len(inner) > 0 {
		members, err := e.build(inner, depth+1)
		if err != nil {
			return nil, err
		}
		if step, _ := inner[0].step(depth + 1); len(members) > 0 {
			value = e.Nest(value, members, step.InObject())
		}
	}
	if value != nil {
		out = append(out, value)
	}
	return out, nil
}

// fresh returns the values of the records of edits that the document has not: those of one match, or the
// elements of a list.
func (e *editor) fresh(edits []*pending, a *addition) (out [][]byte, err error) {
	if len(edits) == 0 {
		return nil, nil
	}
	m := e.place(a)
	for {
		var take []*pending
		var records []*Record
		for _, p := range edits {
			if p.refused || p.done && (!p.list || p.next >= len(p.records)) {
				continue
			}
			if r, there := p.take(); there {
				take, records = append(take, p), append(records, r)
			}
		}
		if len(take) == 0 {
			return out, nil
		}
		v, done, err := e.fill(m, nil, take, records, true)
		if err != nil {
			return nil, err
		}
		if done > 0 {
			out = append(out, v)
		}
		if !take[0].list {
			return out, nil
		}
	}
}

// wholeFirst orders edits: what is the whole record, then what is a part of it.
func wholeFirst(a, b *pending) int {
	switch {
	case a.move.Whole() && !b.move.Whole():
		return -1
	case b.move.Whole() && !a.move.Whole():
		return 1
	}
	return 0
}
