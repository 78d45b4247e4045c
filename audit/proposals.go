package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/group"
	"github.com/keywright/keywright/source"
)

// Undeclared represents everything no entry declares and foreign does not cover. Its
// suggestions and the rest are together all of it.
type Undeclared struct {
	Owned       int64        `json:"owned"` // keys under owns
	Other       int64        `json:"other"` // keys
	Bytes       int64        `json:"bytes"`
	Suggestions []Suggestion `json:"suggestions,omitempty"` // the most useful first
	Rest        *Rest        `json:"rest,omitempty"`        // groups that are not among the suggestions
}

// Rest describes what a limit left out.
type Rest struct {
	Groups int   `json:"groups"`
	Keys   int64 `json:"keys"`
	Bytes  int64 `json:"bytes"`
	NoTTL  int64 `json:"no_ttl"`
}

// Suggestion represents a group of undeclared keys and the pattern that would declare
// them.
type Suggestion struct {
	Pattern string           `json:"pattern"`
	Types   map[string]int64 `json:"types"`
	Example finding.JSONKey  `json:"example"`
	Near    *Near            `json:"near,omitempty"` // what it may be a misspelling of
	// high: words that are names, identifiers by their form, ten keys or more; medium: words became a placeholder by
	// evidence, or there are few keys; low: names were given up for want of memory, or there is one key
	Confidence group.Confidence `json:"confidence" enum:"high,medium,low"`
	Folded     []group.Fold     `json:"folded,omitempty"`    // the placeholders that words became
	Lost       int64            `json:"lost_keys,omitempty"` // at most so many keys lost a word for want of memory
	Slip       bool             `json:"slip,omitempty"`      // a program wrote them by mistake: user:null
	Figures
}

// Near represents a declared key that may have been meant.
type Near struct {
	Entry   string `json:"entry"`
	Pattern string `json:"pattern"`
}

// undeclared finds keys that no entry declares, with the groups that they are in as its parts.
func undeclared(s *stat, v violation, pos finding.Position, of, message string,
	groups []suggestion) []finding.Finding {
	m := s.marks[v]
	if m.count == 0 {
		return nil
	}
	f := finding.Finding{Code: codes[v], Severity: severityOf(codes[v]), Pos: pos, Message: of + message,
		Count: m.count, Examples: slices.Clone(m.examples), Parts: groupParts(groups)}
	out := []finding.Finding{f}
	if m := s.marks[slipOfName]; m.count > 0 {
		out = append(out, finding.Finding{Code: codes[slipOfName], Severity: severityOf(codes[slipOfName]), Pos: pos,
			Message: "a program put together the names of undeclared keys by mistake, as in user:null",
			Count:   m.count, Examples: slices.Clone(m.examples)})
	}
	return append(out, misspelt(pos, of, groups)...)
}

// misspelt finds undeclared keys whose names are near a declared one, with the groups that they are in as its parts.
func misspelt(pos finding.Position, of string, groups []suggestion) []finding.Finding {
	groups = slices.DeleteFunc(slices.Clone(groups), func(g suggestion) bool { return g.near == nil })
	if len(groups) == 0 {
		return nil
	}
	f := finding.Finding{Code: nearName, Severity: severityOf(nearName), Pos: pos, Fix: proposals(groups),
		Message: "undeclared " + of + " have names near declared ones", Parts: groupParts(groups)}
	for _, p := range f.Parts {
		f.Count += p.Count
		if len(f.Examples) < shownProposals {
			f.Examples = append(f.Examples, p.Example)
		}
	}
	return []finding.Finding{f}
}

// groupParts returns groups as the parts of a finding.
func groupParts(groups []suggestion) (out []finding.Part) {
	for _, g := range groups {
		out = append(out, finding.Part{Name: g.Pattern, Count: g.Tally.keys,
			Example: finding.Example{DB: g.Tally.db, Key: slices.Clone(g.Tally.example)}})
	}
	return out
}

// of returns the groups of the keys of one item, in their order.
func (c compared) of(item int) (out []suggestion) {
	for _, g := range c.groups {
		if g.Space == item {
			out = append(out, g)
		}
	}
	return out
}

func (a *Audit) suggestions(c compared) (out []Suggestion, rest *Rest, notes []string) {
	listed, others := c.list(a.opt.Groups)
	if all, folded := a.sketch.tree.Keys(); folded > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d undeclared keys have words in their names that too few others have to be "+
			"kept apart: these are grouped as {text}", folded, all))
	}
	if c.left > 0 {
		notes = append(notes,
			fmt.Sprintf(
				"%d of %d groups of undeclared keys were not compared with the declared names: there are too many of both", c.left,
				len(listed)+len(others)))
	}
	for _, g := range listed {
		counted := g.Tally.counted()
		s := Suggestion{Pattern: g.Pattern, Types: map[string]int64{}, Example: slices.Clone(g.Tally.example),
			Confidence: g.Confidence(g.Tally.keys), Folded: g.Folds, Lost: g.Lost, Slip: g.Slip(),
			Figures: a.figures(&counted.figures)}
		if g.near != nil {
			s.Near = &Near{g.near.Name, g.near.Pattern.String()}
		}
		for kind, n := range counted.kinds {
			if n > 0 {
				s.Types[source.Kind(kind).String()] = n
			}
		}
		out = append(out, s)
	}
	if len(others) > 0 {
		rest = &Rest{Groups: len(others)}
		for _, g := range others {
			f := &g.Tally.counted().figures
			rest.Keys, rest.Bytes, rest.NoTTL = rest.Keys+f.keys, rest.Bytes+f.bytes, rest.NoTTL+f.noTTL
		}
	}
	return out, rest, notes
}

// shownProposals bounds the names that a fix proposes, and the examples of keys with near names.
const shownProposals = 3

// proposals returns a fix that names what undeclared keys may have been meant as.
func proposals(groups []suggestion) string {
	var out []string
	for _, g := range groups[:min(len(groups), shownProposals)] {
		out = append(out, g.Pattern+" may be meant as "+g.near.Pattern.String()+" ("+g.near.Name+")")
	}
	if more := len(groups) - shownProposals; more > 0 {
		out = append(out, fmt.Sprintf("and %d more patterns", more))
	}
	return strings.Join(out, "; ") + ": correct the writer, rename the keys, or declare them"
}

func (a *Audit) itemName(id int) string {
	if id < 0 {
		return ""
	}
	switch t := a.targets[id]; {
	case t.Key != nil:
		return t.Key.Name
	case t.Legacy != nil:
		return t.Was.Name + " (old name)"
	case t.Foreign != nil:
		return "foreign " + t.Foreign.Text
	}
	return ""
}
