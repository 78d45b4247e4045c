package typescript

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/keywright/keywright/gen/portable"
)

// reserved lists the words that cannot be the name of a constant or a type, and
// the globals that should not be shadowed.
var reserved = strings.Fields(`
	abstract any arguments as async await bigint boolean break case catch class const constructor continue debugger declare default delete do else enum eval
	export extends false finally for from function get if implements import in infer instanceof interface is keyof let module namespace never new null number
	object of package private protected prototype public readonly require return set static string super switch symbol this throw true try type typeof
	undefined unique unknown using var void while with yield globalThis global window self process console exports name NaN Infinity
	Array BigInt Error Map Math Number Object Promise RangeError ReadonlyMap Record Readonly Set String TextDecoder TextEncoder Uint8Array`)

// quote returns a string literal that holds text and nothing else.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range strings.ToValidUTF8(text, "�") {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case portable.Printable(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String() + `"`
}

// list returns several string literals.
func list(words []string) string { return joined(words, ", ") }

func joined(words []string, separator string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, separator)
}

// bytesOrText returns the literal of bytes: a string if they are text, else the
// numbers.
func bytesOrText(text string) string {
	if utf8.ValidString(text) {
		return quote(text)
	}
	return strings.ReplaceAll(fmt.Sprint([]byte(text)), " ", ", ")
}

var identifier = regexp.MustCompile(`^[A-Za-z$][A-Za-z0-9_$]*$`)

// property returns the name of a property, quoted where it must be.
func property(name string) string {
	if identifier.MatchString(name) && name != "constructor" {
		return name
	}
	return quote(name)
}

// tame takes the meaning from a line that begins like a directive to the
// compiler (@ts-nocheck).
func tame(line string) string {
	if strings.HasPrefix(line, "@") {
		return `\` + line
	}
	return line
}

// comment writes a documentation comment; the end of one inside of it is broken.
func comment(b *strings.Builder, indent string, lines []string) {
	var clean []string
	for _, text := range lines {
		for _, line := range portable.Lines(text) {
			clean = append(clean, tame(strings.ReplaceAll(line, "*/", "* /")))
		}
	}
	switch {
	case len(clean) == 1:
		fmt.Fprintf(b, "%s/** %s */\n", indent, clean[0])
	case len(clean) > 1:
		fmt.Fprintf(b, "%s/**\n", indent)
		for _, line := range clean {
			fmt.Fprintf(b, "%s\n", strings.TrimRight(indent+" * "+line, " "))
		}
		fmt.Fprintf(b, "%s */\n", indent)
	}
}
