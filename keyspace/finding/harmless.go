package finding

import (
	"bytes"
	"regexp"
	"unicode"
	"unicode/utf8"
)

// commands are what CI systems take for commands where it is in a log: GitHub
// and Azure at the beginning of a line, ##[…], ##vso[…] and ##teamcity[…] anywhere.
var (
	lineCommand   = regexp.MustCompile(`(?m)^([ \t]*)::`)
	inlineCommand = regexp.MustCompile(`##([A-Za-z]*\[)`)
	paint         = regexp.MustCompile(`^\x1b\[[0-9;]*m`)
)

// Harmless returns text for people, of any number of lines, that commands neither a
// terminal nor the log of a CI system, whatever was quoted in it. What would be a
// command gets a backslash; what is not printable is replaced. With color the
// colours stay. inLine says that the text goes on in the middle of a line.
func Harmless(text []byte, color, inLine bool) []byte {
	text = printableText(text, color)
	if bytes.Contains(text, []byte("##")) {
		text = inlineCommand.ReplaceAll(text, []byte(`#\#$1`))
	}
	if !bytes.Contains(text, []byte("::")) {
		return text
	}
	first := []byte(nil)
	if inLine {
		i := bytes.IndexByte(text, '\n') + 1
		if i == 0 {
			return text
		}
		first, text = text[:i:i], text[i:]
	}
	return append(first, lineCommand.ReplaceAll(text, []byte(`$1\::`))...)
}

// printableText replaces what is not printable, but for ends of lines and tabs.
func printableText(text []byte, color bool) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == '\n' || r == '\t' || unicode.IsPrint(r) && (r != utf8.RuneError || n > 1):
			out = append(out, text[:n]...)
		case color && r == '\x1b' && paint.Match(text[:min(len(text), 16)]):
			n = len(paint.Find(text[:min(len(text), 16)]))
			out = append(out, text[:n]...)
		default:
			out = append(out, "\ufffd"...)
		}
		text = text[n:]
	}
	return out
}
