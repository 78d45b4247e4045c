package pattern

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/keywright/keywright/keyspace/internal/automaton"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Parse reads the text of a pattern. The error is a *SyntaxError.
func Parse(text string, resolve Resolve) (*Pattern, error) {
	s := parser{text: text, resolve: resolve, tagEnd: -1}
	p, fault := s.parse()
	if fault != nil {
		return nil, fault
	}
	return p, nil
}

// MustParse works as Parse does, for patterns known to be right, as in tests and tables.
func MustParse(text string, resolve Resolve) *Pattern {
	p, err := Parse(text, resolve)
	if err != nil {
		panic(fmt.Sprintf("pattern %q: %v", text, err))
	}
	return p
}

type parser struct {
	text    string
	resolve Resolve
	at      int
	tagOpen int // offset of the `{#` being read, -1 outside
	tagEnd  int // index of the element the hash tag ends in, -1 without one
	literal []byte
	out     Pattern
}

func (s *parser) parse() (*Pattern, *SyntaxError) {
	s.tagOpen = -1
	switch {
	case s.text == "":
		return nil, s.fault(0, 0, "the pattern is empty", "")
	case len(s.text) > MaxBytes:
		return nil, s.fault(0, len(s.text),
			fmt.Sprintf("the pattern has %d bytes; the limit is %d", len(s.text), MaxBytes), "")
	}
	for s.at < len(s.text) {
		if fault := s.step(); fault != nil {
			return nil, fault
		}
	}
	if s.tagOpen >= 0 {
		proposal := s.text + "}"
		if s.at == s.tagOpen+2 {
			proposal = "" // the tag would be empty
		}
		return nil, s.fault(s.tagOpen, 2, "the hash tag {# has no closing }", proposal)
	}
	s.flush()
	s.out.text = s.text
	if fault := s.finish(); fault != nil {
		return nil, fault
	}
	return &s.out, nil
}

// step reads one literal byte, escape, placeholder or edge of a hash tag.
func (s *parser) step() *SyntaxError {
	switch c := s.text[s.at]; {
	case c == '\\':
		return s.escape()
	case strings.HasPrefix(s.text[s.at:], "{#"):
		return s.openTag()
	case c == '{':
		return s.placeholder()
	case c == '}' && s.tagOpen >= 0:
		return s.closeTag()
	case c == '}':
		return s.fault(s.at, 1, "} without {; a literal brace is written \\}", "")
	default:
		s.literal = append(s.literal, c)
		s.at++
		return nil
	}
}

