package acl

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// maxGlobs bounds how many globs one pattern becomes: a glob has no
// alternatives, so each word of an enum is a glob of its own.
const maxGlobs = 16

// Globs returns the globs of an ACL that together match every key of a pattern and
// as little else as globs can say: digits and hexadecimal digits are classes,
// the words of an enum are spelt out. The bytes that an ACL rule cannot carry
// become a question mark.
func Globs(p *pattern.Pattern) []string {
	globs := []string{""}
	places := p.Placeholders()
	for _, e := range p.Elements() {
		pieces := []string{escape(e.Literal)}
		if e.Placeholder >= 0 {
			pieces = pieceOf(places[e.Placeholder].Type)
		}
		if len(pieces)*len(globs) > maxGlobs {
			pieces = []string{"*"}
		}
		var next []string
		for _, g := range globs {
			for _, piece := range pieces {
				next = append(next, join(g, piece))
			}
		}
		globs = next
	}
	for i, g := range globs {
		if len(g) > pattern.MaxBytes {
			globs[i], _ = p.ACLGlob()
		}
	}
	slices.Sort(globs)
	return slices.Compact(globs)
}

// join keeps two stars from being side by side.
func join(a, b string) string {
	if strings.HasPrefix(b, "*") && strings.HasSuffix(a, "*") && !strings.HasSuffix(a, `\*`) {
		return a + b[1:]
	}
	return a + b
}

// escape returns literal bytes as part of a glob in an ACL rule, which has no spaces,
// quotes or control bytes, not even escaped.
func escape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r <= ' ' || r == 0x7f || r == '"' || r == '\'' || r == utf8.RuneError && size == 1:
			b.WriteByte('?') // one for each byte
		case strings.ContainsRune(`*?[]\`, r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteString(text[i : i+size])
		}
		i += size
	}
	return b.String()
}

const (
	digit = "[0-9]"
	hex   = "[0-9a-f]"
)

// pieceOf returns what is written for a placeholder in a glob.
func pieceOf(t scalar.Type) []string {
	h := func(n int) string { return strings.Repeat(hex, n) }
	switch t.Kind {
	case scalar.Enum:
		out := make([]string, len(t.Values))
		for i, w := range t.Values {
			out[i] = escape(w)
		}
		return out
	case scalar.Bool:
		return []string{"true", "false"}
	case scalar.UUID:
		return []string{h(8) + "-" + h(4) + "-" + h(4) + "-" + h(4) + "-" + h(12)}
	case scalar.ULID:
		return []string{"[0-7]" + strings.Repeat("[0-9A-Z]", 25)}
	case scalar.Hex:
		if t.N > 0 && t.N <= 64 {
			return []string{h(t.N)}
		}
		return []string{hex + "*"}
	case scalar.Int:
		return []string{intPiece(t)}
	case scalar.UnixS, scalar.UnixMS:
		return []string{digit + "*"}
	case scalar.Slug:
		return []string{"[a-z0-9]*"}
	case scalar.Date:
		return []string{datePiece(t.Layout)}
	case scalar.Timestamp:
		return []string{datePiece("YYYY-MM-DDTHH:mm:ss") + "*"}
	}
	return []string{"?*"}
}

func intPiece(t scalar.Type) string {
	switch {
	case t.HasMin && t.HasMax && t.Low >= 0 && t.High <= 9:
		return "[" + string(rune('0'+t.Low)) + "-" + string(rune('0'+t.High)) + "]"
	case t.HasMin && t.Low > 0:
		return "[1-9]*"
	case t.HasMin && t.Low == 0:
		return digit + "*"
	}
	return "[0-9-]*"
}

func datePiece(layout string) string {
	for _, token := range []string{"YYYY", "MM", "DD", "HH", "mm", "ss"} {
		layout = strings.ReplaceAll(layout, token, strings.Repeat("\x00", len(token)))
	}
	return strings.ReplaceAll(strings.ReplaceAll(escapeDate(layout), "\x00", digit), " ", "?")
}

func escapeDate(layout string) string {
	var b strings.Builder
	for part := range strings.SplitAfterSeq(layout, "\x00") {
		text, found := strings.CutSuffix(part, "\x00")
		b.WriteString(escape(text))
		if found {
			b.WriteByte(0)
		}
	}
	return b.String()
}
