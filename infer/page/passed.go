package page

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/keywright/keywright/infer/page/internal/mention"
)

// unread returns what was passed over and is no key of another line either.
func (c *collector) unread(keys []Key) []Passed {
	taken := map[string]bool{}
	for _, k := range keys {
		taken[k.Pattern] = true
	}
	var out []Passed
	for _, p := range c.Passed {
		if !taken[p.Text] {
			out = append(out, Passed{p.Line, p.Text, p.Why})
		}
		taken[p.Text] = true
	}
	slices.SortStableFunc(out, func(a, b Passed) int { return cmp.Compare(a.Line, b.Line) })
	switch {
	case c.Cut > 0:
		out = append(out, Passed{c.Cut, "the rest", fmt.Sprintf("only %d mentions of keys are read", mention.MaxCandidates)})
	case len(c.Passed) == mention.MaxPassed:
		out = append(out, Passed{c.Passed[mention.MaxPassed-1].Line, "the rest",
			fmt.Sprintf("only %d of what is passed over are listed", mention.MaxPassed)})
	}
	return out
}
