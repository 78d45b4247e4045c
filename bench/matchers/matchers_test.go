package matchers

import (
	"testing"

	"github.com/keywright/keywright/bench/patternset"
)

// A benchmark of matchers that disagree measures nothing.
func TestAllAgree(t *testing.T) {
	s := patternset.New(200)
	keys := s.Keys(3000, 2)
	for name, build := range map[string]func(*patternset.Set) (Func, error){
		"keywright": Keywright, "keywright without captures": KeywrightNoCaptures,
		"list": List, "list without captures": ListNoCaptures, "alternation": Alternation,
	} {
		find, err := build(s)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, key := range keys {
			if got := find(key.Name); got != key.Owner {
				t.Fatalf("%s: %q belongs to %d, got %d", name, key.Name, key.Owner, got)
			}
		}
	}
}
