package apply

import (
	"github.com/keywright/keywright/plan"
	"github.com/keywright/keywright/source"
)

// TemporaryName is temporaryName for tests.
var TemporaryName = temporaryName

// Decided sets what is called between the decision about a key and its change.
func Decided(o *KeysOptions, f func(*source.Key, *plan.Decision)) { o.decided = f }