func (s *parser) escape() *SyntaxError {
	rest := s.text[s.at+1:]
	switch {
	case rest != "" && strings.IndexByte(`{}\`, rest[0]) >= 0:
		s.literal = append(s.literal, rest[0])
		s.at += 2
		return nil
	case len(rest) >= 3 && rest[0] == 'x':
		if b, err := strconv.ParseUint(rest[1:3], 16, 8); err == nil {
			s.literal = append(s.literal, byte(b))
			s.at += 4
			return nil
		}
	}
	return s.fault(s.at, min(2, len(s.text)-s.at),
		`a backslash is before {, } or \, or begins \x and two hexadecimal digits`, `\\`)
}

func (s *parser) openTag() *SyntaxError {
	if s.tagOpen >= 0 || s.tagEnd >= 0 {
		return s.fault(s.at, 2, "a second hash tag: the cluster looks at the first only", "")
	}
	s.tagOpen = s.at
	s.literal = append(s.literal, '{')
	s.at += 2
	return nil
}

func (s *parser) closeTag() *SyntaxError {
	if s.at == s.tagOpen+2 {
		return s.fault(s.tagOpen, 3, "the hash tag is empty: the cluster ignores it and hashes the whole key", "")
	}
	s.literal = append(s.literal, '}')
	s.at++
	s.tagOpen = -1
	s.tagEnd = len(s.out.elems)
	return nil
}

func (s *parser) placeholder() *SyntaxError {
	from := s.at
	length := strings.IndexByte(s.text[from:], '}')
	if length < 0 {
		proposal := ""
		if name := s.text[from+1:]; name != "" && identifier(name) == name {
			proposal = s.text + "}"
			if s.tagOpen >= 0 {
				proposal += "}"
			}
		}
		return s.fault(from, len(s.text)-from, "the placeholder has no closing }; a literal brace is written \\{", proposal)
	}
	name := s.text[from+1 : from+length]
	if fault := s.checkName(from, name); fault != nil {
		return fault
	}
	t := scalar.Type{}
	if s.resolve != nil {
		if declared, ok := s.resolve(name); ok {
			t = declared
		}
	}
	lang, err := t.Key()
	if err != nil {
		return s.fault(from, length+1, fmt.Sprintf("{%s} is %s: %v", name, brief(t.Definition()), err), "")
	}
	s.flush()
	s.out.elems = append(s.out.elems,
		Element{Placeholder: len(s.out.places), Expr: lang.Expr, Crosses: lang.Crosses, lang: lang})
	s.out.places = append(s.out.places, Placeholder{Name: name, Type: t, Offset: from})
	s.at += length + 1
	return nil
}

// brief cuts what a type is: an enum may have thousands of words, and a declaration thousands of such placeholders.
func brief(definition string) string {
	const most = 200
	if len(definition) <= most {
		return definition
	}
	return strings.ToValidUTF8(definition[:most], "") + "…"
}

func (s *parser) checkName(from int, name string) *SyntaxError {
	length := len(name) + 2
	if name == "" {
		return s.fault(from, length, "a placeholder needs a name, as in {id}", "{id}")
	}
	if strings.Contains(name, "YYYY") {
		return s.fault(from, length,
			fmt.Sprintf("{%s} looks like a date layout; name the placeholder and give it the type in vars", name),
			fmt.Sprintf("{day} with vars: {day: date %s}", name))
	}
	for i := range len(name) {
		c := name[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			proposal := ""
			if inner := strings.Trim(name, "{"); inner != name && identifier(inner) == inner {
				proposal = "{" + inner + "}"
			} else if bare, typ, _ := strings.Cut(name, ":"); typ != "" && bare != "" && identifier(bare) == bare {
				proposal = fmt.Sprintf("{%s} with vars: {%s: %s}", bare, bare, strings.TrimSpace(typ))
			} else if better := identifier(name); better != "" {
				proposal = "{" + better + "}"
			}
			return s.fault(from, length,
				fmt.Sprintf("{%s} is not a name: letters, digits and _ only, not beginning with a digit", name), proposal)
		}
	}
	if s.out.Has(name) {
		free := 2
		for s.out.Has(name + "_" + strconv.Itoa(free)) {
			free++
		}
		return s.fault(from, length,
			fmt.Sprintf("{%s} is there twice in the pattern; each placeholder has one value and one place", name),
			"{"+name+"_"+strconv.Itoa(free)+"}")
	}
	return nil
}

// identifier turns what someone wrote into the nearest name, "" if there is
// nothing to make one of.
func identifier(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
	switch {
	case strings.Trim(clean, "_") == "":
		return ""
	case clean[0] >= '0' && clean[0] <= '9':
		return "_" + clean
	}
	return clean
}

func (s *parser) flush() {
	if len(s.literal) > 0 {
		s.out.elems = append(s.out.elems, literalElement(string(s.literal)))
		s.literal = s.literal[:0]
	}
}

func literalElement(text string) Element {
	return Element{Literal: text, Placeholder: -1, Expr: automaton.Literal(text)}
}

// finish checks what concerns the pattern as a whole.
func (s *parser) finish() *SyntaxError {
	p := &s.out
	if n := len(p.places); n > MaxPlaceholders {
		return s.fault(0, len(s.text),
			fmt.Sprintf("the pattern has %d placeholders; the limit is %d", n, MaxPlaceholders), "")
	}
	segments := 1
	for _, e := range p.elems { // an escape may be a separator, too
		segments += strings.Count(e.Literal, string(scalar.Separator))
	}
	if n := segments; n > MaxSegments {
		return s.fault(0, len(s.text), fmt.Sprintf("the pattern has %d segments; the limit is %d", n, MaxSegments), "")
	}
	p.protectTag()
	for i, e := range p.elems[:max(len(p.elems)-1, 0)] {
		if e.Placeholder >= 0 && p.places[e.Placeholder].Type.Rest {
			place := p.places[e.Placeholder]
			return s.fault(place.Offset, len(place.Name)+2,
				fmt.Sprintf("{%s} is text rest and must be the last thing in the pattern, but %s follows", place.Name,
					p.describe(i+1)), "")
		}
	}
	return s.checkReading()
}

func (p *Pattern) describe(i int) string {
	if e := p.elems[i]; e.Placeholder >= 0 {
		return "{" + p.places[e.Placeholder].Name + "}"
	}
	return strconv.Quote(p.elems[i].Literal)
}

// protectTag keeps braces out of every placeholder before the end of the hash
// tag: one there would be the hash tag instead.
func (p *Pattern) protectTag() {
	open, end := p.tagBounds()
	if p.tagged = open >= 0; !p.tagged {
		return
	}
	for i := range p.elems[:end+1] {
		if e := &p.elems[i]; e.Placeholder >= 0 {
			e.NoBraces = true
			e.Expr = e.lang.WithoutBraces()
		}
	}
}

// checkReading makes sure that every key can be read in one way only.
func (s *parser) checkReading() *SyntaxError {
	p := &s.out
	if p.plainlyUnambiguous() {
		return nil
	}
	var witness []byte
	ambiguous := false
	if n := p.NFA(); p.err == nil {
		witness, ambiguous = n.Ambiguous()
	}
	if !ambiguous {
		if err := p.compile(); err != nil {
			return s.fault(0, len(s.text), "the pattern "+err.Error()+"; give its placeholders simpler types", "")
		}
		return nil
	}
	fault := s.fault(0, len(s.text),
		fmt.Sprintf(
			"a key like %q can be read in two ways; give the placeholders types that cannot hold what is between them", witness),
		s.narrower())
	fault.Ambiguous = witness
	return fault
}

// plainlyUnambiguous spots the usual case cheaply: at most one placeholder
// between two separators, and nothing but the last element crossing one.
func (p *Pattern) plainlyUnambiguous() bool {
	inSegment := 0
	for i, e := range p.elems {
		if e.Placeholder < 0 {
			if strings.IndexByte(e.Literal, scalar.Separator) >= 0 {
				inSegment = 0
			}
			continue
		}
		if inSegment++; inSegment > 1 || e.Crosses && i < len(p.elems)-1 ||
			p.places[e.Placeholder].Type.Kind == scalar.Regexp {
			return false
		}
	}
	return true
}

// narrower proposes a type for the first text placeholder that runs into
// literal text.
func (s *parser) narrower() string {
	p := &s.out
	for i, e := range p.elems[:len(p.elems)-1] {
		next := p.elems[i+1]
		if e.Placeholder >= 0 && p.places[e.Placeholder].Type.Kind == scalar.Text && next.Literal != "" &&
			next.Literal[0] != scalar.Separator {
			return fmt.Sprintf("vars: %s: /[^:%s]+/", p.places[e.Placeholder].Name, inClass(next.Literal))
		}
	}
	return ""
}

// inClass returns the first character of a text as it is in a class of characters; nothing for a byte that is no
// UTF-8, which no class holds.
func inClass(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case r == utf8.RuneError && size == 1:
		return ""
	case strings.ContainsRune(`\]^-/[`, r):
		return `\` + text[:1]
	case !unicode.IsPrint(r):
		return fmt.Sprintf(`\x{%x}`, r)
	}
	return text[:size]
}

func (s *parser) fault(offset, length int, message, proposal string) *SyntaxError {
	return &SyntaxError{Text: s.text, Offset: offset, Length: length, Message: message, Proposal: proposal}
}
