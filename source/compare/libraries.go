package compare

import (
	"slices"

	"github.com/keywright/keywright/source"
)

// Libraries says how the libraries of functions of two places differ. The names are those of libraries that the second
// place lacks, that it has alone, and whose code is another one.
type Libraries struct {
	Same      int64    `json:"same"`
	Missing   []string `json:"missing,omitempty"`
	Extra     []string `json:"extra,omitempty"`
	Different []string `json:"different,omitempty"`
}

// Differ returns how many libraries differ.
func (l *Libraries) Differ() int64 { return int64(len(l.Missing) + len(l.Extra) + len(l.Different)) }

// OfLibraries compares the libraries of functions of two places, by name and code.
func OfLibraries(a, b []source.LibraryFact) (out Libraries) {
	at := map[string]int{}
	for i := range b {
		at[b[i].Name] = i
	}
	for i := range a {
		other, there := at[a[i].Name]
		switch delete(at, a[i].Name); {
		case !there:
			out.Missing = append(out.Missing, a[i].Name)
		case b[other].Sum == a[i].Sum:
			out.Same++
		default:
			out.Different = append(out.Different, a[i].Name)
		}
	}
	for name := range at {
		out.Extra = append(out.Extra, name)
	}
	for _, names := range []*[]string{&out.Missing, &out.Extra, &out.Different} {
		slices.Sort(*names)
	}
	return out
}

// Scatter counts libraries that not every server of a place has as different.
func (l *Libraries) Scatter(names []string) {
	for _, name := range names {
		if !slices.Contains(l.Missing, name) && !slices.Contains(l.Extra, name) && !slices.Contains(l.Different, name) {
			l.Same--
			l.Different = append(l.Different, name)
		}
	}
	slices.Sort(l.Different)
}
