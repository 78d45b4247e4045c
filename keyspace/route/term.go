package route

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/keywright/keywright/internal/typo"
)

// Conversion represents one row of the table of conversions: what a function of a term
// takes, and whether what it makes can be had back.
type Conversion struct {
	Name     string
	Terms    int    // how many values it takes, 0 for none
	Words    string // how its words are written, "" if it has none
	Back     bool   // the value in the document can be made again from what is stored
	Instant  bool   // what it makes is a time
	Takes    string // what is in the document
	Gives    string // what is stored
	least    int    // words
	most     int
	optional int // terms beyond Terms that may be there
}

// conversions is the table. What a row does to values is in migrate/record.
var conversions = []Conversion{
	{Name: "text", Terms: 1, Back: true, Takes: "a text like \"5\" or \"true\"",
		Gives: "the number, boolean or time that it spells"},
	{Name: "number", Terms: 1, Back: true, Takes: "a number", Gives: "its digits as text"},
	{Name: "id", Terms: 1, Back: true, Takes: "a whole number, or a text", Gives: "its digits, or the text"},
	{Name: "iso8601", Terms: 1, Back: true, Instant: true,
		Takes: "a time like \"2026-01-31T09:30:00+01:00\"; without a zone it is UTC",
		Gives: "a time in the form of the type: unix_s, unix_ms, timestamp"},
	{Name: "unix_s", Terms: 1, Back: true, Instant: true, Takes: "a number of seconds since 1970, also a fraction",
		Gives: "a time in the form of the type"},
	{Name: "unix_ms", Terms: 1, Back: true, Instant: true, Takes: "a number of milliseconds since 1970",
		Gives: "a time in the form of the type"},
	{Name: "minutes", Terms: 1, optional: 1, Back: true,
		Takes: "a text like \"09:30\", or two numbers: minutes(.hour, .minute)", Gives: "the minute of the day, 570"},
	{Name: "slug", Terms: 1, Takes: "a text like \"San Diego\"", Gives: "san_diego"},
	{Name: "lower", Terms: 1, Takes: "a text", Gives: "the text in lower case"},
	{Name: "base64", Terms: 1, Back: true, Takes: "bytes as base64", Gives: "the bytes"},
	{Name: "rename", Terms: 1, Words: "old=new, …", least: 1, most: 64, Back: true, Takes: "a text",
		Gives: "the other word; a text that is not listed stays as it is"},
	{Name: "default", Terms: 1, Words: "text", least: 1, most: 1, Back: true, Takes: "a value, or none",
		Gives: "the value; the text where there is none"},
	{Name: "null", Terms: 1, Back: true, Takes: "a value, or null", Gives: "the value; nothing for null"},
	{Name: "place", Back: true, Takes: "nothing", Gives: "the place in the array, as a score: only the order is kept"},
	{Name: "const", Words: "text", least: 1, most: 1, Back: true, Takes: "nothing", Gives: "the text, always"},
}

// Conversions returns the table, in the order of the documents.
func Conversions() []Conversion { return slices.Clone(conversions) }

// ConversionOf returns the row of a name.
func ConversionOf(name string) (Conversion, bool) {
	i := slices.IndexFunc(conversions, func(c Conversion) bool { return c.Name == name })
	if i < 0 {
		return Conversion{}, false
	}
	return conversions[i], true
}

// Back reports whether the value in the document can be made again from what is
// stored.
func (t Term) Back() bool {
	if t.Func == "" {
		return true
	}
	c, _ := ConversionOf(t.Func)
	return c.Back && !slices.ContainsFunc(t.Of, func(of Term) bool { return !of.Back() })
}

// Instant reports whether the term is a time whatever the type it is stored in.
func (t Term) Instant() bool {
	if c, _ := ConversionOf(t.Func); c.Instant {
		return true
	}
	return len(t.Of) > 0 && t.Of[0].Instant()
}

// References returns the references in a term, in its order.
func (t Term) References() []Term {
	if t.Func == "" {
		return []Term{t}
	}
	var out []Term
	for _, of := range t.Of {
		out = append(out, of.References()...)
	}
	return out
}

