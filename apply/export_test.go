package apply

import (
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/source"
)

// Mutate takes a guard out of the script until restore is called.
func Mutate(guard, instead string) (restore func(), ok bool) {
	return mutate("change", guard, instead)
}

// MutateRename is Mutate for the script that renames.
func MutateRename(guard, instead string) (restore func(), ok bool) {
	return mutate("rename", guard, instead)
}

// MutateRetag is Mutate for the script that gives members new names.
func MutateRetag(guard, instead string) (restore func(), ok bool) {
	return mutate("retag", guard, instead)
}

// Asked sets what is called before members of a set lose their old names.
func Asked(o *KeysOptions, f func(set []byte)) { o.asked = f }

func mutate(name, guard, instead string) (restore func(), ok bool) {
	was := scripts
	mutant, n := scripts.Mutant(name, guard, instead)
	scripts = mutant
	return func() { scripts = was }, n > 0
}

// Decided sets what is called between the decision about a key and its change.
func Decided(o *KeysOptions, f func(*source.Key, *plan.Decision)) { o.decided = f }

// Copied sets what is called between the copy of keys to another slot and their removal.
func Copied(o *KeysOptions, f func()) { o.copied = f }

// MarkOf is markOf for tests.
var MarkOf = markOf

// MutateMerge is Mutate for the script that moves jobs.
func MutateMerge(guard, instead string) (restore func(), ok bool) {
	return mutate("merge", guard, instead)
}
