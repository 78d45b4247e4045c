package keyspace

import (
	"slices"

	"github.com/keywright/keywright/keyspace/pattern"
)

// Retired represents a name that is gone for good: of an entry, a channel or an event, with the patterns that went with
// it; of a field of an entry or a message; or of a word of an enum. It is never declared again.
type Retired struct {
	Section  string // "keys", "channels" or "events"; "" of a field or word
	Name     string
	Patterns []*pattern.Pattern
	Pos      Pos
}

// FindRetired finds what is retired under a name, nil if nothing is. section is "" for fields and words.
func FindRetired(list []Retired, section, name string) *Retired {
	i := slices.IndexFunc(list, func(r Retired) bool { return r.Section == section && r.Name == name })
	if i < 0 {
		return nil
	}
	return &list[i]
}
