package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// shownPerCode says how many findings of one code are printed of one file: a file
// with a hundred thousand faults of one kind has one cause. All of them count.
const shownPerCode = 100

// More describes how many findings of one code in one file were not printed.
type More struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	File     string `json:"file,omitempty"`
	Count    int    `json:"count"`
}

// fold takes out of findings what there is too much of.
func fold(findings []Finding) (shown []Finding, more []More) {
	type kind struct{ file, code string }
	seen, at := map[kind]int{}, map[kind]int{}
	for _, f := range findings {
		k := kind{f.Pos.File, f.Code}
		if seen[k]++; seen[k] <= shownPerCode {
			shown = append(shown, f)
			continue
		}
		i, known := at[k]
		if !known {
			i = len(more)
			at[k] = i
			more = append(more, More{Code: f.Code, Severity: f.Severity.String(), File: f.Pos.File})
		}
		more[i].Count++
	}
	slices.SortFunc(more, func(a, b More) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Code, b.Code)) })
	return shown, more
}

// String returns a line for people.
func (m More) String() string {
	where := ""
	if m.File != "" {
		where = " in " + Printable(m.File)
	}
	return fmt.Sprintf("and %s more %s%s", thousands(m.Count), m.Code, where)
}

func (m More) level() Severity {
	return max(0, Severity(slices.Index([]string{"note", "warning", "error"}, m.Severity)))
}

// finding returns what is left out as one more finding, for forms that have nothing else.
func (m More) finding() Finding {
	return Finding{
		Code: m.Code, Severity: m.level(), Pos: Position{File: m.File, Line: 1, Column: 1},
		Message: "… " + m.String(), Fix: "mend those that are shown first",
	}
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	var groups []string
	for ; len(s) > 3; s = s[:len(s)-3] {
		groups = append(groups, s[len(s)-3:])
	}
	groups = append(groups, s)
	slices.Reverse(groups)
	return strings.Join(groups, ",")
}

// maxMessage says how many characters of a sentence are printed: what it quotes may
// be as long as a file.
const maxMessage = 1000

// clip cuts a text that is too long to read.
func clip(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	n := 0
	for i := range text {
		if n++; n > maxMessage {
			return text[:i] + "…"
		}
	}
	return text
}
