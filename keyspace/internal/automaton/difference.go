package automaton

import "encoding/binary"

// maxWork bounds a search over several automata at once: nodes times automata.
const maxWork = 1 << 18

// Difference finds the shortest string that is in each language of in and in none
// of out. decided is false when that would take too many steps to tell.
func Difference(in, out []*DFA) (witness []byte, found, decided bool) {
	budget := maxWork
	return DifferenceWithin(&budget, in, out)
}

// DifferenceWithin is Difference with a budget, in nodes times automata, that
// several calls share: it takes away what it has used.
func DifferenceWithin(budget *int, in, out []*DFA) (witness []byte, found, decided bool) {
	s := difference{in: len(in), all: append(append([]*DFA{}, in...), out...)}
	steps := s.steps()
	search := newBFS(string(make([]byte, 4*len(s.all))))
	limit := min(maxWork, *budget)
	defer func() { *budget -= len(search.nodes) * len(s.all) }()
	for {
		at, more := search.next()
		if !more {
			return nil, false, true
		}
		if s.answer(at) {
			return search.path(), true, true
		}
		if len(search.nodes)*len(s.all) > limit {
			return nil, false, false
		}
		for _, b := range steps {
			if to, alive := s.step(at, b); alive {
				search.visit(to, b)
			}
		}
	}
}

// difference represents a product of automata; a node is one state of each, as text.
type difference struct {
	in  int // so many must accept, the others must not
	all []*DFA
}

func (s *difference) state(node string, i int) int32 {
	return int32(binary.LittleEndian.Uint32([]byte(node[4*i : 4*i+4])))
}

func (s *difference) answer(node string) bool {
	for i, d := range s.all {
		if d.final(s.state(node, i)) != (i < s.in) {
			return false
		}
	}
	return true
}

// step is false when a string that begins so can be no answer.
func (s *difference) step(node string, b byte) (string, bool) {
	to := make([]byte, 0, len(node))
	for i, d := range s.all {
		next := d.step(s.state(node, i), b)
		if next == Dead && i < s.in {
			return "", false
		}
		to = binary.LittleEndian.AppendUint32(to, uint32(next))
	}
	return string(to), true
}

// steps returns one readable byte for each set of bytes that no automaton tells apart.
func (s *difference) steps() []byte {
	classes := map[string]Set{}
	for b := range 256 {
		key := make([]byte, len(s.all))
		for i, d := range s.all {
			key[i] = d.Classes.Of[b]
		}
		set := classes[string(key)]
		set.add(byte(b))
		classes[string(key)] = set
	}
	var out []byte
	for b := range 256 { // in the order of bytes, so that the witness is always the same
		for key, set := range classes {
			if set.Has(byte(b)) {
				out = append(out, set.Pick())
				delete(classes, key)
				break
			}
		}
	}
	return out
}
