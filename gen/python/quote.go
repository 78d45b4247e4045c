package python

import (
	"fmt"
	"strings"

	"github.com/keywright/keywright/gen/portable"
)

// reserved lists the keywords and the built-in names that begin with a small
// letter or are in the way of a class.
var reserved = strings.Fields(`
	False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal self
	not or pass raise return self try type while with yield cls
	abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex copyright credits delattr dict dir divmod
	enumerate eval exec exit filter float format frozenset getattr globals hasattr hash help hex id input int isinstance issubclass iter len license list
	locals map max memoryview min next object oct open ord pow print property quit range repr reversed round set setattr slice sorted staticmethod str sum
	super tuple vars zip annotations`)

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
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String() + `"`
}

// list returns several string literals.
func list(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, ", ")
}

// tuple returns a tuple of string literals; that of one has a comma.
func tuple(words []string) string {
	if len(words) == 1 {
		return "(" + quote(words[0]) + ",)"
	}
	return "(" + list(words) + ")"
}

// quoteBytes returns a literal of bytes.
func quoteBytes(text string) string {
	var b strings.Builder
	b.WriteString(`b"`)
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c >= ' ' && c < 0x7f:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String() + `"`
}

// docstring writes a documentation string; quotes and backslashes in it are
// escaped, so that nothing ends it.
func docstring(b *strings.Builder, indent string, lines []string) {
	var clean []string
	for _, text := range lines {
		for _, line := range portable.Lines(text) {
			clean = append(clean, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(line))
		}
	}
	if len(clean) == 1 {
		fmt.Fprintf(b, "%s\"\"\"%s\"\"\"\n", indent, clean[0])
		return
	}
	fmt.Fprintf(b, "%s\"\"\"", indent)
	for i, line := range clean {
		if i > 0 && line != "" {
			b.WriteString(indent)
		}
		b.WriteString(line + "\n")
	}
	fmt.Fprintf(b, "%s\"\"\"\n", indent)
}
