package automaton

import "slices"

// bfs represents a breadth-first search that remembers how it came to each node, so
// that the first node that answers a question yields the shortest string.
type bfs[N comparable] struct {
	nodes []N
	from  []int32
	via   []byte
	seen  map[N]struct{}
	at    int
}

func newBFS[N comparable](start N) *bfs[N] {
	return &bfs[N]{nodes: []N{start}, from: []int32{-1}, via: []byte{0}, seen: map[N]struct{}{start: {}}, at: -1}
}

func (s *bfs[N]) next() (n N, ok bool) {
	s.at++
	if s.at >= len(s.nodes) {
		return n, false
	}
	return s.nodes[s.at], true
}

func (s *bfs[N]) visit(n N, via byte) {
	if _, known := s.seen[n]; known {
		return
	}
	s.seen[n] = struct{}{}
	s.nodes = append(s.nodes, n)
	s.from = append(s.from, int32(s.at))
	s.via = append(s.via, via)
}

// path returns the string that leads to the node last returned by next.
func (s *bfs[N]) path() []byte {
	out := []byte{}
	for i := int32(s.at); s.from[i] >= 0; i = s.from[i] {
		out = append(out, s.via[i])
	}
	slices.Reverse(out)
	return out
}
