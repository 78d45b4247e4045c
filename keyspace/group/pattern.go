package group

import (
	"cmp"
	"strconv"
	"strings"
)

// isPlaceholder reports whether a name is one placeholder and nothing else.
func isPlaceholder(name string) bool {
	return strings.HasPrefix(name, "{") && strings.IndexByte(name, '}') == len(name)-1
}

// hasPlaceholder reports whether a name has a placeholder in it: a brace that does not belong to the key.
func hasPlaceholder(name string) bool {
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '\\':
			i++
		case '{':
			return true
		}
	}
	return false
}

// isSlipName reports whether a segment as a pattern has it is a mistake of the program that wrote the key.
func isSlipName(name string) bool { return isSlip([]byte(strings.ReplaceAll(name, `\`, ""))) }

// skeleton returns the placeholder that a word becomes: a text, and of a word beside placeholders its form,
// {text}_{int}.
func skeleton(name string) string {
	if !hasPlaceholder(name) {
		return text
	}
	var out strings.Builder
	in := false // a word
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case c == '\\':
			out.WriteString(name[i:min(i+2, len(name))])
			i++
			in = false
		case c == '{' && strings.IndexByte(name[i:], '}') > 0:
			end := i + strings.IndexByte(name[i:], '}')
			out.WriteString(name[i : end+1])
			i, in = end, false
		case strings.IndexByte(dividers, c) >= 0:
			out.WriteByte(c)
			in = false
		case !in:
			out.WriteString(text)
			in = true
		}
	}
	return out.String()
}

// numbering makes the placeholders of a pattern differ, {int} and {int_2}: it counts them by their names.
type numbering map[string]int

// number returns a segment with its placeholders numbered, and the first of these.
func (n numbering) number(name string) (numbered, first string) {
	var out strings.Builder
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '\\':
			out.WriteString(name[i:min(i+2, len(name))])
			i++
		case '{':
			end := i + strings.IndexByte(name[i:], '}')
			if end < i {
				return out.String() + name[i:], first
			}
			p := name[i+1 : end]
			if n[p]++; n[p] > 1 {
				p += "_" + strconv.Itoa(n[p])
			}
			out.WriteString("{" + p + "}")
			first = cmp.Or(first, "{"+p+"}")
			i = end
		default:
			out.WriteByte(name[i])
		}
	}
	return out.String(), first
}
