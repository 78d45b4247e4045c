package finding

import (
	"slices"
	"strings"
)

func (p Part) fingerprint(f Finding) string { return fingerprint(f, f.Message+"\x00"+p.Name) }

// acceptedGroup represents a group of a baseline: how many of its keys no group of the run has taken yet.
type acceptedGroup struct {
	BaselineEntry
	rest int64
}

// subject says what a finding is about, beside its groups.
type subject struct{ code, file, entry, message string }

// groups returns the groups that a baseline accepts, by what they are groups of.
func (b Baseline) groups() map[subject][]*acceptedGroup {
	out := map[subject][]*acceptedGroup{}
	for _, e := range b.Findings {
		if e.Group != "" {
			s := subject{e.Code, e.File, e.Entry, e.Message}
			out[s] = append(out[s], &acceptedGroup{e, e.Keys})
		}
	}
	return out
}

// maxWidened bounds the groups that are held against each other because one may have the names of the other.
const maxWidened = 4_000_000

// matchGroups holds the groups of a finding against those that are accepted: each against the one of its name first,
// then against those that have become a wider one since, or a narrower one: one word may decide whether words are
// distinguished.
func (s *Settled) matchGroups(f Finding, accepted map[subject][]*acceptedGroup, left map[string]int) {
	groups := accepted[subject{f.Code, f.Pos.File, f.Entry, f.Message}]
	byName := map[string]*acceptedGroup{}
	for _, g := range groups {
		byName[g.Group] = g
	}
	need := make([]int64, len(f.Parts))
	take := func(i int, g *acceptedGroup) {
		n := min(need[i], g.rest)
		need[i], g.rest = need[i]-n, g.rest-n
		left[g.Fingerprint] = 0
	}
	for i, p := range f.Parts {
		if need[i] = p.Count; byName[p.Name] != nil {
			take(i, byName[p.Name])
		}
	}
	for i, p := range f.Parts {
		for _, g := range groups {
			if need[i] > 0 && len(f.Parts)*len(groups) <= maxWidened && g.rest > 0 &&
				(widens(p.Name, g.Group) || widens(g.Group, p.Name)) {
				take(i, g)
			}
		}
	}
	fresh, known := f, f
	fresh.Parts, known.Parts = nil, nil
	fresh.Examples, fresh.Count = nil, 0
	for i, p := range f.Parts {
		if need[i] == 0 {
			known.Parts = append(known.Parts, p)
			continue
		}
		fresh.Parts = append(fresh.Parts, p)
		fresh.Count += p.Count
		if len(fresh.Examples) < len(f.Examples) {
			fresh.Examples = append(fresh.Examples, p.Example)
		}
		if need[i] < p.Count {
			one := f
			one.Count, one.Parts = p.Count, []Part{p}
			s.Grown = append(s.Grown, Growth{one, p.Count - need[i]})
		}
	}
	known.Count = f.Count - fresh.Count
	if len(known.Parts) > 0 {
		s.Known = append(s.Known, known)
	}
	if len(fresh.Parts) > 0 {
		s.Fresh = append(s.Fresh, fresh)
	}
}

// widens reports whether a pattern has all names of another that differs from it: where they differ the wide one has a
// placeholder for all that is between two separators.
func widens(wide, narrow string) bool {
	a, b := segments(wide), segments(narrow)
	return len(a) == len(b) && !slices.Equal(a, b) && !slices.ContainsFunc(a, func(segment string) bool {
		other := b[0]
		b = b[1:]
		return segment != other && !(strings.HasPrefix(segment, "{") && strings.IndexByte(segment, '}') == len(segment)-1)
	})
}

func segments(pattern string) []string {
	return strings.FieldsFunc(pattern, func(c rune) bool { return c == ':' || c == '/' || c == '|' })
}
