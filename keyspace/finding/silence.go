package finding

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Rules returns the findings about ignore comments.
func Rules() []Rule {
	return []Rule{
		{"KW090", "unused-ignore", Warning, "An ignore comment silences nothing",
			"An ignore that no longer silences anything hides the next fault of the same kind in the same place. `# " +
				"keywright:ignore KW204 reason` is on the line above what it silences, or above the name of an entry " +
				"for all of it.", "remove the comment"},
		{"KW091", "expired-ignore", Warning, "An ignore comment has passed its date",
			"`# keywright:ignore KW204 until 2027-03-01 reason` silences until that day begins (UTC). After it the finding is " +
				"shown again, and so is this one, until a person has decided again.",
			"mend what it silences, or give it a new date and a reason"},
		{"KW092", "malformed-ignore", Warning, "An ignore comment cannot be read",
			"The form is `# keywright:ignore CODE[,CODE] [until YYYY-MM-DD] reason`. The reason is not optional: who comes " +
				"next must know why.", "write `# keywright:ignore KW204 until 2027-03-01 reason`"},
	}
}

var ignoreForm = regexp.MustCompile(`^\s*#\s*keywright:ignore\b\s*(.*)$`)
var ignoreBody = regexp.MustCompile(`^(KW\d{3}(?:\s*,\s*KW\d{3})*)\s+(?:until\s+(\S+)\s+)?(.+)$`)

// ignore represents one ignore comment.
type ignore struct {
	pos      Position
	codes    []string
	from, to int // the lines it covers
	until    time.Time
	used     bool
}

// Ignore removes the findings that comments in their files silence and adds
// those about the comments themselves. known are the codes there are; ran are
// those that were looked for, because only of these can a comment be called
// unused: lint cannot know what an audit finds. now decides what has expired.
func Ignore(findings []Finding, files map[string][]byte, known, ran []Rule, now time.Time) []Finding {
	var ignores []*ignore
	var out []Finding
	for _, name := range sortedNames(files) {
		found, faults := readIgnores(name, files[name], known)
		ignores = append(ignores, found...)
		out = append(out, faults...)
	}
	for _, f := range findings {
		if !silenced(f, ignores, now) {
			out = append(out, f)
		}
	}
	for _, ig := range ignores {
		switch {
		case ig.expired(now):
			out = append(out,
				Finding{Code: "KW091", Severity: Warning, Pos: ig.pos,
					Message: fmt.Sprintf("the ignore of %s has expired on %s", strings.Join(ig.codes, ", "),
						ig.until.Format(time.DateOnly))})
		case !ig.used && !slices.ContainsFunc(ig.codes, func(code string) bool { return !hasCode(ran, code) }):
			out = append(out, Finding{Code: "KW090", Severity: Warning, Pos: ig.pos,
				Message: fmt.Sprintf("the ignore of %s silences nothing", strings.Join(ig.codes, ", "))})
		}
	}
	Sort(out)
	return out
}

func sortedNames(files map[string][]byte) []string {
	var names []string
	for n := range files {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func silenced(f Finding, ignores []*ignore, now time.Time) bool {
	hit := false
	for _, ig := range ignores {
		if ig.pos.File == f.Pos.File && ig.from <= f.Pos.Line && f.Pos.Line <= ig.to && slices.Contains(ig.codes, f.Code) {
			ig.used = true
			hit = hit || !ig.expired(now)
		}
	}
	return hit
}

func hasCode(rules []Rule, code string) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool { return r.Code == code })
}

func (ig *ignore) expired(now time.Time) bool { return !ig.until.IsZero() && !now.Before(ig.until) }

// maxIgnores bounds the ignore comments of one file.
const maxIgnores = 1000

var ignoreAtEnd = regexp.MustCompile(`^(.*\S)\s+#\s*keywright:ignore\b`)

// isIgnoreAtEnd reports whether a line ends with an ignore comment after something else, which is no text in quotes.
func isIgnoreAtEnd(line string) bool {
	m := ignoreAtEnd.FindStringSubmatch(line)
	return m != nil && strings.Count(m[1], `"`)%2 == 0 && strings.Count(m[1], "'")%2 == 0
}

func readIgnores(file string, text []byte, known []Rule) (found []*ignore, faults []Finding) {
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		m := ignoreForm.FindStringSubmatch(strings.TrimRight(line, "\r"))
		if m == nil && !isIgnoreAtEnd(line) {
			continue
		}
		pos := Position{File: file, Line: i + 1,
			Column: 1 + strings.LastIndexByte(line[:strings.Index(line, "keywright:ignore")], '#')}
		if len(found)+len(faults) == maxIgnores {
			faults = append(faults,
				Finding{Code: "KW092", Severity: Warning, Pos: pos,
					Message: fmt.Sprintf("a file has more than %d ignore comments; this one and those that follow are not read",
						maxIgnores), Fix: "accept findings in a baseline"})
			break
		}
		if m == nil {
			faults = append(faults, Finding{Code: "KW092", Severity: Warning, Pos: pos,
				Message: "an ignore comment at the end of a line is not read",
				Fix:     "write it on a line of its own, above what it silences"})
			continue
		}
		ig, problem := parseIgnore(m[1], known)
		if problem != "" {
			faults = append(faults, Finding{Code: "KW092", Severity: Warning, Pos: pos, Message: problem})
			continue
		}
		ig.pos = pos
		ig.from, ig.to = covered(lines, i)
		found = append(found, ig)
	}
	return found, faults
}

func parseIgnore(body string, known []Rule) (*ignore, string) {
	m := ignoreBody.FindStringSubmatch(body)
	if m == nil || m[2] == "" && strings.HasPrefix(m[3], "until ") {
		return nil, "an ignore names one or more codes and a reason"
	}
	ig := &ignore{}
	for _, code := range strings.Split(m[1], ",") {
		code = strings.TrimSpace(code)
		if !hasCode(known, code) {
			return nil, fmt.Sprintf("there is no rule %s", code)
		}
		ig.codes = append(ig.codes, code)
	}
	if m[2] != "" {
		var err error
		if ig.until, err = time.Parse(time.DateOnly, m[2]); err != nil {
			return nil, fmt.Sprintf("%q is not a date like 2027-03-01", m[2])
		}
	}
	return ig, ""
}

// covered returns the lines an ignore comment on line i covers: the next line that
// is no comment, and if that line opens a block, all of the block.
func covered(lines []string, i int) (from, to int) {
	next := i + 1
	for next < len(lines) &&
		(strings.TrimSpace(lines[next]) == "" || strings.HasPrefix(strings.TrimSpace(lines[next]), "#")) {
		next++
	}
	if next >= len(lines) {
		return i + 2, i + 2
	}
	end := next
	for j := next + 1; j < len(lines); j++ {
		if strings.TrimSpace(lines[j]) == "" || strings.HasPrefix(strings.TrimSpace(lines[j]), "#") {
			continue
		}
		if indent(lines[j]) <= indent(lines[next]) {
			break
		}
		end = j
	}
	return next + 1, end + 1
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
