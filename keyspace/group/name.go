package group

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/keywright/keywright/keyspace/scalar"
)

// Names of placeholders that are no types.
const (
	text   = "{text}"   // words and tokens
	binary = "{bytes}"  // not to be printed
	digits = "{digits}" // a number with zeros before it, or a very long one
)

// maxSegment says how long a segment is that may be a word.
const maxSegment = 64

// SeparatorOf returns the byte that parts a name into segments, 0 if there is none: a colon, else a slash, else a bar.
// A dot is one where there are two and no other, in a name like conf.cdn.opt7 and not in an address.
func SeparatorOf(name []byte) byte {
	for _, sep := range []byte(":/|") {
		if bytes.IndexByte(name, sep) >= 0 {
			return sep
		}
	}
	if bytes.Count(name, []byte(".")) < 2 {
		return 0
	}
	for i, c := range name {
		dot := c == '.' && i > 0 && i < len(name)-1 && isLetter(name[i-1])
		if !dot && !isLetter(c) && !isDigit(c) && c != '_' && c != '-' {
			return 0
		}
	}
	return '.'
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }

// form represents a type that a word is tried for. Length and alphabet are looked at first: a type that refuses builds
// a reason that is read by no program here.
type form struct {
	text              string
	shortest, longest int
	alphabet          string
	is                func([]byte) bool
	name              string // of the placeholder
}

const number = "0123456789"

// forms lists what an identifier looks like, the narrowest first.
var forms = func() []form {
	list := []form{
		{text: "uuid", shortest: 36, longest: 36, alphabet: number + "abcdef-"},
		{text: "ulid", shortest: 26, longest: 26, alphabet: number + "ABCDEFGHJKMNPQRSTVWXYZ"},
		{text: "unix_ms", shortest: 13, longest: 13, alphabet: number},
		{text: "int", shortest: 1, longest: 20, alphabet: number + "-"},
		{text: "date", shortest: 10, longest: 10, alphabet: number + "-"},
		{text: "hex 40", shortest: 40, longest: 40, alphabet: number + "abcdef"},
		{text: "hex 32", shortest: 32, longest: 32, alphabet: number + "abcdef"},
		{text: "hex 16", shortest: 16, longest: 16, alphabet: number + "abcdef"},
	}
	for i := range list {
		f := &list[i]
		typ, _ := scalar.Parse(f.text, nil) // held by TestForms
		f.is = typ.Prepared()
		f.name = "{" + strings.Fields(f.text)[0] + "}"
	}
	return list
}()

func (f *form) fits(word []byte) bool {
	n := len(word)
	return f.shortest <= n && n <= f.longest && len(bytes.Trim(word, f.alphabet)) == 0 && f.is(word)
}

// identifier returns the placeholder of a word that is an identifier by its form, "" of another.
func identifier(word []byte) string {
	if !bytes.ContainsAny(word, number) {
		return ""
	}
	for i := range forms {
		if forms[i].fits(word) {
			return forms[i].name
		}
	}
	if len(bytes.Trim(word, number)) == 0 {
		return digits
	}
	return ""
}

// dividers are between the words of a segment. The braces are those of a hash tag.
const dividers = "_-./|,=#~+ ()[]{};&%"

// appendName appends the segment as it is in a pattern. The words within a segment are looked at one by one.
func appendName(out, segment []byte) []byte {
	switch {
	case len(segment) == 0:
		return out
	case len(segment) > maxSegment:
		return append(out, text...)
	case identifier(segment) != "":
		return append(out, identifier(segment)...)
	case !isPrintable(segment):
		return append(out, binary...)
	case isSlip(segment):
		return appendLiteral(out, segment)
	case isMail(segment):
		return append(out, text...)
	}
	if open, inner, shut := hashTag(segment); len(inner) > 0 && len(inner) < len(segment) {
		return appendLiteral(appendName(appendLiteral(out, open), inner), shut)
	}
	for start := 0; start <= len(segment); {
		end := start
		for end < len(segment) && strings.IndexByte(dividers, segment[end]) < 0 {
			end++
		}
		out = appendWord(out, segment[start:end])
		if end < len(segment) {
			out = appendLiteral(out, segment[end:end+1])
		}
		start = end + 1
	}
	return out
}

