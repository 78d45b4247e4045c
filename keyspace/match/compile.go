package match

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace/internal/automaton"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Compile makes the matcher of items. Conflicts are not an error here: the
// earlier item wins, and the caller decides what to make of it. Of very many
// conflicts MaxConflicts are reported. The error is a *ComplexError, or what one pattern
// alone cannot be compiled for.
func Compile(items []Item) (*Matcher, []Conflict, error) {
	c := compiler{
		items:       items,
		routes:      make([]route, len(items)),
		states:      map[string]int32{},
		classifiers: map[string]*classifier{},
		segments:    map[string]*automaton.NFA{},
		relations:   map[[2]int]relation{},
		winners:     map[string]int32{},
	}
	m := &Matcher{plans: make([]plan, len(items))}
	start := make([]cursor, 0, len(items))
	for i, item := range items {
		r, err := c.route(item.Pattern)
		if err != nil {
			return nil, nil, fmt.Errorf("compile %s: %w", item.Pattern, err)
		}
		c.routes[i] = r
		m.plans[i] = r.plan(item.Pattern)
		start = append(start, c.begin(i, 0))
	}
	if len(items) > 0 {
		c.intern(start)
	}
	c.countSegments()
	for s := 0; s < len(c.queue); s++ {
		err := c.bounded()
		if err == nil {
			err = c.expand(m, int32(s))
		}
		if err != nil {
			return nil, nil, c.tooComplex(s, err)
		}
	}
	m.seal(c.words)
	slices.SortFunc(c.conflicts, func(x, y Conflict) int { return slices.Compare([]int{x.A, x.B}, []int{y.A, y.B}) })
	return m, c.conflicts, nil
}

// route represents a pattern cut at its separators: whole segments as far as no element
// crosses a separator, and an automaton for the tail from there on.
type route struct {
	segments []segment
	tail     *automaton.NFA // nil: the pattern ends with the last segment
	tailName string
	last     []pattern.Element // the elements of the tail
}

// segment describes what must be between two separators: literal text, or a mix.
type segment struct {
	literal string
	nfa     *automaton.NFA // nil: literal
	name    string         // what the automaton accepts, to share work
	elems   []pattern.Element
}

// cursor represents a place in an item: before a segment, or inside the tail.
type cursor struct {
	item      int
	segment   int
	positions []int32 // in the tail's automaton, when segment is past the last
}

type compiler struct {
	items       []Item
	routes      []route
	states      map[string]int32
	queue       [][]cursor
	classifiers map[string]*classifier
	segments    map[string]*automaton.NFA
	words       []sealedWord
	relations   map[[2]int]relation
	winners     map[string]int32
	conflicts   []Conflict
	work        int // of all classifiers
	cursors     int // of all states
	total       int // segments of all items
}

type sealedWord struct {
	state int32
	text  string
	target
}

func (c *compiler) route(p *pattern.Pattern) (route, error) {
	var r route
	cut := cutSegments(p.Elements())
	for i, elems := range cut {
		if slices.ContainsFunc(elems, func(e pattern.Element) bool { return e.Crosses }) {
			for j, rest := range cut[i:] {
				if j > 0 {
					r.last = append(r.last, pattern.Element{Literal: ":", Placeholder: -1, Expr: automaton.Literal(":")})
				}
				r.last = append(r.last, rest...)
			}
			var err error
			r.tailName = p.Language()
			r.tail, err = automaton.Compile(sequence(r.last))
			return r, err
		}
		s, err := c.segment(p, elems)
		if err != nil {
			return r, err
		}
		r.segments = append(r.segments, s)
	}
	return r, nil
}

// cutSegments divides elements at the separators in their literals.
func cutSegments(elems []pattern.Element) [][]pattern.Element {
	out := [][]pattern.Element{nil}
	for _, e := range elems {
		if e.Literal == "" {
			out[len(out)-1] = append(out[len(out)-1], e)
			continue
		}
		for i, text := range strings.Split(e.Literal, string(scalar.Separator)) {
			if i > 0 {
				out = append(out, nil)
			}
			if text != "" {
				out[len(out)-1] = append(out[len(out)-1],
					pattern.Element{Literal: text, Placeholder: -1, Expr: automaton.Literal(text)})
			}
		}
	}
	return out
}

