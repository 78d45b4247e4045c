package infer

import (
	"maps"
	"math/bits"
	"slices"
	"strings"

	keygroup "github.com/keywright/keywright/keyspace/group"
	"github.com/keywright/keywright/source"
)

// merge represents some members of a family, and the segment they share from now on.
type merge struct {
	members []*path
	segment segment
}

// rule says which of a family are one, if any.
type rule func(family []*path, at int) merge

// rules decide what is data. The first that applies is taken.
var rules = []rule{numbers, forms, texts, mixtures, standIns, vocabulary, company, strays, codes, collections, matrix}

// numbers: digits of any kind are one number; a date among them is not.
func numbers(family []*path, at int) merge {
	return pick(family, at, func(s segment) bool {
		return pure(s.shape) && isNumber(class(s.shape[0])) &&
			len(s.words) == 0
	}, func(members []*path, at int) segment {
		shape := members[0].segments[at].shape
		for _, p := range members {
			if s := p.segments[at].shape; s != shape {
				shape = widest(shape, s)
			}
		}
		return segment{shape: shape}
	})
}

// forms: words with numbers in them, of which only the numbers' forms differ.
func forms(family []*path, at int) merge {
	byForm := map[string][]*path{}
	for _, p := range family {
		if s := p.segments[at]; mixed(s.shape) && len(s.words) == 0 {
			form := anyNumber(s.shape)
			byForm[form] = append(byForm[form], p)
		}
	}
	for _, form := range slices.Sorted(maps.Keys(byForm)) {
		if members := byForm[form]; len(members) > 1 {
			s := members[0].segments[at]
			for _, p := range members[1:] {
				s.shape = wider(s.shape, p.segments[at].shape)
				s.seen.merge(&p.segments[at].seen)
			}
			return merge{members, s}
		}
	}
	return merge{}
}

// texts: different kinds of data are a text, hex that happens to be a number is
// hex.
func texts(family []*path, at int) merge {
	if settled(family, at) {
		return merge{}
	}
	// a mixture with many keys is a name with data in it
	family = slices.DeleteFunc(slices.Clone(family), func(p *path) bool {
		return mixed(p.segments[at].shape) &&
			(p.segments[at].counted || p.keys >= affixKeys || at == 0 && p.keys > fewInMixture)
	})
	return pick(family, at, func(s segment) bool {
		return pure(s.shape) || len(s.words) == 0 && mixed(s.shape) && hasText(family, at)
	}, func(members []*path, at int) segment {
		only := map[string]bool{}
		lens := uint64(0)
		for _, p := range members {
			only[p.segments[at].shape] = true
			lens |= p.segments[at].seen.lens
		}
		if len(only) == 1 {
			return segment{shape: members[0].segments[at].shape}
		}
		delete(only, string(rune(number)))
		delete(only, string(rune(digits)))
		if len(only) == 1 && only[string(rune(hex))] && bits.OnesCount64(lens) == 1 {
			return segment{shape: string(rune(hex))}
		}
		return segment{shape: string(textShape)}
	})
}

// settled: nearly all keys have one narrow class there; the others are slips, and
// stay apart.
func settled(family []*path, at int) bool {
	var all, most int64
	shape := ""
	for _, p := range family {
		if all += p.keys; p.keys > most {
			most, shape = p.keys, p.segments[at].shape
		}
	}
	return all >= 50 && float64(most) >= (1-slip)*float64(all) && pure(shape) && shape != string(textShape) &&
		shape != string(rune(hex))
}

func mixed(shape string) bool { return hasClass(shape) && !pure(shape) }

func hasText(family []*path, at int) bool {
	return slices.ContainsFunc(family, func(p *path) bool { return p.segments[at].shape == string(textShape) })
}

// How many shapes must differ in words only to be one text (amber-12, birch-7
// and cedar-9): some where each has few keys, more where they may be families of
// keys (user_12, order_7), and many at the beginning of keys, where names stand.
const (
	alike      = 3
	manyAlike  = 12
	mostAlike  = 64
	fewPerWord = 4
	// fewInMixture says how many keys words beside numbers may have, at the
	// beginning of keys, to be one of many texts
	fewInMixture = 20
)

