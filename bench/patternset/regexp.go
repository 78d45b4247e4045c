package patternset

import (
	"regexp"

	"github.com/keywright/keywright/bench/keygen"
)

// Regexps returns the patterns as regular expressions, unanchored, with a group
// around each placeholder: what a team writes that does without keywright.
func (s *Set) Regexps() []string {
	texts := make([]string, len(s.templates))
	for i, t := range s.templates {
		texts[i] = asRegexp(t)
	}
	return texts
}

func asRegexp(t *keygen.Template) string {
	return t.Replace(regexp.QuoteMeta, func(name string) string { return "(" + placeholders[name].regexp + ")" })
}
