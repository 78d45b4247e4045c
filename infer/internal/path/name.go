package path

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/infer/internal/class"
	"github.com/keywright/keywright/infer/internal/tree"
	"github.com/keywright/keywright/infer/noun"
)

// Token represents a piece of a pattern: literal bytes, or a placeholder.
type Token struct {
	Literal string
	Class   class.Class // 0: literal
	Words   []string
	vocab   string
	seen    tree.Values
	Name    string
	Type    string
}

// Tokens returns the pieces of a path. The values of a placeholder within a segment
// are not known by themselves, only the segment's are.
func (p *Path) Tokens() []Token {
	var out []Token
	literal := func(s string) {
		if n := len(out); n > 0 && out[n-1].Class == 0 {
			out[n-1].Literal += s
		} else {
			out = append(out, Token{Literal: s})
		}
	}
	for i, s := range p.Segments {
		if i > 0 {
			literal(p.Sep)
		}
		if s.open != "" {
			literal(s.open)
		}
		for j := range len(s.Shape) {
			if c := s.Shape[j]; !class.IsClass(c) {
				literal(s.Shape[j : j+1])
			} else {
				t := Token{Class: class.Class(c), Words: s.Words, vocab: s.Vocab}
				t.seen = s.valuesAt()
				out = append(out, t)
			}
		}
		if s.shut != "" {
			literal(s.shut)
		}
	}
	return out
}

// valuesAt returns what is known of the values of a segment's only placeholder.
// Beside words the bytes make no difference, but the lengths do.
func (s *Segment) valuesAt() tree.Values {
	classes := 0
	for i := range len(s.Shape) {
		if class.IsClass(s.Shape[i]) {
			classes++
		}
	}
	switch {
	case len(s.Shape) == 1:
		return s.Seen
	case classes == 1 && s.Seen.Lens>>63 == 0:
		return tree.Values{Lens: s.Seen.Lens >> (len(s.Shape) - 1), Kinds: class.IsDivider, Varied: s.Seen.Varied}
	}
	return tree.Values{}
}

// NameTokens names the placeholders of a pattern after the words before them.
func NameTokens(tokens []Token) {
	var nouns, soft []string // since the last placeholder, and generic ones
	all := []string{}
	for i := 0; i < len(tokens); i++ {
		if tokens[i].Class == 0 {
			for _, w := range WordsOf(tokens[i].Literal) {
				if generic[w] {
					soft = append(soft, w)
				} else {
					nouns = append(nouns, w)
				}
				all = append(all, w)
			}
			continue
		}
		run := i + 1 // placeholders with nothing but separators between them
		members := []int{i}
		for ; run < len(tokens); run++ {
			if tokens[run].Class != 0 {
				members = append(members, run)
			} else if len(WordsOf(tokens[run].Literal)) > 0 {
				break
			}
		}
		nameRun(tokens, members, nouns, soft, all)
		nouns, soft = nil, nil
		i = run - 1
	}
	distinguish(tokens)
}

// nameRun names placeholders that follow each other: the last is of the last
// noun, the one before of the noun before.
func nameRun(tokens []Token, members []int, nouns, soft, all []string) {
	var things []int
	for _, m := range members {
		if t := &tokens[m]; dateNames[t.Class] != "" {
			t.Name = dateNames[t.Class]
		} else if t.Class == class.Address {
			t.Name = "ip"
		} else if t.Class == class.Rest {
			t.Name = "rest"
		} else if full := InFull[LettersBefore(tokens, m)]; full != "" {
			t.Name = full
		} else {
			things = append(things, m)
		}
	}
	words := nouns
	if len(words) == 0 {
		words = soft[max(0, len(soft)-1):]
	}
	if len(words) == 0 && len(all) == 0 { // nothing before: what comes after
		words = firstNoun(tokens)
	}
	for k := len(things) - 1; k >= 0; k-- {
		t := &tokens[things[k]]
		if back := len(things) - 1 - k; back < len(words) {
			t.Name = t.called(words[len(words)-1-back])
		} else if len(t.Words) > 1 && len(words) > 0 {
			t.Name = t.called(words[len(words)-1])
		} else {
			t.Name = t.called("")
		}
	}
}

func firstNoun(tokens []Token) []string {
	for _, t := range tokens {
		for _, w := range WordsOf(t.Literal) {
			if !generic[w] {
				return []string{w}
			}
		}
	}
	return nil
}

// plainNames are nouns whose number is called like them.
var plainNames = Words("page level version step shard slot bucket partition part chunk year hour minute day days " +
	"week month season round index rank score code otp port ip lang locale name key email date")

// called returns the name of a placeholder that comes after a word.
func (t *Token) called(w string) string {
	w = Clean(noun.Singular(w))
	switch {
	case t.vocab != "":
		return t.vocab
	case w == "" || class.Kinds[w[0]]&class.IsDigit != 0:
		return "id"
	case len(t.Words) > 1 || plainNames[w] && t.Class != class.UUID && t.Class != class.ULID && t.Class != class.Hex:
		return w
	}
	return w + "_id"
}

