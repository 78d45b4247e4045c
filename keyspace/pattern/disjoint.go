package pattern

import (
	"strings"

	"github.com/keywright/keywright/keyspace/scalar"
)

// segment is what is known of the text between two separators: the literals that it begins and ends with, and
// whether that is all.
type segment struct {
	begin, end string
	whole      bool
}

// segments returns those of a pattern up to the first element that may hold a separator. If there is one the pattern
// is open: of the last segment only the beginning is known, and others may follow.
func (p *Pattern) segments() (out []segment, open bool) {
	out = []segment{{whole: true}}
	for _, e := range p.elems {
		last := &out[len(out)-1]
		if e.Literal == "" {
			last.whole, last.end = false, ""
			if e.Crosses {
				return out, true
			}
			continue
		}
		for i, text := range strings.Split(e.Literal, string(scalar.Separator)) {
			if i > 0 {
				out = append(out, segment{whole: true})
				last = &out[len(out)-1]
			}
			if last.end += text; last.whole {
				last.begin = last.end
			}
		}
	}
	return out, false
}

// ending returns the literal that all keys of a pattern end with.
func (p *Pattern) ending() string {
	if len(p.elems) == 0 {
		return ""
	}
	return p.elems[len(p.elems)-1].Literal
}

// Disjoint reports whether literals alone show that two patterns have no key in common. It
// makes no automata; where it is false there may be none all the same.
func Disjoint(a, b *Pattern) bool {
	x, openX := a.segments()
	y, openY := b.segments()
	if len(x) < len(y) && !openX || len(y) < len(x) && !openY {
		return true
	}
	if s, t := a.ending(), b.ending(); !strings.HasSuffix(s, t) && !strings.HasSuffix(t, s) {
		return true
	}
	for i := range min(len(x), len(y)) {
		s, t := x[i], y[i]
		if openX && i == len(x)-1 || openY && i == len(y)-1 {
			s.end, t.end = "", ""
		}
		if s.disjoint(t) {
			return true
		}
	}
	return false
}

func (s segment) disjoint(t segment) bool {
	switch {
	case s.whole && t.whole:
		return s.begin != t.begin
	case s.whole:
		return !t.admits(s.begin)
	case t.whole:
		return !s.admits(t.begin)
	}
	return !strings.HasPrefix(s.begin, t.begin) && !strings.HasPrefix(t.begin, s.begin) ||
		!strings.HasSuffix(s.end, t.end) && !strings.HasSuffix(t.end, s.end)
}

// admits reports whether a text may be such a segment, as far as its literals tell.
func (s segment) admits(text string) bool {
	return len(text) >= len(s.begin)+len(s.end) && strings.HasPrefix(text, s.begin) && strings.HasSuffix(text, s.end)
}
