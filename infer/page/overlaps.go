package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// dropOverlaps keeps of two keys that a name may be of both the one that says more, and passes over
// the other: a declaration cannot have the two.
func (c *collector) dropOverlaps(keys []Key) []Key {
	parsed := make([]*pattern.Pattern, len(keys))
	for i, k := range keys {
		parsed[i], _ = patternOf(k)
	}
	gone := make([]bool, len(keys))
	byLength := map[int][]int{}
	for i, k := range keys {
		n := segments(k.Pattern)
		for _, j := range byLength[n] {
			if gone[i] {
				break
			} else if gone[j] || !mayMeet(k.Pattern, keys[j].Pattern) || parsed[i] == nil || parsed[j] == nil {
				continue
			}
			if !meet(parsed[i], parsed[j]) {
				continue
			}
			out, in := i, j
			if countLiteral(keys[j].Pattern) < countLiteral(k.Pattern) {
				out, in = j, i
			}
			gone[out] = true
			c.Pass(keys[out].Line, keys[out].Pattern,
				fmt.Sprintf("a key may be of it and of %s (line %d), and a draft cannot have both", keys[in].Pattern,
					keys[in].Line))
		}
		byLength[n] = append(byLength[n], i)
	}
	i := -1
	return slices.DeleteFunc(keys, func(Key) bool { i++; return gone[i] })
}

// meet reports whether two patterns have a key in common and neither is a part of the other,
// or both are one.
func meet(a, b *pattern.Pattern) bool {
	if _, common := pattern.Overlap(a, b); !common {
		return false
	}
	_, wider := pattern.Contains(a, b)
	_, narrower := pattern.Contains(b, a)
	return wider == narrower
}

func patternOf(k Key) (*pattern.Pattern, error) {
	return pattern.Parse(k.Pattern, func(name string) (scalar.Type, bool) {
		t, err := scalar.Parse(k.Types[name], nil)
		return t, err == nil && k.Types[name] != ""
	})
}

// segments counts the colons of a pattern outside of its placeholders.
func segments(p string) int {
	n := 0
	eachByte(p, func(b byte, _ int) {
		if b == ':' {
			n++
		}
	})
	return n
}

// countLiteral counts the bytes of a pattern outside of its placeholders.
func countLiteral(p string) int {
	n := 0
	eachByte(p, func(byte, int) { n++ })
	return n
}

// eachByte visits the bytes of a pattern that are in no placeholder, with their place.
func eachByte(p string, visit func(b byte, at int)) {
	in := false
	for i := range len(p) {
		switch {
		case p[i] == '{' && (i+1 == len(p) || p[i+1] != '#') && (i == 0 || p[i-1] != '\\'):
			in = true
		case p[i] == '}' && in:
			in = false
		case !in:
			visit(p[i], i)
		}
	}
}

// mayMeet reports whether no segment tells two patterns apart: a word against another one, or
// what they begin and end with.
func mayMeet(a, b string) bool {
	p, q := parts(a), parts(b)
	for i := range min(len(p), len(q)) {
		x, y := p[i], q[i]
		if strings.ContainsAny(x+y, `\#`) {
			continue
		}
		before, after := fixed(x)
		left, right := fixed(y)
		n, m := min(len(before), len(left)), min(len(after), len(right))
		switch {
		case !strings.Contains(x, "{") && !strings.Contains(y, "{"):
			if x != y {
				return false
			}
		case before[:n] != left[:n], after[len(after)-m:] != right[len(right)-m:]:
			return false
		}
	}
	return len(p) == len(q)
}

// parts splits a pattern at the colons outside of its placeholders.
func parts(p string) []string {
	var out []string
	last := 0
	eachByte(p, func(b byte, at int) {
		if b == ':' {
			out, last = append(out, p[last:at]), at+1
		}
	})
	return append(out, p[last:])
}

// fixed returns what a segment has before its first placeholder and after its last one.
func fixed(segment string) (before, after string) {
	before, _, _ = strings.Cut(segment, "{")
	return before, segment[strings.LastIndexByte(segment, '}')+1:]
}
