package scalar

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/keywright/keywright/keyspace/internal/automaton"
)

var (
	separator = automaton.Of(string(Separator))
	digits    = automaton.Range('0', '9')
	hexDigits = digits.Union(automaton.Range('a', 'f'))
	lower     = automaton.Range('a', 'z')
)

func digit(n int) automaton.Expr { return automaton.Repeat(automaton.One(digits), n, n) }

// Language represents a regular language of values with its automaton.
type Language struct {
	Expr    automaton.Expr
	DFA     *automaton.DFA
	Crosses bool // some value holds the separator

	once  sync.Once
	plain automaton.Expr
}

// WithoutBraces returns the expression of the values that hold no brace, made once: the keys
// that a construct derives have it in their hash tags.
func (l *Language) WithoutBraces() automaton.Expr {
	l.once.Do(func() { l.plain = l.Expr.Without(automaton.Of("{}")) })
	return l.plain
}

// Accepts reports whether text is in the language. It does not allocate.
func (l *Language) Accepts(text string) bool { return automaton.Match(l.DFA, text) }

// Key returns the language of the type as a placeholder of a key. It never holds
// the empty string, and the separator only if the type says so: `text rest`,
// timestamps, a date layout, enum or expression that spells out a colon.
func (t Type) Key() (*Language, error) {
	switch {
	case t.Kind == JSON:
		return nil, fmt.Errorf("json cannot be part of a key")
	case t.Encrypted:
		return nil, fmt.Errorf("an encrypted value cannot be part of a key")
	case t.Optional:
		return nil, fmt.Errorf("a placeholder cannot be optional: declare a second entry for the shorter key")
	case t.Max > MaxKeyBytes:
		return nil, fmt.Errorf("text in a key is at most %d bytes, not %d", MaxKeyBytes, t.Max)
	}
	return language("key "+t.body(), t.keyExpr)
}

// Value returns the language of the type as a stored value. Kinds that are not
// regular (json) or need none (bytes) have a nil language.
func (t Type) Value() (*Language, error) {
	switch t.Kind {
	case JSON, Bytes, Text, Float:
		return nil, nil
	}
	return language("value "+t.body(), t.valueExpr)
}

// languages caches by canonical text: a keyspace uses few types very often, and
// a program few keyspaces. That a language is too large is kept, too: to find it out takes
// as long as to make one.
var languages sync.Map // of compiled

// compiled represents a language, or why there is none.
type compiled struct {
	lang *Language
	err  error
}

func language(name string, expr func() (automaton.Expr, error)) (*Language, error) {
	if known, ok := languages.Load(name); ok {
		c := known.(compiled)
		return c.lang, c.err
	}
	e, err := expr()
	if err != nil {
		return nil, err // it names the type, which may be that of another var
	}
	var c compiled
	c.lang, c.err = compile(e)
	languages.Store(name, c)
	return c.lang, c.err
}

func compile(e automaton.Expr) (*Language, error) {
	nfa, err := automaton.Compile(e)
	if err != nil {
		return nil, err
	}
	dfa, err := automaton.Determinize(nfa)
	if err != nil {
		return nil, err
	}
	return &Language{Expr: e, DFA: dfa, Crosses: e.Bytes().Has(Separator)}, nil
}

func (t Type) keyExpr() (automaton.Expr, error) {
	e, err := t.expr()
	if t.Kind == Int {
		e = t.intExpr(false)
	}
	if err != nil {
		return e, err
	}
	if t.Kind == Regexp && !spellsColon(t.Expr) || (t.Kind == Text || t.Kind == Bytes) && !t.Rest {
		e = e.Without(separator)
	}
	if e.Nullable() {
		return e, fmt.Errorf("%s matches the empty text; a placeholder needs at least one byte", t)
	}
	return e, nil
}

// spellsColon reports whether a regular expression names the colon itself,
// other than in the syntax of a group or a character class.
func spellsColon(expr string) bool {
	return strings.ContainsRune(syntaxOfColon.ReplaceAllString(expr, ""), Separator)
}

// syntaxOfColon matches an escape of another character, the beginning of a group as (?i: and a class as [:alpha:].
var syntaxOfColon = regexp.MustCompile(`\\[^:]|\(\?[a-zA-Z-]*:|\[:\^?[a-z]+:\]`)

// LastSecond is the last second of the year 9999, as a Unix time: the last that a
// timestamp and every language's own type of a time can say.
const LastSecond = 253_402_300_799

// valueExpr returns expr of a stored value: a Unix time ends with the year 9999, in a key with
// as many digits as a time of our days has, and one more.
func (t Type) valueExpr() (automaton.Expr, error) {
	switch t.Kind {
	case UnixS:
		return natural(0, LastSecond), nil
	case UnixMS:
		return natural(0, LastSecond*1000+999), nil
	}
	return t.expr()
}

