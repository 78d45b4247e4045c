package scalar

import (
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/internal/typo"
)

// Parse reads the text of a type. resolve answers the name of a var; it may be
// nil. The error is a *SyntaxError.
func Parse(text string, resolve func(name string) (Type, bool)) (Type, error) {
	p := parser{text: text, resolve: resolve}
	t, err := p.parse()
	if err != nil {
		return Type{}, err
	}
	return t, nil
}

type parser struct {
	text    string
	at      int
	resolve func(string) (Type, bool)
}

func (p *parser) parse() (Type, error) {
	if strings.TrimSpace(p.text) == "" {
		return Type{}, p.fault(0, "the type is empty; expected one like text, int 1..5, uuid or a|b|c", "text")
	}
	t, err := p.head()
	for err == nil {
		from, word := p.nextToken()
		switch word {
		case "":
			return t, nil
		case "optional":
			t.Optional = true
		case "encrypted":
			t.Encrypted = true
		default:
			return t, p.fault(from,
				strconv.Quote(word)+" is not expected after "+strconv.Quote(t.String())+"; only optional and encrypted may follow",
				typo.Nearest(word, []string{"optional", "encrypted"}))
		}
	}
	return Type{}, err
}

// head reads everything but the suffixes.
func (p *parser) head() (Type, error) {
	from, word := p.peek()
	if strings.HasPrefix(word, "/") {
		return p.regexp(from)
	}
	if strings.Contains(word, "|") {
		p.nextToken()
		return p.enum(from, word)
	}
	p.nextToken()
	if at, next := p.peek(); strings.HasPrefix(next, "|") {
		return Type{}, p.fault(at, "the values of an enum are written without spaces: a|b|c", "")
	}
	if kind, ok := words[word]; ok {
		return p.arguments(Type{Kind: kind})
	}
	if p.resolve != nil {
		if t, ok := p.resolve(word); ok {
			t.Var = word
			return t, nil
		}
	}
	return Type{}, p.fault(from, strconv.Quote(word)+" is neither a type nor a var", typo.Nearest(word, keywords()))
}

func keywords() []string {
	out := make([]string, 0, len(words))
	for w := range words {
		out = append(out, w)
	}
	slices.Sort(out)
	return out
}

func (p *parser) arguments(t Type) (Type, error) {
	from, word := p.peek()
	if word == "optional" || word == "encrypted" {
		word = ""
	}
	switch t.Kind {
	case Text:
		return p.textArguments(t)
	case Int:
		if word == "" {
			return t, nil
		}
		p.nextToken()
		return p.interval(t, from, word)
	case Hex:
		if word == "" {
			return t, nil
		}
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > MaxKeyBytes {
			return t, p.fault(from, "hex takes a number of digits from 1 to "+strconv.Itoa(MaxKeyBytes)+", as in hex 8", "hex 8")
		}
		p.nextToken()
		t.N = n
	case Date:
		t.Layout = DefaultLayout
		if word != "" {
			p.nextToken()
			t.Layout = word
		}
		if err := checkLayout(t.Layout); err != "" {
			return t, p.fault(from, err, DefaultLayout)
		}
	case JSON:
		if word != "" {
			p.nextToken()
			t.File = word
		}
	}
	return t, nil
}

func (p *parser) textArguments(t Type) (Type, error) {
	for {
		_, word := p.peek()
		switch word {
		case "rest":
			p.nextToken()
			t.Rest = true
		case "max":
			p.nextToken()
			from, digits := p.nextToken()
			n, err := strconv.Atoi(digits)
			if err != nil || n < 1 {
				return t, p.fault(from, "max takes a number of bytes of at least 1, as in text max 64", "max 64")
			}
			t.Max = n
		default:
			return t, nil
		}
	}
}

func (p *parser) interval(t Type, from int, word string) (Type, error) {
	lo, hi, ok := strings.Cut(word, "..")
	if !ok {
		proposal := "0.." + word
		if _, err := strconv.ParseUint(word, 10, 63); err != nil {
			proposal = "1..5"
		}
		return t, p.fault(from, strconv.Quote(word)+" is not a range; expected one like 1..5, 0.. or ..9", proposal)
	}
	var err1, err2 error
	if t.HasMin = lo != ""; t.HasMin {
		t.Low, err1 = strconv.ParseInt(lo, 10, 64)
	}
	if t.HasMax = hi != ""; t.HasMax {
		t.High, err2 = strconv.ParseInt(hi, 10, 64)
	}
	switch {
	case err1 != nil || err2 != nil || !t.HasMin && !t.HasMax:
		return t, p.fault(from, strconv.Quote(word)+" is not a range of 64-bit integers; expected one like 1..5", "1..5")
	case t.HasMin && t.HasMax && t.Low > t.High:
		return t, p.fault(from, "the range "+word+" is empty: its start is above its end", hi+".."+lo)
	}
	return t, nil
}

// maxValues bounds the values of an enum.
const maxValues = 10_000

func (p *parser) enum(from int, word string) (Type, error) {
	values := strings.Split(word, "|")
	if len(values) > maxValues {
		return Type{}, p.fault(from, "an enum has at most "+strconv.Itoa(maxValues)+" values", "")
	}
	seen := make(map[string]bool, len(values))
	for _, v := range values {
		if v == "" {
			return Type{}, p.fault(from, "an enum has an empty value; write a|b|c without spaces", "")
		}
		if seen[v] {
			return Type{}, p.fault(from, "the enum names "+strconv.Quote(v)+" twice", "")
		}
		seen[v] = true
	}
	return Type{Kind: Enum, Values: values}, nil
}

// regexp reads /…/; a slash inside is written \/ and spaces are allowed.
func (p *parser) regexp(from int) (Type, error) {
	end := from + 1
	for ; end < len(p.text) && p.text[end] != '/'; end++ {
		if p.text[end] == '\\' {
			end++
		}
	}
	if end >= len(p.text) {
		proposal := p.text + "/"
		if end > len(p.text) { // it would be escaped
			proposal = ""
		}
		return Type{}, p.fault(from, "the expression has no closing slash", proposal)
	}
	t := Type{Kind: Regexp, Expr: p.text[from+1 : end]}
	p.at = end + 1
	if _, err := syntax.Parse(t.Expr, syntax.Perl); err != nil {
		return t, p.fault(from+1, "the expression is not valid RE2: "+err.Error(), "")
	}
	if _, err := t.Value(); err != nil {
		return t, p.fault(from+1, err.Error(), "")
	}
	return t, nil
}

// peek answers the next word and where it starts without moving on.
func (p *parser) peek() (from int, word string) {
	from = p.at
	for from < len(p.text) && p.text[from] == ' ' {
		from++
	}
	end := from
	for end < len(p.text) && p.text[end] != ' ' {
		end++
	}
	return from, p.text[from:end]
}

func (p *parser) nextToken() (from int, nextToken string) {
	from, nextToken = p.peek()
	p.at = from + len(nextToken)
	return from, nextToken
}

func (p *parser) fault(offset int, message, proposal string) *SyntaxError {
	return &SyntaxError{Text: p.text, Offset: min(offset, len(p.text)), Message: message, Proposal: proposal}
}
