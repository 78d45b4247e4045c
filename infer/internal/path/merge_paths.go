package path

import (
	"slices"
	"strings"

	"github.com/keywright/keywright/infer/internal/tree"
)

// maxCompared bounds the paths that are compared with each other.
const maxCompared = 4000

// few says how many times more keys a path must have to take in another.
const few = 4

// Merge takes paths with few keys into one with many that differs from them in
// several segments, where each of these is data in both.
func Merge(paths []*Path) []*Path {
	if len(paths) > maxCompared {
		return paths
	}
	gone := map[*Path]bool{}
	for _, small := range paths {
		var best *Path
		for _, p := range paths {
			if p != small && !gone[p] && small.Keys*few <= p.Keys && p.covers(small) && (best == nil || p.Keys > best.Keys) {
				best = p
			}
		}
		if best != nil {
			best.Absorb(small)
			gone[small] = true
		}
	}
	return slices.DeleteFunc(paths, func(p *Path) bool { return gone[p] })
}

// covers reports whether the other's segments are values of this one's.
func (p *Path) covers(o *Path) bool {
	if p.Sep != o.Sep || len(p.Segments) != len(o.Segments) || p.Kind() != o.Kind() ||
		(p.TTL.None == 0) != (o.TTL.None == 0) {
		return false
	}
	words, wide := 0, false
	for i, a := range p.Segments {
		b := o.Segments[i]
		switch {
		case a.open != b.open || a.shut != b.shut:
			return false
		case a.Shape == b.Shape && len(a.Words) == 0 && len(b.Words) == 0:
			if IsLiteral(a.Shape) {
				words++
			}
			continue
		case len(a.Words) > 0 && (slices.Contains(a.Words, b.Shape) || len(b.Words) > 0 && !slices.ContainsFunc(b.Words,
			func(w string) bool { return !slices.Contains(a.Words, w) })):
			continue
		case len(a.Words) > 0 || len(b.Words) > 0 || !pure(a.Shape):
			return false
		case a.Shape == string(tree.TextShape) && tree.HasClass(b.Shape), pure(b.Shape),
			insteadOfID[strings.ToLower(b.Shape)]:
			wide = true
		default:
			return false
		}
	}
	return wide && words > 0
}