func (t Type) expr() (automaton.Expr, error) {
	one, lit := automaton.One, automaton.Literal
	switch t.Kind {
	case Text, Bytes:
		if t.Max > 0 {
			return automaton.Repeat(one(automaton.All), 1, t.Max), nil
		}
		return automaton.Plus(one(automaton.All)), nil
	case Int:
		return t.intExpr(true), nil
	case Float:
		integer := automaton.Alt(lit("0"), automaton.Seq(one(automaton.Range('1', '9')), automaton.Star(one(digits))))
		fraction := automaton.Seq(lit("."), automaton.Star(one(digits)), one(automaton.Range('1', '9')))
		return automaton.Seq(automaton.Optional(lit("-")), integer, automaton.Optional(fraction)), nil
	case Bool:
		return automaton.Alt(lit("true"), lit("false")), nil
	case UUID:
		h := func(n int) automaton.Expr { return automaton.Repeat(one(hexDigits), n, n) }
		return automaton.Seq(h(8), lit("-"), h(4), lit("-"), h(4), lit("-"), h(4), lit("-"), h(12)), nil
	case ULID:
		crockford := automaton.Of("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
		return automaton.Seq(one(automaton.Range('0', '7')), automaton.Repeat(one(crockford), 25, 25)), nil
	case Hex:
		if t.N > 0 {
			return automaton.Repeat(one(hexDigits), t.N, t.N), nil
		}
		return automaton.Plus(one(hexDigits)), nil
	case Slug:
		start := lower.Union(digits)
		return automaton.Seq(one(start), automaton.Star(one(start.Union(automaton.Of("_-"))))), nil
	case Date:
		return dateExpr(t.Layout), nil
	case Timestamp:
		return timestampExpr(), nil
	case UnixS:
		return natural(0, 99_999_999_999), nil
	case UnixMS:
		return natural(0, 99_999_999_999_999), nil
	case Enum:
		alts := make([]automaton.Expr, len(t.Values))
		for i, v := range t.Values {
			alts[i] = lit(v)
		}
		return automaton.Alt(alts...), nil
	case Regexp:
		return automaton.FromRegexp(t.Expr)
	}
	return automaton.Expr{}, fmt.Errorf("%s has no regular language", t)
}

// intExpr returns canonical decimal: no plus, no leading zeros, no negative zero. A
// stored value is within 64 bits, as INCR wants it. In a key an open end of the
// range is open: a bound of 64 bits would cost an automaton of sixty states
// where three do, and a longer number is no less a number.
func (t Type) intExpr(within64 bool) automaton.Expr {
	var alts []automaton.Expr
	if !t.HasMax || t.High >= 0 {
		low, high := uint64(0), unbounded
		if t.HasMin {
			low = uint64(max(t.Low, 0))
		}
		if t.HasMax {
			high = uint64(t.High)
		} else if within64 {
			high = 1<<63 - 1
		}
		alts = append(alts, natural(low, high))
	}
	if !t.HasMin || t.Low < 0 {
		least, most := uint64(1), unbounded
		if t.HasMax && t.High < 0 {
			least = uint64(-t.High)
		}
		if t.HasMin {
			most = -uint64(t.Low)
		} else if within64 {
			most = 1 << 63
		}
		alts = append(alts, automaton.Seq(automaton.Literal("-"), natural(least, most)))
	}
	return automaton.Alt(alts...)
}

// unbounded is the upper end of a range that has none.
const unbounded = ^uint64(0)

// natural returns the decimal numbers lo to hi without leading zeros: one block of
// equal length after the other.
func natural(lo, hi uint64) automaton.Expr {
	var alts []automaton.Expr
	for lo <= hi {
		from := strconv.FormatUint(lo, 10)
		nines, err := strconv.ParseUint(strings.Repeat("9", len(from)), 10, 64)
		if err != nil {
			nines = hi
		}
		top := min(hi, nines)
		alts = append(alts, sameLength(from, strconv.FormatUint(top, 10)))
		if hi == unbounded {
			more := automaton.Seq(automaton.One(automaton.Range('1', '9')), digit(len(from)),
				automaton.Star(automaton.One(digits)))
			return automaton.Alt(append(alts, more)...)
		}
		if top == hi {
			break
		}
		lo = top + 1
	}
	return automaton.Alt(alts...)
}

// sameLength returns the digit strings from lo to hi, both of one length.
func sameLength(lo, hi string) automaton.Expr {
	n := len(lo)
	if n == 0 {
		return automaton.Epsilon
	}
	if strings.Trim(lo[1:], "0") == "" && strings.Trim(hi[1:], "9") == "" {
		return automaton.Seq(automaton.One(automaton.Range(lo[0], hi[0])), digit(n-1))
	}
	if lo[0] == hi[0] {
		return automaton.Seq(automaton.Literal(lo[:1]), sameLength(lo[1:], hi[1:]))
	}
	zeros, nines := strings.Repeat("0", n-1), strings.Repeat("9", n-1)
	alts := []automaton.Expr{
		automaton.Seq(automaton.Literal(lo[:1]), sameLength(lo[1:], nines)),
		automaton.Seq(automaton.Literal(hi[:1]), sameLength(zeros, hi[1:])),
	}
	if lo[0]+1 < hi[0] {
		alts = append(alts, automaton.Seq(automaton.One(automaton.Range(lo[0]+1, hi[0]-1)), digit(n-1)))
	}
	return automaton.Alt(alts...)
}
