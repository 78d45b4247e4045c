// Package cover notes what of the documents of a source the moves of a migration read, and what they do not. It is
// called for each value while a document is read, and reads none itself.
package cover

import (
	"maps"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/route"
	"github.com/keywright/keywright/migrate/record/fault"
)

// Coverage describes what of the documents of a source the moves of a migration read, and what they do not.
// Read adds to it: see Options.
type Coverage struct {
	Bytes     int64 // of the documents
	Values    int64 // in them, that are looked at one by one
	Unread    Amount
	Places    []Unread // by their paths; at most 100, what is beyond them is in Unread alone
	Misshapen int64
	Shapes    []Misshapen      // at most 100
	Ignored   Amount           // as the declaration says
	Excepted  Amount           // by except, of all moves that would read it
	Matches   map[string]int64 // how often the path of a move was met, by its name

	places map[string]*Unread
	shapes map[string]*Misshapen
}

// Amount counts values of documents.
type Amount struct{ Values, Bytes int64 }

func (a *Amount) add(bytes int64) { a.Values, a.Bytes = a.Values+1, a.Bytes+bytes }

// Unread represents values of one path that no move reads and that are not ignored. Objects and arrays without
// anything in them, and null, are none.
type Unread struct {
	Path string // in the documents, with the captures of the moves
	Amount
	At fault.Position // of the first
}

// Misshapen represents values of another shape than a path of a move has there.
type Misshapen struct {
	Path   string // down to the value
	Want   string // "an object" or "an array"
	Has    string
	Values int64
	At     fault.Position // of the first
}

// Whole reports whether every value is read or ignored, and has the shape of the paths.
func (c *Coverage) Whole() bool { return c.Unread.Values == 0 && c.Misshapen == 0 }

// Coverages holds the coverage of sources, by name. A nil one takes nothing.
type Coverages map[string]*Coverage

// Of returns the coverage of a source, and makes it if there is none.
func (c Coverages) Of(source string) *Coverage {
	if c == nil {
		return nil
	}
	if c[source] == nil {
		c[source] = &Coverage{Matches: map[string]int64{}}
	}
	return c[source]
}

// maxPlaces bounds the paths that are listed of a source.
const maxPlaces = 100

// Covered represents a step of a path, or of a member that a term takes, and what is read there.
type Covered struct {
	step     route.Step
	children []*Covered
	of       []*keyspace.Move // that come through here, or end here
	takes    []*keyspace.Move // that read the whole of it
	path     bool             // it is of a path, so that the value around it must have its shape
	ignored  bool
}

func (n *Covered) child(s route.Step) *Covered {
	for _, c := range n.children {
		if c.step == s {
			return c
		}
	}
	c := &Covered{step: s}
	n.children = append(n.children, c)
	return c
}

// Reading represents a move with all terms that its records are made of.
type Reading struct {
	*keyspace.Move
	Terms []route.Term
}

// Of returns what the moves of a source read of its documents.
func Of(source *keyspace.Source, moves []Reading, ignored []keyspace.Ignored) *Covered {
	root := &Covered{}
	for _, r := range moves {
		mv, n := r.Move, root
		n.of = append(n.of, mv)
		for _, step := range mv.From.Steps {
			n = n.child(step)
			n.path, n.of = true, append(n.of, mv)
		}
		for _, t := range r.Terms {
			for _, ref := range t.References() {
				if !ref.Whole {
					continue
				}
				at := n
				for _, name := range ref.Members {
					at = at.child(route.Step{Kind: route.Member, Name: name})
					at.of = append(at.of, mv)
				}
				at.takes = append(at.takes, mv)
			}
		}
	}
	for i := range ignored {
		if ignored[i].Source != source {
			continue
		}
		n := root
		for _, step := range ignored[i].From.Steps {
			n = n.child(step)
		}
		n.ignored = true
	}
	return root
}

// Cover notes what of a document is read while it is walked.
type Cover struct {
	*Coverage
	file    map[string]string // what its name has captured
	excepts bool              // a move leaves something out
	next    []*Covered
	label   string // of the value under way
	from    int64  // where it begins, with its name
	frames  []coverFrame
	texts   []string // what captures have, each after its name
}

// fate describes what becomes of a value.
type fate uint8

const (
	partly fate = iota // what is in it says
	isRead
	isUnread
	isIgnored
	isExcepted
	within // of a value that has one of these
)

// coverFrame represents a value that is open.
type coverFrame struct {
	nodes []*Covered
	label string
	fate  fate
	from  int64
	at    fault.Position
	texts int
	any   bool // something is in it
	of    byte // its first byte
}

// New returns the cover of a document, of which moves read what root says.
func New(c *Coverage, root *Covered, file map[string]string) *Cover {
	return &Cover{Coverage: c, file: file, next: []*Covered{root},
		excepts: slices.ContainsFunc(root.of, func(mv *keyspace.Move) bool { return len(mv.Except) > 0 })}
}

// Begin notes a value that begins with a byte.
func (c *Cover) Begin(of byte, at fault.Position) {
	f := coverFrame{label: c.label, from: c.from, at: at, of: of}
	if len(c.frames) == 0 {
		f.from = at.Offset
	} else {
		c.Values++
		outer := &c.frames[len(c.frames)-1]
		outer.any = true
		if outer.fate != partly {
			f.fate = within
		}
	}
	if f.fate != within {
		f.nodes, f.fate = c.judge(c.next, of, &f)
	}
	f.texts, c.frames = len(c.texts), append(c.frames, f)
}