// String returns the term as it is written.
func (t Term) String() string {
	if t.Func != "" {
		var args []string
		for _, of := range t.Of {
			args = append(args, of.String())
		}
		for _, w := range t.Args {
			args = append(args, quoteIfNeeded(w))
		}
		return t.Func + "(" + strings.Join(args, ", ") + ")"
	}
	if !t.Whole {
		return "{" + t.Capture + "}"
	}
	if len(t.Members) == 0 {
		return "."
	}
	var b strings.Builder
	for _, m := range t.Members {
		b.WriteString("." + member(m))
	}
	return b.String()
}

// member writes a member's name in a reference: quoted unless it is plain.
func member(name string) string {
	if name != "" && strings.IndexFunc(name, notPlain) < 0 {
		return name
	}
	return quote(name)
}

func notPlain(c rune) bool {
	return c != '_' && c != '-' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
}

// quoteIfNeeded writes a word of a conversion: quoted where it would be read otherwise.
func quoteIfNeeded(w string) string {
	if w == "" || strings.TrimSpace(w) != w || strings.ContainsAny(w, `",()`) {
		return quote(w)
	}
	return w
}

func quote(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text)
	return strings.TrimSuffix(b.String(), "\n")
}

// ParseTerm reads a term. The error is a *SyntaxError.
func ParseTerm(text string) (Term, error) {
	if err := checkText(text, "a term"); err != nil {
		return Term{}, err
	}
	p := &termParser{text: text}
	t, err := p.term(0)
	if err != nil {
		return Term{}, err
	}
	if p.blank(); p.at < len(text) {
		return Term{}, p.fault(p.at, len(text)-p.at, "nothing follows a term", "")
	}
	return t, nil
}

type termParser struct {
	text string
	at   int
}

func (p *termParser) fault(offset, length int, message, fix string) error {
	return &SyntaxError{p.text, min(offset, len(p.text)), max(1, length), message, fix}
}

func (p *termParser) blank() {
	for p.at < len(p.text) && p.text[p.at] == ' ' {
		p.at++
	}
}

