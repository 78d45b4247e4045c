package pattern

import (
	"slices"
	"strings"
)

// Index holds what has a pattern by the literal that the patterns begin with.
type Index[T any] struct {
	all      []T // sorted by it
	prefixes []string
}

// NewIndex makes an index of a list, whose order it keeps among those that begin alike.
func NewIndex[T any](list []T, of func(T) *Pattern) *Index[T] {
	x := &Index[T]{all: slices.Clone(list)}
	slices.SortStableFunc(x.all, func(a, b T) int { return strings.Compare(of(a).begin(), of(b).begin()) })
	for _, one := range x.all {
		x.prefixes = append(x.prefixes, of(one).begin())
	}
	return x
}

// begin returns the literal that all keys of a pattern begin with.
func (p *Pattern) begin() string {
	if len(p.elems) == 0 {
		return ""
	}
	return p.elems[0].Literal
}

// Meet returns those whose patterns may have a key in common with p: one begins as the
// other does.
func (x *Index[T]) Meet(p *Pattern) (out []T) {
	begin := p.begin()
	for n := range len(begin) { // those that begin with less
		for i, _ := slices.BinarySearch(x.prefixes, begin[:n]); i < len(x.all) && x.prefixes[i] == begin[:n]; i++ {
			out = append(out, x.all[i])
		}
	}
	for i, _ := slices.BinarySearch(x.prefixes, begin); i < len(x.all) && strings.HasPrefix(x.prefixes[i], begin); i++ {
		out = append(out, x.all[i])
	}
	return out
}
