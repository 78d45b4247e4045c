package page

import (
	"cmp"
	"fmt"
	"slices"
)

// unread returns what was passed over and is no key of another line either.
func (c *collector) unread(keys []Key) []Passed {
	taken := map[string]bool{}
	for _, k := range keys {
		taken[k.Pattern] = true
	}
	var out []Passed
	for _, p := range c.passed {
		if !taken[p.text] {
			out = append(out, Passed{p.line, p.text, p.why})
		}
		taken[p.text] = true
	}
	slices.SortStableFunc(out, func(a, b Passed) int { return cmp.Compare(a.Line, b.Line) })
	switch {
	case c.cut > 0:
		out = append(out, Passed{c.cut, "the rest", fmt.Sprintf("only %d mentions of keys are read", maxCandidates)})
	case len(c.passed) == maxPassed:
		out = append(out, Passed{c.passed[maxPassed-1].line, "the rest",
			fmt.Sprintf("only %d of what is passed over are listed", maxPassed)})
	}
	return out
}
