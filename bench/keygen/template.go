package keygen

import (
	"fmt"
	"strings"
)

// Template makes keys of one pattern of the keyspace language. It knows
// {name}, the literal hash tag {#…} and nothing else: benchmarks use no other.
type Template struct {
	Text  string
	parts []part
}

type part struct {
	literal, name string
	maker         Maker // of a placeholder of that name; nil for a literal
}

// Parse reads a pattern; makers answers each placeholder name.
func Parse(text string, makers map[string]Maker) (*Template, error) {
	t := &Template{Text: text}
	for rest := text; rest != ""; {
		var p part
		var err error
		if p, rest, err = next(rest, makers); err != nil {
			return nil, fmt.Errorf("pattern %q: %w", text, err)
		}
		t.parts = append(t.parts, p)
	}
	return t, nil
}

func next(rest string, makers map[string]Maker) (part, string, error) {
	if after, ok := strings.CutPrefix(rest, "{#"); ok {
		return part{literal: "{"}, after, nil
	}
	if !strings.HasPrefix(rest, "{") {
		n := strings.IndexByte(rest, '{')
		if n < 0 {
			n = len(rest)
		}
		return part{literal: rest[:n]}, rest[n:], nil
	}
	name, after, ok := strings.Cut(rest[1:], "}")
	if !ok || makers[name] == nil {
		return part{}, "", fmt.Errorf("no maker for the placeholder at %q", rest)
	}
	return part{name: name, maker: makers[name]}, after, nil
}

// MustParse is Parse for the tables of this module, which tests cover.
func MustParse(text string, makers map[string]Maker) *Template {
	t, err := Parse(text, makers)
	if err != nil {
		panic("keygen: " + err.Error())
	}
	return t
}

// Append appends the key with this serial number.
func (t *Template) Append(dst []byte, r *Rand, serial uint64) []byte {
	for _, p := range t.parts {
		if p.maker == nil {
			dst = append(dst, p.literal...)
		} else {
			dst = p.maker(dst, r, serial)
		}
	}
	return dst
}

// Replace returns the pattern with other texts for its literals and its placeholders.
func (t *Template) Replace(literal, placeholder func(text string) string) string {
	var b strings.Builder
	for _, p := range t.parts {
		if p.maker == nil {
			b.WriteString(literal(p.literal))
		} else {
			b.WriteString(placeholder(p.name))
		}
	}
	return b.String()
}
