package scalar

import (
	"fmt"
	"strings"

	"github.com/keywright/keywright/keyspace/internal/automaton"
)

// dateTokens lists the parts of a layout; everything else in it is literal.
var dateTokens = []string{"YYYY", "MM", "DD", "HH", "mm", "ss"}

// layoutParts splits a layout into tokens and literal bytes.
func layoutParts(layout string) []string {
	var parts []string
next:
	for layout != "" {
		for _, t := range dateTokens {
			if strings.HasPrefix(layout, t) {
				parts, layout = append(parts, t), layout[len(t):]
				continue next
			}
		}
		parts, layout = append(parts, layout[:1]), layout[1:]
	}
	return parts
}

func checkLayout(layout string) string {
	seen := map[string]bool{}
	for _, part := range layoutParts(layout) {
		switch {
		case len(part) == 1 && (part[0] >= 'a' && part[0] <= 'z' || part[0] >= 'A' && part[0] <= 'Z') && part != "T" &&
			part != "Z" && part != "W":
			return fmt.Sprintf("the layout %q has the letter %s; its parts are %s, with T, Z and signs between", layout, part,
				strings.Join(dateTokens, ", "))
		case len(part) > 1 && seen[part]:
			return fmt.Sprintf("the layout %q has %s twice", layout, part)
		}
		seen[part] = true
	}
	if !seen["YYYY"] && !seen["MM"] && !seen["DD"] && !seen["HH"] {
		return fmt.Sprintf("the layout %q has none of %s", layout, strings.Join(dateTokens[:4], ", "))
	}
	return ""
}

// dateExpr returns the calendar-valid dates of a layout: one alternative for each
// length of month, whatever the order of the parts.
func dateExpr(layout string) automaton.Expr {
	parts := layoutParts(layout)
	has := func(token string) bool { return strings.Contains(layout, token) }
	any4 := digit(4)
	cases := []map[string]automaton.Expr{{"YYYY": any4, "MM": twoDigits(1, 12), "DD": twoDigits(1, 31)}}
	if has("MM") && has("DD") {
		cases = []map[string]automaton.Expr{
			{"YYYY": any4, "MM": oneOf("01", "03", "05", "07", "08", "10", "12"), "DD": twoDigits(1, 31)},
			{"YYYY": any4, "MM": oneOf("04", "06", "09", "11"), "DD": twoDigits(1, 30)},
			{"YYYY": any4, "MM": automaton.Literal("02"), "DD": twoDigits(1, 28)},
			{"YYYY": leapYear(), "MM": automaton.Literal("02"), "DD": automaton.Literal("29")},
		}
	}
	alts := make([]automaton.Expr, len(cases))
	for i, c := range cases {
		c["HH"], c["mm"], c["ss"] = twoDigits(0, 23), twoDigits(0, 59), twoDigits(0, 59)
		seq := make([]automaton.Expr, len(parts))
		for j, part := range parts {
			e, token := c[part]
			if !token {
				e = automaton.Literal(part)
			}
			seq[j] = e
		}
		alts[i] = automaton.Seq(seq...)
	}
	return automaton.Alt(alts...)
}

// timestampExpr is RFC 3339, section 5.6, in upper case; a leap second is not a
// moment most libraries can hold and is left out.
func timestampExpr() automaton.Expr {
	lit := automaton.Literal
	fraction := automaton.Seq(lit("."), automaton.Repeat(automaton.One(digits), 1, 9))
	offset := automaton.Seq(automaton.One(automaton.Of("+-")), twoDigits(0, 23), lit(":"), twoDigits(0, 59))
	return automaton.Seq(dateExpr("YYYY-MM-DDTHH:mm:ss"), automaton.Optional(fraction), automaton.Alt(lit("Z"), offset))
}

func twoDigits(lo, hi int) automaton.Expr {
	return sameLength(fmt.Sprintf("%02d", lo), fmt.Sprintf("%02d", hi))
}

func oneOf(values ...string) automaton.Expr {
	alts := make([]automaton.Expr, len(values))
	for i, v := range values {
		alts[i] = automaton.Literal(v)
	}
	return automaton.Alt(alts...)
}

// leapYear returns the four-digit years that have a 29 February.
func leapYear() automaton.Expr {
	set := func(s string) automaton.Expr { return automaton.One(automaton.Of(s)) }
	byFour := automaton.Alt( // 04 08 12 … 96
		automaton.Seq(set("0"), set("48")),
		automaton.Seq(set("2468"), set("048")),
		automaton.Seq(set("13579"), set("26")),
	)
	return automaton.Alt(
		automaton.Seq(digit(2), byFour),
		automaton.Seq(automaton.Alt(byFour, automaton.Literal("00")), automaton.Literal("00")),
	)
}
