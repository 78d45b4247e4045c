package pattern

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/keywright/keywright/keyspace/internal/automaton"
	"github.com/keywright/keywright/keyspace/scalar"
)

// ScanGlob returns a MATCH argument for SCAN that matches every key of the pattern,
// and as few others as a glob can say. Everything special is escaped.
func (p *Pattern) ScanGlob() string {
	if p.glob {
		return p.text
	}
	var b strings.Builder
	for _, e := range p.elems {
		if e.Placeholder >= 0 {
			star(&b)
			continue
		}
		b.WriteString(GlobLiteral(e.Literal))
	}
	return b.String()
}

// GlobLiteral returns literal text in a glob.
func GlobLiteral(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if strings.IndexByte(`*?[]\`, text[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// ACLGlob returns the key pattern of an ACL rule (without the ~). ACL files and ACL
// SETUSER cannot carry a space, a quote or a control byte, not even escaped;
// such a byte becomes a `?`. exact reports whether the glob matches the
// pattern's keys and nothing else, which is so for literal patterns only.
func (p *Pattern) ACLGlob() (glob string, exact bool) {
	exact = len(p.places) == 0 && !p.glob
	plain := p.ScanGlob()
	clean := make([]byte, 0, len(plain))
	for i := 0; i < len(plain); {
		_, size := globStep(plain[i:])
		if size == 1 { // no class and no escape: there a question mark would be itself
			_, size = utf8.DecodeRuneInString(plain[i:])
		}
		if item := plain[i : i+size]; !utf8.ValidString(item) || strings.ContainsFunc(item, notInACL) {
			clean = append(clean, '?') // one for each byte of a key
		} else {
			clean = append(clean, item...)
		}
		i += size
	}
	return string(clean), exact && string(clean) == plain
}

// notInACL reports whether the rules of an ACL cannot have a character.
func notInACL(r rune) bool { return r <= ' ' || r == '"' || r == '\'' || r == 0x7f }

func star(b *strings.Builder) {
	if !strings.HasSuffix(b.String(), "*") || strings.HasSuffix(b.String(), `\*`) {
		b.WriteByte('*')
	}
}

// HashTag returns the part of the pattern that decides the cluster slot, in the
// pattern's own writing without the braces, for example "{couponId}". ok is
// false when the whole key does.
func (p *Pattern) HashTag() (tag string, ok bool) {
	if !p.tagged {
		return "", false
	}
	for _, e := range p.slotElements() {
		if e.Placeholder >= 0 {
			tag += "{" + p.places[e.Placeholder].Name + "}"
		} else {
			tag += e.Literal
		}
	}
	return tag, true
}

// SameSlot reports whether the two patterns provably share a cluster slot
// whenever placeholders of the same name have the same value.
func (p *Pattern) SameSlot(q *Pattern) bool {
	a, b := p.slotElements(), q.slotElements()
	if p.glob || q.glob || len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Literal != b[i].Literal || (a[i].Placeholder < 0) != (b[i].Placeholder < 0) {
			return false
		}
		if a[i].Placeholder < 0 {
			continue
		}
		x, y := p.places[a[i].Placeholder], q.places[b[i].Placeholder]
		if x.Name != y.Name || x.Type.Definition() != y.Type.Definition() {
			return false
		}
	}
	return true
}

// Derive returns the pattern of a helper key of this one, in the same cluster slot:
// main:role if main has a hash tag, else {#main}:role with the whole main key
// as the tag. role is literal text. It fails for a pattern with a stray literal
// brace, which cannot be in a hash tag, and for one near the limits.
func (p *Pattern) Derive(role string) (*Pattern, error) {
	for _, e := range p.elems {
		if !p.tagged && strings.ContainsAny(e.Literal, "{}") {
			return nil, &SyntaxError{Text: p.text, Length: len(p.text),
				Message: "a key in the same cluster slot cannot be derived from a pattern with a literal brace outside a hash tag"}
		}
	}
	text := p.text + ":" + role
	if !p.tagged {
		text = "{#" + p.text + "}:" + role
	}
	return Parse(text, p.Types())
}

// tagBounds returns the elements that hold the opening and the closing brace of the
// hash tag, -1 without one.
func (p *Pattern) tagBounds() (open, end int) {
	open = -1
	for i, e := range p.elems {
		if e.Literal == "" {
			continue
		}
		rest := e.Literal
		if open < 0 {
			at := strings.IndexByte(rest, '{')
			if at < 0 {
				continue
			}
			open, rest = i, rest[at+1:]
		}
		if at := strings.IndexByte(rest, '}'); at == 0 && open == i {
			return -1, -1 // {} : no tag, and the first brace is the only one that counts
		} else if at >= 0 {
			return open, i
		}
	}
	return -1, -1
}

// slotElements returns the elements whose bytes are hashed.
func (p *Pattern) slotElements() []Element {
	open, end := p.tagBounds()
	if open < 0 {
		return p.elems
	}
	tag := append([]Element(nil), p.elems[open:end+1]...)
	if last := &tag[len(tag)-1]; open != end {
		last.Literal = last.Literal[:strings.IndexByte(last.Literal, '}')]
	}
	first := &tag[0]
	first.Literal = first.Literal[strings.IndexByte(first.Literal, '{')+1:]
	if open == end {
		first.Literal = first.Literal[:strings.IndexByte(first.Literal, '}')]
	}
	out := tag[:0]
	for _, e := range tag {
		if e.Literal != "" || e.Placeholder >= 0 {
			out = append(out, e)
		}
	}
	return out
}

// Types resolves the placeholders of this pattern, to parse another one beside
// it.
func (p *Pattern) Types() Resolve {
	return func(name string) (t scalar.Type, ok bool) {
		for _, place := range p.places {
			if place.Name == name {
				return place.Type, true
			}
		}
		return t, false
	}
}

// Glob compiles a Redis glob: `*`, `?`, `[abc]`, `[^a-z]` and backslash
// escapes, as MATCH and ACL rules read them. It has no placeholders and cannot
// build keys.
func Glob(text string) (*Pattern, error) {
	p := &Pattern{text: text, glob: true}
	if text == "" || len(text) > MaxBytes {
		return nil, &SyntaxError{Text: text, Length: len(text),
			Message: fmt.Sprintf("a glob has 1 to %d bytes, not %d", MaxBytes, len(text))}
	}
	var literal []byte
	flush := func() {
		if len(literal) > 0 {
			p.elems = append(p.elems, literalElement(string(literal)))
			literal = nil
		}
	}
	for at := 0; at < len(text); {
		e, n := globStep(text[at:])
		at += n
		if e.Literal != "" {
			literal = append(literal, e.Literal...)
			continue
		}
		flush()
		if last := len(p.elems) - 1; n == 1 && text[at-1] == '*' && last >= 0 && p.elems[last].Expr.Nullable() {
			continue // ** is *
		}
		p.elems = append(p.elems, e)
	}
	flush()
	if err := p.compile(); err != nil {
		var large *automaton.TooLargeError
		errors.As(err, &large)
		return nil, &SyntaxError{Text: text, Length: len(text),
			Message: fmt.Sprintf("the glob %s; use fewer wildcards", large)}
	}
	return p, nil
}

// globStep reads one item of a glob as Redis's stringmatchlen does.
func globStep(text string) (Element, int) {
	wild := func(e automaton.Expr, crosses bool) Element {
		return Element{Placeholder: -1, Expr: e, Crosses: crosses}
	}
	switch {
	case text[0] == '*':
		return wild(automaton.Star(automaton.One(automaton.All)), true), 1
	case text[0] == '?':
		return wild(automaton.One(automaton.All), true), 1
	case text[0] == '[':
		set, n := globClass(text)
		return wild(automaton.One(set), set.Has(scalar.Separator)), n
	case text[0] == '\\' && len(text) > 1:
		return Element{Literal: text[1:2]}, 2
	}
	return Element{Literal: text[:1]}, 1
}

func globClass(text string) (automaton.Set, int) {
	var set automaton.Set
	at := 1
	negated := at < len(text) && text[at] == '^'
	if negated {
		at++
	}
	for at < len(text) && text[at] != ']' {
		switch {
		case text[at] == '\\' && at+1 < len(text):
			at++
			set = set.Union(automaton.Of(text[at : at+1]))
			at++
		case at+2 < len(text) && text[at+1] == '-':
			lo, hi := min(text[at], text[at+2]), max(text[at], text[at+2])
			set = set.Union(automaton.Range(lo, hi))
			at += 3
		default:
			set = set.Union(automaton.Of(text[at : at+1]))
			at++
		}
	}
	if negated {
		set = automaton.All.Minus(set)
	}
	return set, min(at+1, len(text))
}