// hashTag parts a segment from the braces around it: a hash tag may begin in one segment and end in another.
func hashTag(segment []byte) (open, inner, shut []byte) {
	inner = bytes.TrimLeft(segment, "{")
	open, inner = segment[:len(segment)-len(inner)], bytes.TrimRight(inner, "}")
	return open, inner, segment[len(open)+len(inner):]
}

// technical are words with digits in them that are names all the same.
var technical = map[string]bool{"sha256": true, "sha512": true, "sha1": true, "utf8": true, "h264": true, "mp3": true,
	"mp4": true, "md5": true, "oauth2": true, "base64": true, "ipv4": true, "ipv6": true, "i18n": true, "l10n": true,
	"k8s": true, "http2": true, "es6": true}

// leastToken says how long a word without digits is that has capitals in the middle of it as a token has.
const leastToken = 20

// appendWord appends a word: an identifier as its placeholder, letters and a number after them as these, letters and
// digits in a mixture as a text, v2 and words without digits as they are.
func appendWord(out, word []byte) []byte {
	if name := identifier(word); name != "" {
		return append(out, name...)
	}
	at := bytes.IndexAny(word, number)
	switch {
	case at < 0:
		if len(word) >= leastToken && turns(word) >= len(word)/3 {
			return append(out, text...)
		}
		return appendLiteral(out, word)
	case technical[string(word)], at > 0 && len(word) <= 4 && len(bytes.Trim(word[at:], number)) == 0 && at < 3:
		return appendLiteral(out, word)
	case at >= 3 && len(bytes.Trim(word[at:], number)) == 0:
		return append(appendLiteral(out, word[:at]), identifier(word[at:])...)
	case utf8.RuneCount(word) < len(word): // words of other alphabets have few letters
		return appendLiteral(out, word)
	}
	return append(out, text...)
}

// turns counts where a capital follows a small letter, or the other way round.
func turns(word []byte) (n int) {
	for i := 1; i < len(word); i++ {
		if isLetter(word[i]) && isLetter(word[i-1]) && word[i]&0x20 != word[i-1]&0x20 {
			n++
		}
	}
	return n
}

// isMail reports whether a segment is an address of a person.
func isMail(segment []byte) bool {
	at := bytes.IndexByte(segment, '@')
	return at > 0 && bytes.IndexByte(segment[at:], '.') > 1
}

func isPrintable(p []byte) bool {
	return utf8.Valid(p) && bytes.IndexFunc(p, func(r rune) bool { return !unicode.IsPrint(r) && r != ' ' }) < 0
}

// appendLiteral appends text as a pattern has it.
func appendLiteral(out, p []byte) []byte {
	for _, b := range p {
		if b == '{' || b == '}' || b == '\\' {
			out = append(out, '\\')
		}
		out = append(out, b)
	}
	return out
}

// Mask returns a name in which identifiers are their placeholders, as it is shown where no identifier may be:
// user:ann@example.com:7 is user:{text}:{int}. Days stay, also those that there are not.
func Mask(name []byte) string {
	segments := [][]byte{name}
	sep := SeparatorOf(name)
	if sep != 0 {
		segments = bytes.Split(name, []byte{sep})
	}
	var out []byte
	for i, segment := range segments {
		if i > 0 {
			out = append(out, sep)
		}
		if isDay(segment) {
			out = append(out, segment...)
		} else {
			out = appendName(out, segment)
		}
	}
	return string(out)
}

func isDay(p []byte) bool {
	for i, c := range p {
		if dash := i == 4 || i == 7; dash != (c == '-') || !dash && !isDigit(c) {
			return false
		}
	}
	return len(p) == len("2026-12-31")
}
