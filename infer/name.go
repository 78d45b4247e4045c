package infer

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/infer/noun"
)

// token represents a piece of a pattern: literal bytes, or a placeholder.
type token struct {
	literal string
	class   class // 0: literal
	words   []string
	vocab   string
	seen    values
	name    string
	typ     string
}

// tokens returns the pieces of a path. The values of a placeholder within a segment
// are not known by themselves, only the segment's are.
func (p *path) tokens() []token {
	var out []token
	literal := func(s string) {
		if n := len(out); n > 0 && out[n-1].class == 0 {
			out[n-1].literal += s
		} else {
			out = append(out, token{literal: s})
		}
	}
	for i, s := range p.segments {
		if i > 0 {
			literal(p.sep)
		}
		if s.open != "" {
			literal(s.open)
		}
		for j := range len(s.shape) {
			if c := s.shape[j]; !isClass(c) {
				literal(s.shape[j : j+1])
			} else {
				t := token{class: class(c), words: s.words, vocab: s.vocab}
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
func (s *segment) valuesAt() values {
	classes := 0
	for i := range len(s.shape) {
		if isClass(s.shape[i]) {
			classes++
		}
	}
	switch {
	case len(s.shape) == 1:
		return s.seen
	case classes == 1 && s.seen.lens>>63 == 0:
		return values{lens: s.seen.lens >> (len(s.shape) - 1), bytes: isDivider, varied: s.seen.varied}
	}
	return values{}
}

// nameTokens names the placeholders of a pattern after the words before them.
func nameTokens(tokens []token) {
	var nouns, soft []string // since the last placeholder, and generic ones
	all := []string{}
	for i := 0; i < len(tokens); i++ {
		if tokens[i].class == 0 {
			for _, w := range wordsOf(tokens[i].literal) {
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
			if tokens[run].class != 0 {
				members = append(members, run)
			} else if len(wordsOf(tokens[run].literal)) > 0 {
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
func nameRun(tokens []token, members []int, nouns, soft, all []string) {
	var things []int
	for _, m := range members {
		if t := &tokens[m]; dateNames[t.class] != "" {
			t.name = dateNames[t.class]
		} else if t.class == address {
			t.name = "ip"
		} else if t.class == rest {
			t.name = "rest"
		} else if full := inFull[lettersBefore(tokens, m)]; full != "" {
			t.name = full
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
			t.name = t.called(words[len(words)-1-back])
		} else if len(t.words) > 1 && len(words) > 0 {
			t.name = t.called(words[len(words)-1])
		} else {
			t.name = t.called("")
		}
	}
}

func firstNoun(tokens []token) []string {
	for _, t := range tokens {
		for _, w := range wordsOf(t.literal) {
			if !generic[w] {
				return []string{w}
			}
		}
	}
	return nil
}

// plainNames are nouns whose number is called like them.
var plainNames = set("page level version step shard slot bucket partition part chunk year hour minute day days " +
	"week month season round index rank score code otp port ip lang locale name key email date")

// called returns the name of a placeholder that comes after a word.
func (t *token) called(w string) string {
	w = clean(noun.Singular(w))
	switch {
	case t.vocab != "":
		return t.vocab
	case w == "" || kinds[w[0]]&isDigit != 0:
		return "id"
	case len(t.words) > 1 || plainNames[w] && t.class != uuid && t.class != ulid && t.class != hex:
		return w
	}
	return w + "_id"
}

// clean makes a word a name: letters, digits and _.
func clean(w string) string {
	var b strings.Builder
	for i := range len(w) {
		if c := w[i]; kinds[c]&(isLower|isDigit) != 0 || c == '_' {
			b.WriteByte(c)
		} else if kinds[c]&isUpper != 0 {
			b.WriteByte(c | 0x20)
		}
	}
	return b.String()
}

// distinguish makes the names in a pattern differ.
func distinguish(tokens []token) {
	seen := map[string]int{}
	for i := range tokens {
		if t := &tokens[i]; t.class != 0 {
			seen[t.name]++
			if n := seen[t.name]; n > 1 {
				t.name += "_" + strconv.Itoa(n)
			}
		}
	}
}

// scalarType returns the type of a placeholder, as a declaration writes it; "" for
// plain text.
func (t *token) scalarType() string {
	if len(t.words) > 0 {
		return strings.Join(t.ordered(), "|")
	}
	n := oneBit(t.seen.lens)
	switch t.class {
	case decimal:
		return `/-?[0-9]+([.][0-9]+)?/`
	case number:
		return "int 0.."
	case digits:
		if n > 0 {
			return "/[0-9]{" + strconv.Itoa(n) + "}/"
		}
		return "/[0-9]+/"
	case hex:
		if t.seen.bytes&isUpper != 0 {
			return ""
		}
		if n > 0 {
			return "hex " + strconv.Itoa(n)
		}
		return "/[0-9a-f]+/"
	case uuid:
		if t.seen.bytes&isUpper != 0 {
			return ""
		}
	case text:
		if n >= 16 && t.seen.bytes&(isDivider|isOdd|isOther) == 0 && t.seen.bytes&isDigit != 0 {
			return "/[" + alphabet(t.seen.bytes) + "]{" + strconv.Itoa(n) + "}/"
		}
	}
	return classTypes[t.class]
}

var classTypes = map[class]string{seconds: "unix_s", millis: "unix_ms", uuid: "uuid", ulid: "ulid", day: "date",
	dayHour: "date YYYY-MM-DD-HH",
	week:    `/[0-9]{4}-?W[0-9]{2}/`,
	address: `/[0-9]{1,3}([.][0-9]{1,3}){3}/`,
	month:   "date YYYY-MM", compact: "date YYYYMMDD", rest: "text rest"}

func alphabet(bytes byte) string {
	s := ""
	for _, part := range []struct {
		bit  byte
		text string
	}{{isDigit, "0-9"}, {isUpper, "A-Z"}, {isLower, "a-z"}} {
		if bytes&part.bit != 0 {
			s += part.text
		}
	}
	return s
}

// ordered returns the words of an enumeration in the order of their vocabulary.
func (t *token) ordered() []string {
	words := slices.Clone(t.words)
	for _, v := range vocabularies {
		if v.name == t.vocab {
			place := func(w string) uint { return uint(slices.Index(v.order, w)) } // what it does not have comes last
			slices.SortStableFunc(words, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
		}
	}
	return words
}

// spell writes tokens as a pattern. The first { with a } after it is a hash
// tag; other braces are literal.
func spell(tokens []token) string {
	var b strings.Builder
	open, shut := hashTag(tokens)
	for i, t := range tokens {
		if t.class != 0 {
			b.WriteString("{" + t.name + "}")
			continue
		}
		for j := range len(t.literal) {
			at := [2]int{i, j}
			switch c := t.literal[j]; {
			case at == open:
				b.WriteString("{#")
			case at == shut:
				b.WriteByte('}')
			case c == '{' || c == '}' || c == '\\':
				b.WriteString(`\` + string(rune(c)))
			case kinds[c]&isOdd != 0 && c < 0x80:
				b.WriteString(`\x` + string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15]))
			default:
				b.WriteByte(c)
			}
		}
	}
	return b.String()
}

// hashTag finds the braces of the hash tag: token and byte of each.
func hashTag(tokens []token) (open, shut [2]int) {
	none := [2]int{-1, -1}
	open = none
	for i, t := range tokens {
		for j := range len(t.literal) {
			switch c := t.literal[j]; {
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
