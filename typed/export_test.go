package typed

import (
	"strings"

	"github.com/keywright/keywright"
)

// Mutate replaces a piece of a script until restore is called; ok is false if it
// is not there exactly once.
func Mutate(file, old, new string) (restore func(), ok bool) {
	script := map[string]**keywright.Script{"read": &readScript, "write": &writeScript, "increase": &increaseScript}
	name := strings.TrimSuffix(file, ".lua")
	mutant, n := parts.Mutant(name, old, new)
	if n != 1 {
		return nil, false
	}
	was := *script[name]
	*script[name] = keywright.NewScript("mutant", mutant.Script(name))
	return func() { *script[name] = was }, true
}
