package apply

import (
	"strings"

	"github.com/keywright/keywright/plan"
	"github.com/keywright/keywright/source"
)

// TemporaryName is temporaryName for tests.
var TemporaryName = temporaryName

// Mutate takes a guard out of the script until restore is called.
func Mutate(guard, instead string) (restore func(), ok bool) {
	was := changeText
	changeText = strings.Replace(was, guard, instead, 1)
	return func() { changeText = was }, changeText != was
}

// Decided sets what is called between the decision about a key and its change.
func Decided(o *KeysOptions, f func(*source.Key, *plan.Decision)) { o.decided = f }
