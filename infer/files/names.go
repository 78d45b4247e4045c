package files

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/keywright/keywright/infer/noun"
)

// wordsOf takes a name apart, in lower case and each word as one of its kind: "rssFeeds" and
// "rss_feeds" are rss and feed.
func wordsOf(name string) (out []string) {
	begin := 0
	flush := func(end int) {
		if w := strings.ToLower(name[begin:end]); w != "" {
			out = append(out, noun.Singular(w))
		}
		begin = end
	}
	lower := false
	for i, c := range name {
		switch {
		case !unicode.IsLetter(c) && !unicode.IsDigit(c):
			flush(i)
			_, size := utf8.DecodeRuneInString(name[i:]) // one byte that is no text is no letter of three
			begin, lower = i+size, false
			continue
		case unicode.IsUpper(c) && lower:
			flush(i)
		}
		lower = !unicode.IsUpper(c)
	}
	flush(len(name))
	return out
}

// plainName returns a name of letters, digits and _, as entries, parts and placeholders have it.
func plainName(s string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(s) {
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	out := strings.Trim(b.String(), "_")
	if out == "" || out[0] >= '0' && out[0] <= '9' {
		out = strings.TrimSuffix("n_"+out, "_")
	}
	return out[:min(len(out), 48)]
}

// free returns a name that is not taken yet.
func free(name string, taken func(string) bool) string {
	if !taken(name) {
		return name
	}
	for i := 2; ; i++ {
		if next := name + "_" + strconv.Itoa(i); !taken(next) {
			return next
		}
	}
}

var plainMember = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// member returns the reference to a member of a record.
func member(name string) string {
	if plainMember.MatchString(name) {
		return "." + name
	}
	text, _ := json.Marshal(name) // a text can always be written
	return "." + string(text)
}

var escaped = strings.NewReplacer("~", "~0", "/", "~1", "{", "~2", "[", "~3")

// isWord reports whether a name looks like one that a program has given, and not like data.
func isWord(name string) bool {
	if !plainMember.MatchString(name) || len(name) > 40 {
		return false
	}
	digits := 0
	for _, c := range name {
		if c >= '0' && c <= '9' {
			digits++
		}
	}
	return digits <= 2 && !isUUID([]byte(name)) && !(len(name) >= 8 && digits > 0 && isHex([]byte(name)))
}

// typeOf returns the narrowest type that all texts have, as a declaration has it.
func (w *words) typeOf() string {
	switch {
	case w.n == 0:
		return "text"
	case w.digits == w.n:
		return "/[0-9]{" + strconv.Itoa(widen(w.least, -1)) + "," + strconv.Itoa(widen(w.most, 1)) + "}/"
	case w.uuids == w.n:
		return "uuid"
	case w.dates == w.n:
		return "date"
	case w.hexes == w.n && w.least == w.most:
		return "hex " + strconv.Itoa(w.least)
	case w.slugs == w.n:
		return "slug"
	}
	return "text"
}

// widen lets ids be a digit longer or shorter than those that are there.
func widen(n, by int) int { return max(1, n+by) }

// valueType returns the type of a value that is stored by itself.
func (n *node) valueType() string {
	all := n.total()
	switch {
	case all == 0 || n.nulls > 0 || n.objects+n.arrays > 0:
		return "json"
	case n.bools == all:
		return "bool"
	case n.ints == all && n.seconds():
		return "unix_s"
	case n.ints == all && n.millis():
		return "unix_ms"
	case n.ints == all:
		return "int"
	case n.texts.n == all && n.texts.uuids == all:
		return "uuid"
	case n.texts.n == all && n.texts.dates == all:
		return "date"
	case n.texts.n == all:
		return "text"
	}
	return "json" // what is mixed, and numbers that have a fraction: every digit of them is kept
}
