package record

import (
	"fmt"
	"slices"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/route"
	"github.com/keywright/keywright/migrate/record/cover"
	"github.com/keywright/keywright/migrate/record/internal/datum"
)

// node represents a prefix of the paths of a source: a step, and what comes after it.
type node struct {
	step     route.Step
	parent   *node
	depth    int // steps from the root
	captures int // of the steps up to here
	children []*node
	moves    []*Move // whose path ends here
	held     bool    // one of them takes something of the value
}

// child finds or makes the node after a step.
func (n *node) child(s route.Step) *node {
	for _, c := range n.children {
		if c.step == s {
			return c
		}
	}
	c := &node{step: s, parent: n, depth: n.depth + 1, captures: n.captures}
	if s.Kind == route.Capture || s.Kind == route.Place {
		c.captures++
	}
	n.children = append(n.children, c)
	return c
}

// Compile prepares a migration that was loaded without fault. The error says
// which move is not complete.
func Compile(m *keyspace.Migration) (*Map, error) {
	out := &Map{Migration: m}
	for _, s := range m.Sources {
		out.Sources = append(out.Sources, &Source{Source: s, root: &node{}, before: slices.Clone(out.Sources)})
	}
	for _, p := range m.Parts {
		for _, decl := range p.Moves {
			s := out.Source(decl.Source.Name)
			if s == nil {
				return nil, fmt.Errorf("the move %s takes from a source that is not declared", decl.Name)
			}
			mv, err := newMove(decl, p, s)
			if err != nil {
				return nil, err
			}
			for _, r := range m.Compare {
				if r.Entry == decl.To {
					mv.rules = append(mv.rules, r)
				}
			}
			out.Moves, s.Moves = append(out.Moves, mv), append(s.Moves, mv)
		}
	}
	for _, s := range out.Sources {
		var moves []cover.Reading
		for _, mv := range s.Moves {
			moves = append(moves, cover.Reading{Move: mv.Move, Terms: mv.terms()})
		}
		s.covers = cover.Of(s.Source, moves, m.Ignore)
	}
	return out, nil
}

func newMove(decl *keyspace.Move, p *keyspace.Part, s *Source) (*Move, error) {
	mv := &Move{Move: decl, Part: p, Source: s, path: s.root}
	main := decl.To.Keys[0]
	places := main.Pattern.Placeholders()
	if len(decl.With) != len(places) {
		return nil, fmt.Errorf("the move %s binds %d of %d placeholders", decl.Name, len(decl.With), len(places))
	}
	for i := range places {
		mv.with = append(mv.with, *datum.NewSlot(places[i].Name, &decl.With[i].Term, &places[i].Type))
	}
	types := decl.Types()
	mv.field = datum.NewSlot("field", decl.Field, types["field"])
	mv.member = datum.NewSlot("member", decl.Member, types["member"])
	mv.score = datum.NewSlot("score", decl.Score, types["score"])
	mv.value = datum.NewSlot("value", decl.Value, types["value"])
	mv.tries = datum.NewSlot("tries", decl.Tries, types["tries"])
	for _, b := range decl.Fields {
		i := slices.IndexFunc(main.Fields, func(f keyspace.Field) bool { return f.Name == b.Name })
		if i < 0 {
			return nil, fmt.Errorf("the move %s fills a field that %s has not", decl.Name, decl.To.Name)
		}
		mv.fields = append(mv.fields, *datum.NewSlot(b.Name, &b.Term, &main.Fields[i].Type))
	}
	for _, step := range decl.From.Steps {
		mv.path = mv.path.child(step)
	}
	mv.path.moves = append(mv.path.moves, mv)
	mv.path.held = mv.path.held || mv.ofValue()
	return mv, nil
}

// ofValue reports whether a record of the move has anything of the value, and not
// of captures alone.
func (mv *Move) ofValue() bool {
	if mv.TTL != nil && (mv.TTL.From != nil && datum.OfRecord(mv.TTL.From) ||
		mv.TTL.Until != nil && datum.OfRecord(mv.TTL.Until)) {
		return true
	}
	return slices.ContainsFunc(mv.slots(), func(s *datum.Slot) bool { return datum.OfRecord(&s.Term) })
}

// Move returns the move of that name ("part.entry"), nil if there is none.
func (m *Map) Move(name string) *Move {
	i := slices.IndexFunc(m.Moves, func(mv *Move) bool { return mv.Name == name })
	if i < 0 {
		return nil
	}
	return m.Moves[i]
}

// Source returns the source of that name, nil if there is none.
func (m *Map) Source(name string) *Source {
	i := slices.IndexFunc(m.Sources, func(s *Source) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return m.Sources[i]
}

// Captures describes what the captures of a file name and a path have captured, by
// their names.
type Captures map[string]string

// Match reads the captures of a file's name, slash-separated and relative to the
// folder of the sources. ok is false for a file that is not of this source.
func (s *Source) Match(file string) (captures Captures, ok bool) {
	values, ok := s.File.Match(file)
	if !ok {
		return nil, false
	}
	captures = Captures{}
	for i, name := range s.File.Captures() {
		captures[name] = values[i]
	}
	return captures, true
}

// terms returns all that a record of the move is made of.
func (mv *Move) terms() (out []route.Term) {
	for _, s := range mv.slots() {
		out = append(out, s.Term)
	}
	if mv.TTL != nil {
		for _, t := range []*route.Term{mv.TTL.From, mv.TTL.Until} {
			if t != nil {
				out = append(out, *t)
			}
		}
	}
	return out
}

// identifies reports whether a slot is one of those that say which record it is.
func identifies(mv *Move, s *datum.Slot) bool {
	return s == mv.field || s == mv.member || slices.Contains(mv.slots()[:len(mv.with)], s)
}

// identityMembers returns the members by which the records of a move are told, as
// terms.
func identityMembers(mv *Move) (out []string) {
	for _, s := range mv.slots() {
		if identifies(mv, s) && s.Term.Func == "" && s.Term.Whole {
			out = append(out, s.Term.String())
		}
	}
	return out
}
