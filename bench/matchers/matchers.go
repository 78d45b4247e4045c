// Package matchers gives keywright's matcher and what people use instead one
// function, so that a benchmark can run them side by side on the same keys.
//
// Those that capture are to be compared with each other, and those that do not:
// the rivals are compiled once and anchored, which lets Go's regexp reject most
// keys by their literal prefix.
package matchers

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/keywright/keywright/bench/patternset"
	"github.com/keywright/keywright/keyspace/match"
)

// Func answers which pattern a key belongs to, -1 for none.
type Func func(key []byte) int

// Keywright returns the automaton, captures included.
func Keywright(s *patternset.Set) (Func, error) { return automaton(s, &match.Captures{}) }

// KeywrightNoCaptures returns the automaton asked for the entry only.
func KeywrightNoCaptures(s *patternset.Set) (Func, error) { return automaton(s, nil) }

func automaton(s *patternset.Set, captures *match.Captures) (Func, error) {
	m, err := Compile(s)
	return func(key []byte) int { return m.Match(key, captures) }, err
}

// Compile parses the patterns and compiles keywright's matcher.
func Compile(s *patternset.Set) (*match.Matcher, error) {
	patterns, err := s.Patterns()
	if err != nil {
		return nil, err
	}
	items := make([]match.Item, len(patterns))
	for i, p := range patterns {
		items[i] = match.Item{Pattern: p}
	}
	m, conflicts, err := match.Compile(items)
	if err == nil && len(conflicts) > 0 {
		err = fmt.Errorf("the benchmark's patterns overlap: %q", conflicts[0].Witness)
	}
	return m, err
}

// List tries one compiled regexp after the other, captures included.
func List(s *patternset.Set) (Func, error) {
	all, err := compileAll(s)
	return func(key []byte) int {
		for i, re := range all {
			if re.FindSubmatchIndex(key) != nil {
				return i
			}
		}
		return -1
	}, err
}

// ListNoCaptures only asks which regexp matches.
func ListNoCaptures(s *patternset.Set) (Func, error) {
	all, err := compileAll(s)
	return func(key []byte) int {
		for i, re := range all {
			if re.Match(key) {
				return i
			}
		}
		return -1
	}, err
}

func compileAll(s *patternset.Set) ([]*regexp.Regexp, error) {
	var all []*regexp.Regexp
	for _, text := range s.Regexps() {
		re, err := regexp.Compile("^(?:" + text + ")$")
		if err != nil {
			return nil, err
		}
		all = append(all, re)
	}
	return all, nil
}

// Alternation returns one regexp of all patterns; which of them matched follows from
// the group that did.
func Alternation(s *patternset.Set) (Func, error) {
	texts := s.Regexps()
	owners := map[int]int{} // group → pattern
	group := 1
	for i, text := range texts {
		owners[group] = i
		group += 1 + regexp.MustCompile(text).NumSubexp()
	}
	re, err := regexp.Compile("^(?:(" + strings.Join(texts, ")|(") + "))$")
	if err != nil {
		return nil, err
	}
	return func(key []byte) int {
		at := re.FindSubmatchIndex(key)
		for g := 1; g < group && at != nil; g++ {
			if at[2*g] >= 0 {
				return owners[g]
			}
		}
		return -1
	}, nil
}