func sequence(elems []pattern.Element) automaton.Expr {
	parts := make([]automaton.Expr, len(elems))
	for i, e := range elems {
		parts[i] = e.Expr
	}
	return automaton.Seq(parts...)
}

func (c *compiler) segment(p *pattern.Pattern, elems []pattern.Element) (segment, error) {
	s := segment{elems: elems}
	mixed := false
	for _, e := range elems {
		if e.Literal != "" {
			s.literal += e.Literal
			s.name += fmt.Sprintf("%q", e.Literal)
			continue
		}
		mixed = true
		s.name += fmt.Sprintf("{%s %t}", elementName(p, e), e.NoBraces)
	}
	if !mixed {
		return s, nil
	}
	s.literal = ""
	var err error
	if s.nfa = c.segments[s.name]; s.nfa == nil {
		s.nfa, err = automaton.Compile(sequence(elems))
		c.segments[s.name] = s.nfa
	}
	return s, err
}

func elementName(p *pattern.Pattern, e pattern.Element) string {
	if e.Placeholder < 0 {
		return fmt.Sprint(e.Expr)
	}
	return p.Placeholders()[e.Placeholder].Type.Definition()
}

// plan says where the captures lie.
func (r *route) plan(p *pattern.Pattern) plan {
	out := plan{spots: make([]spot, len(p.Placeholders()))}
	ok := true
	for i, s := range r.segments {
		ok = out.place(i, s.elems, false) && ok
	}
	if r.tail != nil && len(out.spots) > 0 {
		ok = out.place(len(r.segments), r.last, true) && ok
	}
	if !ok {
		return plan{split: p}
	}
	return out
}

// place notes the placeholder of one segment; false if there are several, or if
// something follows one that runs to the end.
func (p *plan) place(at int, elems []pattern.Element, tail bool) bool {
	found := -1
	var left, right uint32
	for _, e := range elems {
		switch {
		case e.Placeholder < 0 && found < 0:
			left += uint32(len(e.Literal))
		case e.Placeholder < 0:
			right += uint32(len(e.Literal))
		case found >= 0:
			return false
		default:
			found = e.Placeholder
		}
	}
	if found >= 0 {
		p.spots[found] = spot{segment: at, left: left, right: right, rest: tail}
	}
	return !tail || right == 0
}

// begin returns the cursor of an item before its i-th segment.
func (c *compiler) begin(item, i int) cursor {
	if i < len(c.routes[item].segments) {
		return cursor{item: item, segment: i}
	}
	return cursor{item: item, segment: i, positions: []int32{0}}
}

func (c *compiler) intern(cursors []cursor) int32 {
	if len(cursors) == 0 {
		return dead
	}
	slices.SortFunc(cursors, func(x, y cursor) int {
		if x.item != y.item {
			return x.item - y.item
		}
		if x.segment != y.segment {
			return x.segment - y.segment
		}
		return slices.Compare(x.positions, y.positions)
	})
	var key []byte
	for _, cur := range cursors {
		key = binary.LittleEndian.AppendUint32(key, uint32(cur.item))
		key = binary.LittleEndian.AppendUint16(key, uint16(cur.segment))
		key = binary.LittleEndian.AppendUint16(key, uint16(len(cur.positions)))
		key = append(key, automaton.SubsetKey(cur.positions)...)
	}
	id, known := c.states[string(key)]
	if !known {
		id = int32(len(c.queue))
		c.states[string(key)] = id
		c.queue = append(c.queue, cursors)
		c.cursors += len(cursors)
	}
	return id
}

