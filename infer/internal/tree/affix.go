package tree

import (
	"slices"

	"github.com/keywright/keywright/infer/internal/class"
)

// affixes describes what many of the words begin or end with that are taken for texts: session- in
// session-qwkxz, where 12,000 other names have nothing in common. They are counted in two
// passes, the first by hashes, so that few of very many names are kept.
type affixes struct {
	hashes []uint32
	keys   map[string]int
}

// Bounds of an affix: how many keys must have it, how long its first or last word is, and
// how many words of a name are looked at from each end.
const (
	AffixKeys   = 100
	affixHashes = 1 << 16
	affixWords  = 4
)

// each calls a function for what a word begins and ends with, up to a divider, the longest
// last.
func (a *affixes) each(word []byte, begin, end func(affix []byte)) {
	for i, n := 0, 0; i < len(word)-1 && n < affixWords; i++ {
		if class.Kinds[word[i]] == class.IsDivider {
			if n++; strong(word[:i]) {
				begin(word[:i+1])
			}
		}
	}
	for i, n := len(word)-1, 0; i > 0 && n < affixWords; i-- {
		if class.Kinds[word[i]] == class.IsDivider {
			if n++; strong(word[i+1:]) {
				end(word[i:])
			}
		}
	}
}

// strong: a word of three letters is in it.
func strong(p []byte) bool {
	run := 0
	for _, c := range p {
		if class.Kinds[c]&(class.IsLower|class.IsUpper) == 0 {
			run = 0
		} else if run++; run == MinNamed {
			return true
		}
	}
	return false
}

// guess is the first pass.
func (a *affixes) guess(word []byte, keys int) {
	if a.hashes == nil {
		a.hashes = make([]uint32, affixHashes)
	}
	count := func(affix []byte) { a.hashes[hashed(basis, affix)%affixHashes] += uint32(keys) }
	a.each(word, count, count)
}

// count is the second pass: of an affix that so many keys may have.
func (a *affixes) count(word []byte, keys int) {
	if a.keys == nil {
		a.keys = map[string]int{}
	}
	count := func(affix []byte) {
		if a.hashes[hashed(basis, affix)%affixHashes] >= AffixKeys {
			a.keys[string(affix)] += keys
		}
	}
	a.each(word, count, count)
}

// text returns the shape of a word that is taken for a text: what many begin or end with stays.
func (a *affixes) text(word []byte, fixed bool) []byte {
	begin, end := 0, len(word)
	if fixed && len(a.keys) > 0 {
		a.each(word, func(p []byte) {
			if a.keys[string(p)] >= AffixKeys {
				begin = len(p)
			}
		}, func(p []byte) {
			if at := len(word) - len(p); at > begin && a.keys[string(p)] >= AffixKeys {
				end = at
			}
		})
	}
	if begin == 0 && end == len(word) {
		return TextShape
	}
	return slices.Concat(word[:begin], TextShape, word[end:])
}

// SharedShape returns the shape of words that are taken for texts: all that they share.
func SharedShape(words []string) []byte {
	if len(words) < affixWords {
		return TextShape
	}
	var a affixes
	a.keys = map[string]int{}
	for _, w := range words {
		count := func(affix []byte) { a.keys[string(affix)]++ }
		a.each([]byte(w), count, count)
	}
	for affix, n := range a.keys {
		if a.keys[affix] = AffixKeys; n < len(words) {
			delete(a.keys, affix)
		}
	}
	return a.text([]byte(words[0]), true)
}

// MinNamed says how long a word is that a person has chosen.
const MinNamed = 3
