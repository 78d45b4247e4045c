package lua

import "strings"

// strip returns a program without comments, indentation and empty lines. What is in
// strings stays.
func strip(text string) string { return strings.Join(lines(text), "\n") }

// lines returns the lines of a program that have something in them.
func lines(text string) (out []string) {
	var b strings.Builder
	end := func() {
		if s := strings.Trim(b.String(), " \t\r"); s != "" {
			out = append(out, s)
		}
		b.Reset()
	}
	if strings.HasPrefix(text, "#!") {
		n := strings.IndexByte(text, '\n') + 1
		out, text = append(out, strings.TrimSpace(text[:n])), text[n:]
	}
	for text != "" {
		n := 1
		switch {
		case text[0] == '\n':
			end()
			text = text[1:]
			continue
		case strings.HasPrefix(text, "--"):
			if size := long(text[2:]); size > 0 {
				n = 2 + size
				b.WriteByte(' ')
			} else if n = strings.IndexByte(text, '\n'); n < 0 {
				n = len(text)
			}
			text = text[n:]
			continue
		case text[0] == '[':
			n = max(long(text), 1)
		case text[0] == '\'' || text[0] == '"':
			n = quotedLength(text)
		default:
			for n < len(text) && !special[text[n]] {
				n++
			}
		}
		b.WriteString(text[:n])
		text = text[n:]
	}
	end()
	return out
}

// special are the bytes at which something else may begin: a line, a comment, a string.
var special = [256]bool{'\n': true, '-': true, '[': true, '\'': true, '"': true}

// long returns the size of a string in long brackets at the start of a text, 0 if there is none.
func long(text string) int {
	level := 1
	for level < len(text) && text[level] == '=' {
		level++
	}
	if text == "" || text[0] != '[' || level >= len(text) || text[level] != '[' {
		return 0
	}
	close := "]" + strings.Repeat("=", level-1) + "]"
	if n := strings.Index(text, close); n >= 0 {
		return n + len(close)
	}
	return len(text)
}

// quotedLength returns the size of a string in quotes at the start of a text.
func quotedLength(text string) int {
	for i := 1; i < len(text); i++ {
		if text[i] == '\\' {
			i++
		} else if text[i] == text[0] {
			return i + 1
		}
	}
	return len(text)
}
