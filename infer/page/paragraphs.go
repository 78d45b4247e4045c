package page

import (
	"strings"

	"github.com/keywright/keywright/infer/page/internal/markdown"
	"github.com/keywright/keywright/infer/page/internal/program"
	"github.com/keywright/keywright/infer/page/internal/wording"
)

// maxTail bounds what of the lines around is read with a line.
const maxTail = 240

// wholeSentences returns a line of a paragraph with the beginning and the end that its sentences have
// in the lines above and below, unless these name a key of their own.
func wholeSentences(lines []string, i int, l string) string {
	if !strings.Contains(l, "`") {
		return l
	}
	if i > 0 && !bullet.MatchString(l) && isParagraph(lines[i-1]) {
		tail := lines[i-1]
		if ends := sentenceEnd.FindAllStringIndex(tail+" ", -1); len(ends) > 0 {
			tail = tail[min(ends[len(ends)-1][1], len(tail)):]
		}
		if !strings.Contains(tail, "`") && len(tail) < maxTail {
			l = tail + " " + l
		}
	}
	if i+1 < len(lines) && isParagraph(lines[i+1]) && !bullet.MatchString(lines[i+1]) &&
		(!strings.HasSuffix(strings.TrimRight(l, " "), ".") || wording.GoesOn(lines[i+1])) {
		head := lines[i+1]
		if end := sentenceEnd.FindStringIndex(head + " "); end != nil {
			head = head[:min(end[1], len(head))]
		}
		if !strings.Contains(head, "`") && len(head) < maxTail {
			l += " " + strings.TrimSpace(head)
		}
	}
	return l
}

// isParagraph reports whether a line is one of text.
func isParagraph(l string) bool {
	return strings.TrimSpace(l) != "" && !strings.Contains(l, "|") && !strings.HasPrefix(strings.TrimSpace(l), "#")
}

// sentenceOf returns the sentence of a text that a key is in.
func sentenceOf(l, key string) string {
	at := strings.Index(l, key)
	from, to := 0, len(l)
	for _, m := range sentenceEnd.FindAllStringIndex(l, -1) {
		if m[1] <= at {
			from = m[1]
		} else if m[0] >= at+len(key) {
			to = m[1]
			break
		}
	}
	return l[from:to]
}

// withoutCommands returns a sentence with the keys of its commands in their places.
func withoutCommands(l string) string {
	return markdown.CodeSpan.ReplaceAllStringFunc(l, func(m string) string {
		if name, args := program.ParseCommand(strings.Trim(m,
			"` ")); name != "" && mayBeKey(args[0]) && !strings.Contains(args[0], "*") {
			return "`" + args[0] + "`"
		}
		return m
	})
}
