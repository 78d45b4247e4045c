package files

import (
	"slices"
	"strings"
)

// shape describes what a place is taken for.
type shape uint8

const (
	empty   shape = iota // nothing is there, or null
	leaf                 // a scalar, or of several kinds
	whole                // an object with members of its own, stored as one
	section              // an object whose members are moved one by one
	mapping              // an object whose names are data
	array
)

// isMap decides whether the names of an object are data: ids and titles, or as many as there
// are objects; or whether a program has given them.
func (n *node) isMap() bool {
	names := n.sorted()
	if len(names) >= maxMembers || n.each != nil {
		return true
	}
	if len(names) == 0 {
		return false
	}
	odd := 0
	for _, name := range names {
		if !isWord(name) {
			odd++
		}
	}
	if odd*2 > len(names) {
		return true
	}
	if odd == 0 && !n.alike(names) {
		return false
	}
	present := n.names.n * 100 / (n.objects * int64(len(names))) // of the members that may be there
	switch {
	case n.objects >= 3 && len(names) >= 3 && present < 70:
		return n.alike(names)
	case n.objects >= 2 && len(names) >= 2 && present <= 60 && n.members[names[0]].objects > 0:
		return n.alike(names)
	case odd > 0:
		return n.alike(names)
	case n.objects == 1 && len(names) >= 3:
		return n.members[names[0]].objects > 0 || len(names) >= 24
	}
	return false
}

// alike reports whether all members are of one kind, and objects have the same members.
func (n *node) alike(names []string) bool {
	first := n.members[names[0]]
	for _, name := range names {
		m := n.members[name]
		if kindOf(m) != kindOf(first) {
			return false
		}
		if m.objects > 0 && !m.isMap() && !slices.Equal(m.sorted(), first.sorted()) {
			return false
		}
	}
	return kindOf(first) != ""
}

// kindOf returns the one kind of value that a place has, "" for several or none.
func kindOf(n *node) string {
	kinds := []struct {
		name string
		n    int64
	}{{"bool", n.bools}, {"object", n.objects}, {"array", n.arrays}, {"number", n.ints + n.fractions}, {"text", n.texts.n}}
	out := ""
	for _, k := range kinds {
		if k.n > 0 && out != "" {
			return ""
		} else if k.n > 0 {
			out = k.name
		}
	}
	return out
}

// shape decides what a place is. A record is one that is an element of a map or an array.
func (n *node) shape(element bool) shape {
	switch {
	case n == nil || n.total() == n.nulls:
		return empty
	case n.scalars() > 0 || n.objects > 0 && n.arrays > 0:
		return leaf
	case n.arrays > 0:
		if n.elements.total() == 0 {
			return empty
		}
		return array
	case len(n.members) == 0 && n.each == nil:
		return empty
	case n.isMap():
		return mapping
	}
	rooms, own := 0, 0
	for _, name := range n.sorted() {
		if n.members[name].room() {
			rooms++
		} else {
			own++
		}
	}
	if rooms > own || rooms > 0 && !element {
		return section
	}
	return whole
}

// room reports whether a member holds records of its own, and is no part of one.
func (n *node) room() bool {
	switch n.shape(false) {
	case section:
		return true
	case mapping:
		return true
	case array:
		return n.elements.objects > 0 || n.longest > 32
	}
	return false
}

// place represents one place of the documents, as a path says it.
type place struct {
	source   *source
	path     string
	steps    []string
	captures []*capture
	last     *capture // the capture that ends the path
	element  bool     // the path ends in an array
	array    *node    // then: that array
	node     *node
	words    []string // of the source, and the members on the way
	of       string   // the member before, or the source
}

// capture represents a name of the path that is data.
type capture struct {
	name  string
	texts *words
	in    string // what it is called in keys that are drafted

	called string // after the placeholder of a declared key
}

const maxSteps = 24

// places returns all that a migration may take from, those above before those below.
func (s *source) places() (out []*place) {
	root := &place{source: s, node: s.node, captures: slices.Clone(s.captures), words: s.words, of: s.name}
	var visit func(p *place)
	visit = func(p *place) {
		out = append(out, p)
		if len(p.steps) > maxSteps || p.element {
			return
		}
		switch p.node.shape(p.last != nil) {
		case mapping:
			child := p.child("")
			all := p.node.names
			child.node = p.node.mergedMembers()
			child.last = &capture{name: s.captureName(p, &all), texts: &all}
			child.captures = append(slices.Clone(p.captures), child.last)
			child.at("{" + child.last.name + "}")
			visit(child)
		case array:
			child := p.child("")
			child.node, child.element, child.array = p.node.elements, true, p.node
			child.at("[]")
			visit(child)
		case section, whole:
			for _, name := range p.node.sorted() {
				child := p.child(name)
				child.node, child.of = p.node.members[name], name
				child.at(escaped.Replace(name))
				visit(child)
			}
		}
	}
	visit(root)
	return out
}

func (p *place) child(name string) *place {
	out := &place{source: p.source, captures: p.captures, words: p.words, of: p.of, steps: p.steps}
	if name != "" {
		out.words = append(slices.Clone(p.words), wordsOf(name)...)
	}
	return out
}

func (p *place) at(step string) {
	p.steps = append(slices.Clone(p.steps), step)
	p.path = "/" + strings.Join(p.steps, "/")
}

// from returns the place as a move has it.
func (p *place) from() string { return p.source.name + ":" + p.path }

// said returns the place as people read it.
func (p *place) said() string {
	if p.path == "" {
		return p.source.name + " (the whole document)"
	}
	return p.from()
}

// inside reports whether a place is below another one.
func (p *place) inside(o *place) bool {
	return p.source == o.source && len(p.steps) > len(o.steps) && slices.Equal(p.steps[:len(o.steps)], o.steps)
}

// captureName returns what a capture is called: after what it is in.
func (s *source) captureName(p *place, texts *words) string {
	w := wordsOf(p.of)
	name := "id"
	if len(w) > 0 {
		name = plainName(strings.Join(w, "_"))
	}
	if texts.typeOf() == "date" {
		name = "day"
	} else if texts.digits == texts.n || texts.uuids == texts.n || texts.hexes == texts.n {
		if !strings.HasSuffix(name, "id") {
			name += "_id"
		}
	} else if texts.plain < texts.n || texts.slugs < texts.n {
		name += "_name"
	}
	return free(name, func(n string) bool {
		return slices.ContainsFunc(p.captures, func(c *capture) bool { return c.name == n })
	})
}
