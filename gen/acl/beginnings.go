package acl

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// beginnings holds targets by the literal text that their patterns begin with: two
// patterns share no name unless one of these texts begins with the other.
type beginnings struct {
	by     map[string][]*target
	sorted []string
}

func beginningsOf(targets []*target) beginnings {
	b := beginnings{by: map[string][]*target{}}
	for _, t := range targets {
		text := literal(t.pattern)
		b.by[text] = append(b.by[text], t)
	}
	b.sorted = slices.Sorted(maps.Keys(b.by))
	return b
}

// near returns the targets that may match a name that begins with a text, or, where it is whole,
// the text itself, in their order.
func (r *realm) near(text string, whole bool) (out []*target) {
	if r.begins.by == nil {
		r.begins = beginningsOf(r.targets)
		r.asked.number(r.targets)
	}
	for n := range len(text) {
		for _, t := range r.begins.by[text[:n]] {
			if len(t.pattern.Elements()) > 1 || literal(t.pattern) == "" { // else it is that text alone
				out = append(out, t)
			}
		}
	}
	if at, _ := slices.BinarySearch(r.begins.sorted, text); whole {
		out = append(out, r.begins.by[text]...)
	} else {
		for ; at < len(r.begins.sorted) && strings.HasPrefix(r.begins.sorted[at], text); at++ {
			out = append(out, r.begins.by[r.begins.sorted[at]]...)
		}
	}
	slices.SortFunc(out, func(x, y *target) int { return cmp.Compare(x.order, y.order) })
	return out
}
