// Package portable is what generated code in languages other than Go needs to
// know of a keyspace: each key and channel as literal pieces and matchers, the
// automata of placeholders as short text, names that are identifiers, and texts
// of the author that cannot leave their comment.
//
// It writes no code: how a matcher or a name is spelled is the affair of
// gen/typescript and gen/python.
//
// API: may change until 1.0.
package portable

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Form describes how the values of a placeholder are recognised.
type Form uint8

// The forms: plain code where a few lines decide exactly what the automaton of
// the placeholder decides, else the automaton itself.
const (
	AnyText  Form = iota // bytes, at most Max of them, maybe without ':' or braces
	Integer              // decimal in its only spelling, from Low to High
	HexText              // lower-case digits, exactly N of them if N > 0
	Words                // one of Words
	Automate             // Table
)

// Step represents one piece of a pattern: literal bytes, or a placeholder.
type Step struct {
	Literal   string
	Place     *Place
	Namespace bool // Literal is the name of the namespace
}

// Place represents a placeholder and what recognises its values.
type Place struct {
	Name     string
	Type     scalar.Type
	Crosses  bool // may hold the separator
	NoBraces bool // is before or in the hash tag
	Form     Form

	Max       int      // AnyText
	Low, High string   // Integer: decimal, "" for an open end
	N         int      // HexText
	Words     []string // Words
	Table     string   // Automate: see Pack
}

// Steps returns the pieces of a pattern in order.
func Steps(p *pattern.Pattern) []Step { return steps(p, p.Elements()) }

// StepsIn works as Steps does, with the namespace as a piece of its own; nil: there is none.
func StepsIn(p *pattern.Pattern, space *keyspace.Namespace) []Step {
	if space == nil {
		return Steps(p)
	}
	return steps(p, p.Namespaced(space.Name))
}

func steps(p *pattern.Pattern, elements []pattern.Element) []Step {
	var steps []Step
	for _, e := range elements {
		if e.Placeholder < 0 {
			steps = append(steps, Step{Literal: e.Literal, Namespace: e.Namespace})
			continue
		}
		declared := p.Placeholders()[e.Placeholder]
		place := &Place{Name: declared.Name, Type: declared.Type, Crosses: e.Crosses, NoBraces: e.NoBraces}
		place.recognise(e)
		steps = append(steps, Step{Place: place})
	}
	return steps
}

// recognise chooses the form; every choice but the last is proved equal to the
// automaton by a test.
func (p *Place) recognise(e pattern.Element) {
	t := p.Type
	switch t.Kind {
	case scalar.Text, scalar.Bytes:
		p.Form, p.Max = AnyText, t.Max
	case scalar.Int:
		p.Form, p.Low, p.High = Integer, bound(t.HasMin, t.Low), bound(t.HasMax, t.High)
	case scalar.UnixS:
		p.Form, p.Low, p.High = Integer, "0", strings.Repeat("9", 11)
	case scalar.UnixMS:
		p.Form, p.Low, p.High = Integer, "0", strings.Repeat("9", 14)
	case scalar.Hex:
		p.Form, p.N = HexText, t.N
	case scalar.Bool:
		p.Form, p.Words = Words, []string{"true", "false"}
	case scalar.Enum:
		p.Form, p.Words = Words, spoken(t.Values, p.NoBraces)
	default:
		p.Form, p.Table = Automate, Pack(e.Table())
	}
}

func bound(given bool, n int64) string {
	if !given {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// spoken leaves out the words that would move the hash tag.
func spoken(words []string, noBraces bool) []string {
	var out []string
	for _, w := range words {
		if !noBraces || !strings.ContainsAny(w, "{}") {
			out = append(out, w)
		}
	}
	return out
}

// Places returns the placeholders among steps.
func Places(steps []Step) []*Place {
	var places []*Place
	for _, s := range steps {
		if s.Place != nil {
			places = append(places, s.Place)
		}
	}
	return places
}

// Binary reports whether the keys are not always UTF-8 text: a literal is not,
// or a placeholder is declared as bytes.
func Binary(steps []Step) bool {
	for _, s := range steps {
		if s.Place == nil && !utf8.ValidString(s.Literal) || s.Place != nil && s.Place.Type.Kind == scalar.Bytes {
			return true
		}
	}
	return false
}

// Safe reports whether all values of an Integer are exact as a 64-bit float,
// the only number of JavaScript that is not a bigint.
func (p *Place) Safe() bool {
	low, errLow := strconv.ParseInt(p.Low, 10, 64)
	high, errHigh := strconv.ParseInt(p.High, 10, 64)
	return errLow == nil && errHigh == nil && low > -1<<53 && high < 1<<53
}
