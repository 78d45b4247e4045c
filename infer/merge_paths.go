package infer

import (
	"slices"
	"strings"
)

// maxCompared bounds the paths that are compared with each other.
const maxCompared = 4000

// few says how many times more keys a path must have to take in another.
const few = 4

// mergePaths takes paths with few keys into one with many that differs from them in
// several segments, where each of these is data in both.
func mergePaths(paths []*path) []*path {
	if len(paths) > maxCompared {
		return paths
	}
	gone := map[*path]bool{}
	for _, small := range paths {
		var best *path
		for _, p := range paths {
			if p != small && !gone[p] && small.keys*few <= p.keys && p.covers(small) && (best == nil || p.keys > best.keys) {
				best = p
			}
		}
		if best != nil {
			best.absorb(small)
			gone[small] = true
		}
	}
	return slices.DeleteFunc(paths, func(p *path) bool { return gone[p] })
}

// covers reports whether the other's segments are values of this one's.
func (p *path) covers(o *path) bool {
	if p.sep != o.sep || len(p.segments) != len(o.segments) || p.kind() != o.kind() ||
		(p.ttl.none == 0) != (o.ttl.none == 0) {
		return false
	}
	words, wide := 0, false
	for i, a := range p.segments {
		b := o.segments[i]
		switch {
		case a.open != b.open || a.shut != b.shut:
			return false
		case a.shape == b.shape && len(a.words) == 0 && len(b.words) == 0:
			if isLiteral(a.shape) {
				words++
			}
			continue
		case len(a.words) > 0 && (slices.Contains(a.words, b.shape) || len(b.words) > 0 && !slices.ContainsFunc(b.words,
			func(w string) bool { return !slices.Contains(a.words, w) })):
			continue
		case len(a.words) > 0 || len(b.words) > 0 || !pure(a.shape):
			return false
		case a.shape == string(textShape) && hasClass(b.shape), pure(b.shape), insteadOfID[strings.ToLower(b.shape)]:
			wide = true
		default:
			return false
		}
	}
	return wide && words > 0
}