func (p *termParser) next(c byte) bool {
	if p.blank(); p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

const termForm = "as in .posted_at, {name}, iso8601(.posted_at)"

func (p *termParser) term(depth int) (Term, error) {
	if depth > 8 {
		return Term{}, p.fault(p.at, 1, "conversions are nested at most 8 deep", "")
	}
	p.blank()
	switch {
	case p.at == len(p.text):
		return Term{}, p.fault(p.at, 1, "a term is missing", termForm)
	case p.text[p.at] == '.':
		return p.reference()
	case p.text[p.at] == '{':
		return p.capture()
	}
	return p.call(depth)
}

func (p *termParser) capture() (Term, error) {
	from := p.at
	end := strings.IndexByte(p.text[from:], '}')
	if end < 0 || !isName(p.text[from+1:from+end]) {
		return Term{}, p.fault(from, len(p.text)-from, "a capture is {name}", termForm)
	}
	p.at = from + end + 1
	return Term{Capture: p.text[from+1 : from+end]}, nil
}

// reference reads ".", ".a.b" and `."a name".b`.
func (p *termParser) reference() (Term, error) {
	t := Term{Whole: true}
	for p.at < len(p.text) && p.text[p.at] == '.' {
		p.at++
		name, ok, err := p.memberName()
		if err != nil {
			return Term{}, err
		}
		if !ok {
			if len(t.Members) > 0 {
				return Term{}, p.fault(p.at-1, 1, "the name of a member is missing", termForm)
			}
			break
		}
		if t.Members = append(t.Members, name); len(t.Members) > MaxSteps {
			return Term{}, p.fault(p.at, 1, "a reference has at most 32 members", "")
		}
	}
	return t, nil
}

func (p *termParser) memberName() (name string, ok bool, err error) {
	if p.at < len(p.text) && p.text[p.at] == '"' {
		name, err = p.quoted()
		return name, true, err
	}
	from := p.at
	for p.at < len(p.text) {
		c, size := utf8.DecodeRuneInString(p.text[p.at:])
		if notPlain(c) {
			break
		}
		p.at += size
	}
	return p.text[from:p.at], p.at > from, nil
}

// quoted reads a text in double quotes, as JSON writes it.
func (p *termParser) quoted() (string, error) {
	from := p.at
	for i := from + 1; i < len(p.text); i++ {
		switch p.text[i] {
		case '\\':
			i++
		case '"':
			var out string
			if json.Unmarshal([]byte(p.text[from:i+1]), &out) != nil {
				return "", p.fault(from, i+1-from, "this is no text as JSON writes it", "")
			}
			p.at = i + 1
			return out, nil
		}
	}
	return "", p.fault(from, len(p.text)-from, "a quote is missing", "")
}

func (p *termParser) call(depth int) (Term, error) {
	from := p.at
	for p.at < len(p.text) &&
		(p.text[p.at] == '_' || p.text[p.at] >= 'a' && p.text[p.at] <= 'z' || p.text[p.at] >= '0' && p.text[p.at] <= '9') {
		p.at++
	}
	name := p.text[from:p.at]
	c, known := ConversionOf(name)
	if !p.next('(') {
		if known {
			return Term{}, p.fault(from, len(name), "a conversion takes something in brackets", name+"(…)")
		}
		return Term{},
			p.fault(from, len(p.text)-from, "a term begins with . (the record), { (a capture) or a conversion", termForm)
	}
	if !known {
		fix := "one of: " + strings.Join(Names(), ", ")
		if near := typo.Nearest(name, Names()); near != "" {
			fix = "did you mean " + near + "?"
		}
		return Term{}, p.fault(from, len(name), quoted(name)+" is no conversion", fix)
	}
	t := Term{Func: name}
	if err := p.arguments(&t, c, depth); err != nil {
		return Term{}, err
	}
	return t, p.counted(from, &t, c)
}

// Names returns the names of the conversions.
func Names() []string {
	var out []string
	for _, c := range conversions {
		out = append(out, c.Name)
	}
	return out
}

func (p *termParser) arguments(t *Term, c Conversion, depth int) error {
	if p.next(')') {
		return nil
	}
	for {
		if len(t.Of) < c.Terms || c.optional > 0 {
			of, err := p.term(depth + 1)
			if err != nil {
				return err
			}
			t.Of = append(t.Of, of)
		} else {
			w, err := p.nextToken()
			if err != nil {
				return err
			}
			t.Args = append(t.Args, w)
		}
		switch {
		case p.next(')'):
			return nil
		case !p.next(','):
			return p.fault(p.at, 1, "a ) is missing", "")
		}
	}
}

func (p *termParser) nextToken() (string, error) {
	if p.blank(); p.at < len(p.text) && p.text[p.at] == '"' {
		return p.quoted()
	}
	from := p.at
	for p.at < len(p.text) && !strings.ContainsRune(`",()`, rune(p.text[p.at])) {
		p.at++
	}
	w := strings.TrimSpace(p.text[from:p.at])
	if w == "" {
		return "", p.fault(from, 1, "a word is missing", `write "" for the empty text`)
	}
	return w, nil
}

// counted checks what a conversion was given.
func (p *termParser) counted(from int, t *Term, c Conversion) error {
	switch {
	case len(t.Of) < c.Terms || len(t.Of) > c.Terms+c.optional:
		return p.fault(from, p.at-from, c.Name+" takes "+c.Takes, termForm)
	case len(t.Args) < c.least || len(t.Args) > c.most:
		return p.fault(from, p.at-from, c.Name+" is written "+c.form(), "")
	case c.Name == "rename":
		return p.renames(from, t)
	}
	return nil
}

// form returns how a conversion is written.
func (c Conversion) form() string {
	var args []string
	if c.Terms > 0 {
		args = append(args, "…")
	}
	if c.Words != "" {
		args = append(args, c.Words)
	}
	return c.Name + "(" + strings.Join(args, ", ") + ")"
}

// Form returns how a conversion is written, "rename(…, old=new, …)".
func (c Conversion) Form() string { return c.form() }

// renames refuses what cannot be had back: two words that become one.
func (p *termParser) renames(from int, t *Term) error {
	olds, news := map[string]bool{}, map[string]bool{}
	for _, w := range t.Args {
		old, new, ok := strings.Cut(w, "=")
		if !ok || old == "" || new == "" {
			return p.fault(from, p.at-from, quoted(w)+" is not old=new", "as in rename({guild_id}, None=global)")
		}
		if olds[old] || news[new] {
			return p.fault(from, p.at-from, "two words are renamed to one, or one to two: "+w, "each word once on each side")
		}
		olds[old], news[new] = true, true
		if t.renames == nil {
			t.renames = map[string]string{}
		}
		t.renames[old] = new
	}
	return nil
}

// Renames returns the words of a rename, old to new. Do not change the map.
func (t *Term) Renames() map[string]string { return t.renames }
