package automaton

import (
	"fmt"
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// FromRegexp translates an RE2 expression, read as matching the whole string,
// into an Expr over the UTF-8 bytes of its characters. Look-arounds (\b) and
// anchors inside the expression have no meaning for whole keys and are refused.
func FromRegexp(re string) (Expr, error) {
	parsed, err := syntax.Parse(re, syntax.Perl&^syntax.OneLine|syntax.OneLine)
	if err != nil {
		return Expr{}, err
	}
	return fromSyntax(parsed)
}

func fromSyntax(re *syntax.Regexp) (Expr, error) {
	switch re.Op {
	case syntax.OpNoMatch:
		return Expr{}, nil
	case syntax.OpEmptyMatch, syntax.OpBeginText, syntax.OpEndText:
		return Epsilon, nil
	case syntax.OpLiteral:
		return literalRunes(re), nil
	case syntax.OpCharClass:
		return classRunes(re.Rune), nil
	case syntax.OpAnyCharNotNL:
		return classRunes([]rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune}), nil
	case syntax.OpAnyChar:
		return classRunes([]rune{0, unicode.MaxRune}), nil
	case syntax.OpWordBoundary, syntax.OpNoWordBoundary, syntax.OpBeginLine, syntax.OpEndLine:
		return Expr{}, fmt.Errorf("%s has no meaning here: the expression always covers the whole value", re)
	}
	subs := make([]Expr, len(re.Sub))
	for i, s := range re.Sub {
		var err error
		if subs[i], err = fromSyntax(s); err != nil {
			return Expr{}, err
		}
	}
	return combine(re, subs)
}

func combine(re *syntax.Regexp, subs []Expr) (Expr, error) {
	switch re.Op {
	case syntax.OpCapture:
		return subs[0], nil
	case syntax.OpConcat:
		return Seq(subs...), nil
	case syntax.OpAlternate:
		return Alt(subs...), nil
	case syntax.OpStar:
		return Star(subs[0]), nil
	case syntax.OpPlus:
		return Plus(subs[0]), nil
	case syntax.OpQuest:
		return Optional(subs[0]), nil
	case syntax.OpRepeat:
		return Repeat(subs[0], re.Min, re.Max), nil
	}
	return Expr{}, fmt.Errorf("%s is not supported", re)
}

func literalRunes(re *syntax.Regexp) Expr {
	parts := make([]Expr, len(re.Rune))
	for i, r := range re.Rune {
		class := []rune{r, r}
		if re.Flags&syntax.FoldCase != 0 {
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				class = append(class, f, f)
			}
		}
		parts[i] = classRunes(class)
	}
	return Seq(parts...)
}

// classRunes returns the UTF-8 encoding of a class given as lo, hi pairs.
func classRunes(pairs []rune) Expr {
	var alts []Expr
	var ascii Set
	for i := 0; i < len(pairs); i += 2 {
		lo, hi := pairs[i], pairs[i+1]
		if lo <= unicode.MaxASCII {
			ascii = ascii.Union(Range(byte(lo), byte(min(hi, unicode.MaxASCII))))
		}
		alts = append(alts, encodedRange(max(lo, utf8.RuneSelf), hi)...)
	}
	if !ascii.Empty() {
		alts = append(alts, One(ascii))
	}
	return Alt(alts...)
}

// encodedRange splits lo..hi into ranges whose encodings have one length and
// differ in one block of trailing bytes.
func encodedRange(lo, hi rune) []Expr {
	if lo > hi {
		return nil
	}
	for _, edge := range []rune{0x7ff, 0xd7ff, 0xdfff, 0xffff} {
		if lo <= edge && edge < hi {
			return append(encodedRange(lo, edge), encodedRange(edge+1, hi)...)
		}
	}
	if 0xd800 <= lo && lo <= 0xdfff { // surrogates have no encoding
		return nil
	}
	for shift := uint(6); shift <= 18; shift += 6 {
		block := rune(1)<<shift - 1
		if lo&^block != hi&^block {
			if lo&block != 0 {
				return append(encodedRange(lo, lo|block), encodedRange((lo|block)+1, hi)...)
			}
			if hi&block != block {
				return append(encodedRange(lo, hi&^block-1), encodedRange(hi&^block, hi)...)
			}
		}
	}
	first, last := utf8.AppendRune(nil, lo), utf8.AppendRune(nil, hi)
	parts := make([]Expr, len(first))
	for i := range first {
		parts[i] = One(Range(first[i], last[i]))
	}
	return []Expr{Seq(parts...)}
}
