package typed

import (
	"strings"

	"github.com/keywright/keywright"
)

// Mutate replaces a piece of a script until restore is called; ok is false if it
// is not there exactly once.
func Mutate(file, old, new string) (restore func(), ok bool) {
	s := map[string]struct {
		script **keywright.Script
		text   string
	}{"read.lua": {&readScript, readText}, "write.lua": {&writeScript, writeText}, "increase.lua": {&increaseScript, increaseText}}[file]
	if strings.Count(s.text, old) != 1 {
		return nil, false
	}
	was := *s.script
	*s.script = keywright.NewScript("mutant", strings.Replace(s.text, old, new, 1))
	return func() { *s.script = was }, true
}
