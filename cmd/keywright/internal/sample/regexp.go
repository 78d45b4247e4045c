package sample

import (
	"regexp/syntax"
	"strings"
)

// matching makes a text that matches an RE2 expression. Repetitions without an
// end stop soon.
func (g *maker) matching(expr string) string {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return "" // the loader has refused it before
	}
	var b strings.Builder
	g.write(&b, re)
	return b.String()
}

func (g *maker) write(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(g.oneOf(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a' + byte(g.IntN(26)))
	case syntax.OpAlternate:
		g.write(b, re.Sub[g.IntN(len(re.Sub))])
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			g.write(b, sub)
		}
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		low, high := bounds(re)
		for range low + g.IntN(high-low+1) {
			g.write(b, re.Sub[0])
		}
	}
}

// oneOf picks from the ranges of a class, printable ASCII where there is any.
func (g *maker) oneOf(ranges []rune) rune {
	var ascii []rune
	for i := 0; i+1 < len(ranges); i += 2 {
		for r := max(ranges[i], ' '+1); r <= min(ranges[i+1], '~'); r++ {
			ascii = append(ascii, r)
		}
	}
	if len(ascii) == 0 {
		return ranges[0]
	}
	return ascii[g.IntN(len(ascii))]
}

func bounds(re *syntax.Regexp) (low, high int) {
	const more = 8
	switch re.Op {
	case syntax.OpStar:
		return 0, more
	case syntax.OpPlus:
		return 1, more
	case syntax.OpQuest:
		return 0, 1
	}
	if re.Max < 0 {
		return re.Min, re.Min + more
	}
	return re.Min, re.Max
}
