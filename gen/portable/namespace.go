package portable

import (
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Allowed recognises the names that a namespace may have beside the declared one,
// nil if that is any.
func Allowed(space *keyspace.Namespace) *Place {
	if space.Names == nil {
		return nil
	}
	p, err := pattern.Parse("{namespace}", func(string) (scalar.Type, bool) { return *space.Names, true })
	if err != nil {
		return nil
	}
	return Steps(p)[0].Place
}

// GlobSteps returns the pieces of what SCAN … MATCH takes: literals in which the
// wildcards are escaped or wildcards, and the namespace.
func GlobSteps(steps []Step) []Step {
	var out []Step
	add := func(text string) {
		if n := len(out); n > 0 && !out[n-1].Namespace {
			out[n-1].Literal += text
			return
		}
		out = append(out, Step{Literal: text})
	}
	for _, s := range steps {
		switch {
		case s.Namespace:
			out = append(out, s)
		case s.Place != nil:
			add("*")
		default:
			add(pattern.GlobLiteral(s.Literal))
		}
	}
	return out
}