// mixtures: words beside numbers, of which there are several, are data too.
func mixtures(family []*path, at int) merge {
	bySkeleton := map[string][]*path{}
	for _, p := range family {
		if s := p.segments[at].shape; mixed(s) {
			bySkeleton[skeleton(s)] = append(bySkeleton[skeleton(s)], p)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(bySkeleton)) {
		members := bySkeleton[name]
		var keys int64
		for _, p := range members {
			keys += p.keys
		}
		if n := len(members); n >= mostAlike || at > 0 && (n >= manyAlike || n >= alike && keys <= int64(fewPerWord*n)) {
			return merge{members, segment{shape: string(textShape)}}
		}
	}
	return merge{}
}

// skeleton has one letter for each word.
func skeleton(shape string) string {
	var b strings.Builder
	in := false
	for i := range len(shape) {
		c := shape[i]
		letter := !isClass(c) && kinds[c] != isDivider
		if letter && !in {
			b.WriteByte('w')
		}
		if in = letter; !letter {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// standIns: words that are where an id would.
func standIns(family []*path, at int) merge {
	if !slices.ContainsFunc(family, func(p *path) bool { return pure(p.segments[at].shape) }) {
		return merge{}
	}
	if at == 0 { // a mixture with many keys is a name with a number in it
		family = slices.DeleteFunc(slices.Clone(family), func(p *path) bool {
			return mixed(p.segments[0].shape) &&
				p.keys > fewInMixture
		})
	}
	return pick(family, at, func(s segment) bool {
		return pure(s.shape) || len(s.words) == 0 && insteadOfID[strings.ToLower(s.shape)]
	}, func(members []*path, at int) segment {
		for _, p := range members {
			if s := &p.segments[at]; isLiteral(s.shape) {
				s.seen.add([]byte(s.shape))
			}
		}
		return segment{shape: string(textShape)}
	})
}

// rare is the share of a text's keys that a word beside it has at most to be one
// of its values that happens to look like a name.
const (
	rare     = 0.01
	rareKeys = 8 // and not more than so many, whatever the share
)

// strays: words with a key or two each beside a text with many.
func strays(family []*path, at int) merge {
	i := slices.IndexFunc(family, func(p *path) bool {
		return p.segments[at].shape == string(textShape) && len(p.segments[at].words) == 0
	})
	if i < 0 {
		return merge{}
	}
	wide := family[i]
	members := []*path{wide}
	for _, p := range family {
		if s := p.segments[at]; isLiteral(s.shape) && s.shape != "" && float64(p.keys) <= max(1, min(rareKeys,
			rare*float64(wide.keys))) && p.mostlyExpires() == wide.mostlyExpires() && few*p.keys <= wide.keys {
			members = append(members, p)
		}
	}
	if len(members) <= fewWords {
		return merge{}
	}
	s := wide.segments[at]
	for _, p := range members[1:] {
		s.seen.add([]byte(p.segments[at].shape))
	}
	return merge{members, s}
}

// vocabulary: words that are known to go together; of several vocabularies the one that
// has most of them.
func vocabulary(family []*path, at int) (best merge) {
	for _, v := range vocabularies {
		m := pick(family, at, func(s segment) bool {
			if len(s.words) > 0 {
				return s.vocab == v.name
			}
			return isLiteral(s.shape) && v.has[s.shape]
		}, enumeration(v.name))
		if len(m.members) >= 2 && (!v.weak && sameTTLs(m.members) || sameContent(m.members)) && (!v.weak ||
			at == len(family[0].segments)-1 && len(m.segment.words) >= fewWords) && len(m.members) > len(best.members) {
			best = m
		}
	}
	return best
}

// company: a word that no vocabulary has, beside words of one, with about as many keys of
// the same content: en, de and jp.
func company(family []*path, at int) merge {
	i := slices.IndexFunc(family, func(p *path) bool { return p.segments[at].vocab != "" })
	if i < 0 {
		return merge{}
	}
	known := family[i]
	each := float64(known.keys) / float64(len(known.segments[at].words))
	members := []*path{known}
	for _, p := range family {
		s := p.segments[at]
		if keys := float64(p.keys); isLiteral(s.shape) && !generic[s.shape] && canEnumerate([]string{s.shape}) &&
			each >= keysInMatrix && keys >= evenly*each && each >= evenly*keys && sameContent([]*path{known, p}) {
			members = append(members, p)
		}
	}
	if words := len(known.segments[at].words); len(members) > 1 && len(members)-1 <= words {
		return merge{members, enumeration(known.segments[at].vocab)(members, at)}
	}
	return merge{}
}

func enumeration(vocab string) func([]*path, int) segment {
	return func(members []*path, at int) segment {
		var words []string
		for _, p := range members {
			if s := p.segments[at]; len(s.words) > 0 {
				words = append(words, s.words...)
			} else {
				words = append(words, s.shape)
			}
		}
		slices.Sort(words)
		return segment{shape: string(textShape), words: slices.Compact(words), vocab: vocab}
	}
}

// How many words, alike in all they lead to, are taken for values of one
// placeholder: few at the end of collections and within locks, many elsewhere,
// where they are more likely names of different things.
const (
	fewWords  = 3
	manyWords = 8
	mostWords = 16
	maxEnum   = 6 // more words that no one has a name for are some of any
)

// collections: many words in the same place that lead to the same things.
func collections(family []*path, at int) merge {
	last := at == len(family[0].segments)-1
	kind := family[0].kind()
	enough := mostWords
	switch {
	case at == 0 && !family[0].namedAfter(0):
		return merge{}
	case at == 0: // names are there: many must have a key or two each
		enough = mostAlike
		family = slices.DeleteFunc(slices.Clone(family), func(p *path) bool { return p.keys > fewPerWord })
		if len(family) < enough {
			return merge{}
		}
	case last && kind != source.String && kind != source.Hash:
		enough = fewWords
	case last, isLock(family[0]), kind != source.String && kind != source.Hash:
		enough = manyWords
	}
	if isLock(family[0]) && !last {
		enough = fewWords
	}
	if enough == mostWords { // a word with many keys is a name, however many there are
		family = slices.DeleteFunc(slices.Clone(family), func(p *path) bool {
			return float64(p.keys) >= keygroup.LeastKeys(len(family))
		})
	}
	m := pick(family, at, func(s segment) bool { return isLiteral(s.shape) && s.shape != "" }, enumeration(""))
	if len(m.segment.words) < enough || !sameContent(m.members) {
		return merge{}
	}
	if len(m.segment.words) > maxEnum || !canEnumerate(m.segment.words) {
		m.segment.anyText()
	}
	return m
}

// namedAfter reports whether a name follows a segment.
func (p *path) namedAfter(at int) bool {
	return slices.ContainsFunc(p.segments[at+1:], func(s segment) bool {
		return isLiteral(s.shape) && slices.ContainsFunc(wordsOf(s.shape), func(w string) bool { return len(w) >= minNamed })
	})
}

// anyText takes the words of an enumeration for some of any. What all begin or end with, up
// to a divider, stays.
func (s *segment) anyText() {
	for _, w := range s.words {
		s.seen.add([]byte(w))
	}
	s.shape = string(sharedShape(s.words))
	s.words, s.vocab = nil, ""
}

// canEnumerate reports whether a declaration can list the words.
func canEnumerate(words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool {
		for i := range len(w) {
			if kinds[w[i]]&(isLower|isUpper|isDigit) == 0 && (i == 0 || w[i] != '-' && w[i] != '_' && w[i] != '.') {
				return true
			}
		}
		return w == ""
	})
}

// Bounds of a matrix: how many words, with how many keys each, and how far their
// numbers of keys may be apart.
const (
	leastInMatrix = 3
	keysInMatrix  = 4
	evenly        = 0.8
)

// matrix: a few words that lead to as many keys of the same form each:
// feature:ai:7, feature:beta:7, feature:dark:7. Words that say what is kept are
// names whatever the counts.
func matrix(family []*path, at int) merge {
	if at == 0 || at == len(family[0].segments)-1 {
		return merge{}
	}
	bySignature := map[string][]*path{}
	for _, p := range family {
		s := p.segments[at]
		if isLiteral(s.shape) && s.shape != "" && p.keys >= keysInMatrix && p.behindIsData(at) {
			bySignature[p.signature()] = append(bySignature[p.signature()], p)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(bySignature)) {
		members := bySignature[name]
		least, most, named := members[0].keys, members[0].keys, false
		longest, shortest := members[0].ttl.max, members[0].ttl.max
		for _, p := range members {
			least, most = min(least, p.keys), max(most, p.keys)
			longest, shortest = max(longest, p.ttl.max), min(shortest, p.ttl.max)
			named = named || slices.ContainsFunc(wordsOf(p.segments[at].shape), func(w string) bool { return generic[w] })
		}
		if len(members) < leastInMatrix || named || float64(least) < evenly*float64(most) ||
			float64(shortest) < evenly*float64(longest) {
			continue
		}
		s := enumeration("")(members, at)
		if len(s.words) > mostWords || !canEnumerate(s.words) {
			s.anyText()
		}
		return merge{members, s}
	}
	return merge{}
}

// behindIsData: the segment after this one is data, or has some in it.
func (p *path) behindIsData(at int) bool {
	return hasClass(p.segments[at+1].shape) || len(p.segments[at+1].words) > 0
}

// sameTTLs: all of them expire, or none.
func sameTTLs(family []*path) bool {
	return !slices.ContainsFunc(family, func(p *path) bool { return (p.ttl.none == 0) != (family[0].ttl.none == 0) })
}

// sameContent: TTLs of one kind, and values of one kind.
func sameContent(family []*path) bool {
	for _, p := range family[1:] {
		if p.signature() != family[0].signature() {
			return false
		}
	}
	return true
}

// pick takes the members of a family whose segment is such, if there are two.
func pick(family []*path, at int, such func(segment) bool, then func([]*path, int) segment) merge {
	var members []*path
	for _, p := range family {
		if such(p.segments[at]) {
			members = append(members, p)
		}
	}
	if len(members) < 2 {
		return merge{}
	}
	s := then(members, at)
	for _, p := range members {
		s.seen.merge(&p.segments[at].seen)
	}
	return merge{members, s}
}