// expand computes what may be in the segment of state s and where it leads.
func (c *compiler) expand(m *Matcher, s int32) error {
	literals := map[string][]cursor{}
	var names []string // of the components, in order of first appearance
	var components []component
	byName := map[string]int{}
	var members [][]cursor
	for _, cur := range c.queue[s] {
		comp, name := c.component(cur)
		if comp.nfa == nil {
			text := c.routes[cur.item].segments[cur.segment].literal
			literals[text] = append(literals[text], cur)
			continue
		}
		i, known := byName[name]
		if !known {
			i = len(components)
			byName[name] = i
			components, members, names = append(components, comp), append(members, nil), append(names, name)
		}
		members[i] = append(members[i], cur)
	}
	st := state{words: len(literals) > 0}
	if len(components) > 0 {
		var err error
		if st.class, err = c.classifier(names, components); err != nil {
			return err
		}
		for _, got := range st.class.reached {
			st.targets = append(st.targets, c.resolve(nil, got, members))
		}
		if len(st.targets) > 1 {
			st.first = st.targets[1]
		}
	}
	m.states = append(m.states, st)
	return c.addWords(s, st.class, literals, members)
}

// component returns the automaton a cursor is before; none if literal text does.
func (c *compiler) component(cur cursor) (component, string) {
	r := &c.routes[cur.item]
	if cur.segment < len(r.segments) {
		s := &r.segments[cur.segment]
		return component{s.nfa, []int32{0}, true}, s.name
	}
	return component{r.tail, cur.positions, false}, r.tailName + "@" + automaton.SubsetKey(cur.positions)
}

func (c *compiler) classifier(names []string, components []component) (*classifier, error) {
	key := strings.Join(names, "\x00")
	if known := c.classifiers[key]; known != nil {
		return known, nil
	}
	made, err := newClassifier(components, &c.work)
	c.classifiers[key] = made
	return made, err
}

// addWords enters the literal segments of a state. A literal segment may at the
// same time be a value of the placeholders beside it.
func (c *compiler) addWords(s int32, class *classifier, literals map[string][]cursor, members [][]cursor) error {
	texts := make([]string, 0, len(literals))
	for text := range literals {
		texts = append(texts, text)
	}
	slices.Sort(texts)
	for _, text := range texts {
		var also []reach
		if class != nil {
			also = class.reached[class.label([]byte(text))]
		}
		c.words = append(c.words, sealedWord{s, text, c.resolve(literals[text], also, members)})
		if err := c.bounded(); err != nil {
			return err
		}
	}
	return nil
}

// resolve returns where a segment leads that fulfils the literal cursors and the
// reached components.
func (c *compiler) resolve(literal []cursor, got []reach, members [][]cursor) target {
	var owners []int
	var next []cursor
	advance := func(cur cursor) {
		if r := &c.routes[cur.item]; cur.segment+1 == len(r.segments) && r.tail == nil {
			owners = append(owners, cur.item)
		} else {
			next = append(next, c.begin(cur.item, cur.segment+1))
		}
	}
	for _, cur := range literal {
		advance(cur)
	}
	for _, g := range got {
		for _, cur := range members[g.component] {
			r := &c.routes[cur.item]
			if cur.segment < len(r.segments) {
				advance(cur)
				continue
			}
			if slices.ContainsFunc(g.positions, func(p int32) bool { return r.tail.Final[p] }) {
				owners = append(owners, cur.item)
			}
			if over := r.tail.Step(g.positions, scalar.Separator); len(over) > 0 {
				next = append(next, cursor{cur.item, cur.segment, over})
			}
		}
	}
	return target{c.winner(owners), c.intern(next)}
}

// seal builds the hash table of all words, at most half full.
func (m *Matcher) seal(words []sealedWord) {
	size := 2
	for size < 2*len(words)+1 {
		size *= 2
	}
	m.mask = uint32(size - 1)
	m.words = make([]literalSegment, size)
	for i := range m.words {
		m.words[i].state = -1
	}
	for _, w := range words {
		_, lo, hi, hash := segmentAt([]byte(w.text), 0)
		if len(w.text) > 16 {
			lo, hi = uint64(len(m.long)), hash
			m.long = append(m.long, w.text...)
		}
		i := place(w.state, uint32(len(w.text)), hash) & m.mask
		for m.words[i].state >= 0 {
			i = (i + 1) & m.mask
		}
		m.words[i] = literalSegment{lo, hi, w.state, uint32(len(w.text)), w.target}
	}
}
