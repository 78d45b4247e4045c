package patternset

import (
	"regexp"
	"slices"
	"testing"

	"github.com/keywright/keywright/bench/keygen"
)

// Every key matches the regexp of its own pattern and of no other one: the
// owners that the matching benchmark relies on are right.
func TestKeysBelongToTheirOwners(t *testing.T) {
	s := New(200)
	var compiled []*regexp.Regexp
	for _, text := range s.Regexps() {
		compiled = append(compiled, regexp.MustCompile("^(?:"+text+")$"))
	}
	seen := make([]int, 200)
	unknown := 0
	for _, key := range s.Keys(5000, 1) {
		owner := slices.IndexFunc(compiled, func(re *regexp.Regexp) bool { return re.Match(key.Name) })
		if owner != key.Owner {
			t.Fatalf("%q: first regexp that matches is %d, owner is %d", key.Name, owner, key.Owner)
		}
		if owner < 0 {
			unknown++
			continue
		}
		seen[owner]++
		for i := owner + 1; i < len(compiled); i++ {
			if compiled[i].Match(key.Name) {
				t.Fatalf("%q matches %s and %s", key.Name, compiled[owner], compiled[i])
			}
		}
	}
	if unknown < 100 || unknown > 200 {
		t.Errorf("%d of 5000 keys are unknown, want about 150", unknown)
	}
	if i := slices.Index(seen, 0); i >= 0 {
		t.Errorf("no key of pattern %s", s.Texts()[i])
	}
}

func TestPatternsAreDistinctAndKeysAboutFortyBytes(t *testing.T) {
	for _, n := range []int{28, 200, 1000, Max} {
		s := New(n)
		texts := s.Texts()
		slices.Sort(texts)
		if got := len(slices.Compact(texts)); got != n {
			t.Errorf("%d patterns asked for, %d distinct ones made", n, got)
		}
		bytes := 0
		for _, key := range s.Keys(5000, 1) {
			bytes += len(key.Name)
		}
		if mean := bytes / 5000; mean < 36 || mean > 44 {
			t.Errorf("%d patterns: keys of %d bytes on average, want about 40", n, mean)
		}
	}
}

func TestRegexpOfHashTag(t *testing.T) {
	const want = `auth:item:\{(0|-?[1-9][0-9]*)\}:stock`
	if got := asRegexp(keygen.MustParse("auth:item:{#{id}}:stock", makers)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