// Clean makes a word a name: letters, digits and _.
func Clean(w string) string {
	var b strings.Builder
	for i := range len(w) {
		if c := w[i]; class.Kinds[c]&(class.IsLower|class.IsDigit) != 0 || c == '_' {
			b.WriteByte(c)
		} else if class.Kinds[c]&class.IsUpper != 0 {
			b.WriteByte(c | 0x20)
		}
	}
	return b.String()
}

// distinguish makes the names in a pattern differ.
func distinguish(tokens []Token) {
	seen := map[string]int{}
	for i := range tokens {
		if t := &tokens[i]; t.Class != 0 {
			seen[t.Name]++
			if n := seen[t.Name]; n > 1 {
				t.Name += "_" + strconv.Itoa(n)
			}
		}
	}
}

// ScalarType returns the type of a placeholder, as a declaration writes it; "" for
// plain text.
func (t *Token) ScalarType() string {
	if len(t.Words) > 0 {
		return strings.Join(t.ordered(), "|")
	}
	n := class.OneBit(t.seen.Lens)
	switch t.Class {
	case class.Decimal:
		return `/-?[0-9]+([.][0-9]+)?/`
	case class.Number:
		return "int 0.."
	case class.Digits:
		if n > 0 {
			return "/[0-9]{" + strconv.Itoa(n) + "}/"
		}
		return "/[0-9]+/"
	case class.Hex:
		if t.seen.Kinds&class.IsUpper != 0 {
			return ""
		}
		if n > 0 {
			return "hex " + strconv.Itoa(n)
		}
		return "/[0-9a-f]+/"
	case class.UUID:
		if t.seen.Kinds&class.IsUpper != 0 {
			return ""
		}
	case class.Text:
		if n >= 16 && t.seen.Kinds&(class.IsDivider|class.IsOdd|class.IsOther) == 0 && t.seen.Kinds&class.IsDigit != 0 {
			return "/[" + Alphabet(t.seen.Kinds) + "]{" + strconv.Itoa(n) + "}/"
		}
	}
	return classTypes[t.Class]
}

var classTypes = map[class.Class]string{class.Seconds: "unix_s", class.Millis: "unix_ms",
	class.UUID: "uuid", class.ULID: "ulid", class.Day: "date",
	class.DayHour: "date YYYY-MM-DD-HH",
	class.Week:    `/[0-9]{4}-?W[0-9]{2}/`,
	class.Address: `/[0-9]{1,3}([.][0-9]{1,3}){3}/`,
	class.Month:   "date YYYY-MM", class.Compact: "date YYYYMMDD", class.Rest: "text rest"}

// Alphabet returns the pattern of texts with these kinds of bytes.
func Alphabet(bytes byte) string {
	s := ""
	for _, part := range []struct {
		bit  byte
		text string
	}{{class.IsDigit, "0-9"}, {class.IsUpper, "A-Z"}, {class.IsLower, "a-z"}} {
		if bytes&part.bit != 0 {
			s += part.text
		}
	}
	return s
}

// ordered returns the words of an enumeration in the order of their vocabulary.
func (t *Token) ordered() []string {
	words := slices.Clone(t.Words)
	for _, v := range vocabularies {
		if v.name == t.vocab {
			place := func(w string) uint { return uint(slices.Index(v.order, w)) } // what it does not have comes last
			slices.SortStableFunc(words, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
		}
	}
	return words
}

// Spell writes tokens as a pattern. The first { with a } after it is a hash
// tag; other braces are literal.
func Spell(tokens []Token) string {
	var b strings.Builder
	open, shut := hashTag(tokens)
	for i, t := range tokens {
		if t.Class != 0 {
			b.WriteString("{" + t.Name + "}")
			continue
		}
		for j := range len(t.Literal) {
			at := [2]int{i, j}
			switch c := t.Literal[j]; {
			case at == open:
				b.WriteString("{#")
			case at == shut:
				b.WriteByte('}')
			case c == '{' || c == '}' || c == '\\':
				b.WriteString(`\` + string(rune(c)))
			case class.Kinds[c]&class.IsOdd != 0 && c < 0x80:
				b.WriteString(`\x` + string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15]))
			default:
				b.WriteByte(c)
			}
		}
	}
	return b.String()
}

// hashTag finds the braces of the hash tag: token and byte of each.
func hashTag(tokens []Token) (open, shut [2]int) {
	none := [2]int{-1, -1}
	open = none
	for i, t := range tokens {
		for j := range len(t.Literal) {
			switch c := t.Literal[j]; {
			case c == '{' && open == none:
				open = [2]int{i, j}
			case c == '}' && open != none:
				if open[0] == i && open[1] == j-1 { // {} tags nothing
					return none, none
				}
				return open, [2]int{i, j}
			}
		}
	}
	return none, none
}