// judge says what becomes of a value, by the nodes that lead to it.
func (c *Cover) judge(nodes []*Covered, of byte, f *coverFrame) ([]*Covered, fate) {
	if len(nodes) == 0 {
		return nil, isUnread
	}
	var live []*Covered
	takes, ignored := false, false
	for _, n := range nodes {
		takes = takes || slices.ContainsFunc(n.takes, c.moves)
		ignored = ignored || n.ignored
		if len(n.of) == 0 || slices.ContainsFunc(n.of, c.moves) {
			live = append(live, n)
		}
	}
	switch {
	case takes:
		return nil, isRead
	case ignored:
		return nil, isIgnored
	case len(live) == 0:
		return nil, isExcepted
	case of == 'n':
		return nil, isRead
	}
	want, goes := "", false
	for _, n := range live {
		for _, child := range n.children {
			goes = goes || of == '{' && child.step.InObject() || of == '[' && !child.step.InObject()
			if child.path && want == "" {
				want = map[bool]string{true: "an object", false: "an array"}[child.step.InObject()]
			}
		}
	}
	switch {
	case goes:
		return live, partly
	case want != "":
		c.misshapen(f, want)
		return nil, isUnread
	case of == '{': // its members are listed one by one
		return live, partly
	}
	return nil, isUnread
}

// moves reports whether a move does not leave out what is under way.
func (c *Cover) moves(mv *keyspace.Move) bool {
	if !c.excepts {
		return true
	}
	for name, texts := range mv.Except {
		text, there := c.file[name]
		for i := 0; i < len(c.texts); i += 2 {
			if c.texts[i] == name {
				text, there = c.texts[i+1], true
			}
		}
		if there && slices.Contains(texts, text) {
			return false
		}
	}
	return true
}

// Step notes that a member or element begins, whose name or value is at an offset.
func (c *Cover) Step(name string, inObject bool, from int64) {
	f := &c.frames[len(c.frames)-1]
	if c.from = from; f.fate != partly {
		return
	}
	c.next = c.next[:0:0]
	c.texts = c.texts[:f.texts]
	label := escapeStep(name)
	if !inObject {
		label = "[]"
	}
	for _, n := range f.nodes {
		for _, child := range n.children {
			switch child.step.Kind {
			case route.Member:
				if !inObject || child.step.Name != name {
					continue
				}
			case route.Capture:
				if !inObject {
					continue
				}
				label = "{" + child.step.Name + "}"
				if c.excepts {
					c.texts = append(c.texts, child.step.Name, name)
				}
			default:
				if inObject {
					continue
				}
			}
			c.next = append(c.next, child)
		}
	}
	c.label = f.label + "/" + label
}

// escapeStep writes a member's name as a path does, and cuts one that is long.
func escapeStep(name string) string {
	if cut := []rune(name); len(cut) > 80 {
		name = string(cut[:80]) + "…"
	}
	return route.Step{Kind: route.Member, Name: name}.String()
}

// End notes that the innermost value has ended.
func (c *Cover) End(to int64) {
	f := c.frames[len(c.frames)-1]
	c.frames = c.frames[:len(c.frames)-1]
	if f.of == 'n' || (f.of == '{' || f.of == '[') && !f.any {
		return // nothing is in it
	}
	switch bytes := to - f.from; f.fate {
	case isUnread:
		c.Unread.add(bytes)
		c.unread(&f, bytes)
	case isIgnored:
		c.Ignored.add(bytes)
	case isExcepted:
		c.Excepted.add(bytes)
	}
}

func (c *Coverage) unread(f *coverFrame, bytes int64) {
	if c.places == nil {
		c.places = map[string]*Unread{}
	}
	u := c.places[f.label]
	if u == nil && len(c.places) < maxPlaces {
		u = &Unread{Path: f.label, At: f.at}
		c.places[f.label] = u
	}
	if u != nil {
		u.add(bytes)
	}
}

func (c *Coverage) misshapen(f *coverFrame, want string) {
	c.Misshapen++
	if c.shapes == nil {
		c.shapes = map[string]*Misshapen{}
	}
	has := map[byte]string{'{': "an object", '[': "an array", '"': "a text", 'n': "null", 't': "true or false",
		'f': "true or false"}[f.of]
	if has == "" {
		has = "a number"
	}
	key := f.label + "\x00" + want + "\x00" + has
	m := c.shapes[key]
	if m == nil && len(c.shapes) < maxPlaces {
		m = &Misshapen{Path: f.label, Want: want, Has: has, At: f.at}
		c.shapes[key] = m
	}
	if m != nil {
		m.Values++
	}
}

// Ended lists what was found, when a document has ended.
func (c *Coverage) Ended(bytes int64) {
	c.Bytes += bytes
	c.Places = c.Places[:0]
	for _, u := range c.places {
		c.Places = append(c.Places, *u)
	}
	slices.SortFunc(c.Places, func(a, b Unread) int { return strings.Compare(a.Path, b.Path) })
	c.Shapes = c.Shapes[:0]
	for _, key := range slices.Sorted(maps.Keys(c.shapes)) {
		c.Shapes = append(c.Shapes, *c.shapes[key])
	}
}

// Unmet reports whether there is anything in the documents, and no document has met the path of a move.
func (c *Coverage) Unmet(move string) bool { return c.Values > 0 && c.Matches[move] == 0 }
