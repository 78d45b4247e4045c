package path

import (
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/keywright/keywright/infer/internal/class"
	"github.com/keywright/keywright/infer/internal/tree"
	keygroup "github.com/keywright/keywright/keyspace/group"
	"github.com/keywright/keywright/source"
)

// merge represents some members of a family, and the segment they share from now on.
type merge struct {
	members []*Path
	segment Segment
}

// rule says which of a family are one, if any.
type rule func(family []*Path, at int) merge

// rules decide what is data. The first that applies is taken.
var rules = []rule{mergeNumbers, forms, texts, mixtures, standIns, vocabulary, company, strays, codes, collections,
	matrix}

// mergeNumbers: digits of any kind are one number; a date among them is not.
func mergeNumbers(family []*Path, at int) merge {
	return pick(family, at, func(s Segment) bool {
		return pure(s.Shape) && isNumber(class.Class(s.Shape[0])) &&
			len(s.Words) == 0
	}, func(members []*Path, at int) Segment {
		shape := members[0].Segments[at].Shape
		for _, p := range members {
			if s := p.Segments[at].Shape; s != shape {
				shape = widest(shape, s)
			}
		}
		return Segment{Shape: shape}
	})
}

// forms: words with numbers in them, of which only the numbers' forms differ.
func forms(family []*Path, at int) merge {
	byForm := map[string][]*Path{}
	for _, p := range family {
		if s := p.Segments[at]; mixed(s.Shape) && len(s.Words) == 0 {
			form := anyNumber(s.Shape)
			byForm[form] = append(byForm[form], p)
		}
	}
	for _, form := range slices.Sorted(maps.Keys(byForm)) {
		if members := byForm[form]; len(members) > 1 {
			s := members[0].Segments[at]
			for _, p := range members[1:] {
				s.Shape = wider(s.Shape, p.Segments[at].Shape)
				s.Seen.Merge(&p.Segments[at].Seen)
			}
			return merge{members, s}
		}
	}
	return merge{}
}

// texts: different kinds of data are a text, hex that happens to be a number is
// hex.
func texts(family []*Path, at int) merge {
	if settled(family, at) {
		return merge{}
	}
	// a mixture with many keys is a name with data in it
	family = slices.DeleteFunc(slices.Clone(family), func(p *Path) bool {
		return mixed(p.Segments[at].Shape) &&
			(p.Segments[at].counted || p.Keys >= tree.AffixKeys || at == 0 && p.Keys > fewInMixture)
	})
	return pick(family, at, func(s Segment) bool {
		return pure(s.Shape) || len(s.Words) == 0 && mixed(s.Shape) && hasText(family, at)
	}, func(members []*Path, at int) Segment {
		only := map[string]bool{}
		lens := uint64(0)
		for _, p := range members {
			only[p.Segments[at].Shape] = true
			lens |= p.Segments[at].Seen.Lens
		}
		if len(only) == 1 {
			return Segment{Shape: members[0].Segments[at].Shape}
		}
		delete(only, string(rune(class.Number)))
		delete(only, string(rune(class.Digits)))
		if len(only) == 1 && only[string(rune(class.Hex))] && bits.OnesCount64(lens) == 1 {
			return Segment{Shape: string(rune(class.Hex))}
		}
		return Segment{Shape: string(tree.TextShape)}
	})
}

// settled: nearly all keys have one narrow class there; the others are slips, and
// stay apart.
func settled(family []*Path, at int) bool {
	var all, most int64
	shape := ""
	for _, p := range family {
		if all += p.Keys; p.Keys > most {
			most, shape = p.Keys, p.Segments[at].Shape
		}
	}
	return all >= 50 && float64(most) >= (1-Slip)*float64(all) && pure(shape) && shape != string(tree.TextShape) &&
		shape != string(rune(class.Hex))
}

func mixed(shape string) bool { return tree.HasClass(shape) && !pure(shape) }

func hasText(family []*Path, at int) bool {
	return slices.ContainsFunc(family, func(p *Path) bool { return p.Segments[at].Shape == string(tree.TextShape) })
}

// How many shapes must differ in words only to be one text (amber-12, birch-7
// and cedar-9): some where each has few keys, more where they may be families of
// keys (user_12, order_7), and many at the beginning of keys, where names are.
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
func mixtures(family []*Path, at int) merge {
	bySkeleton := map[string][]*Path{}
	for _, p := range family {
		if s := p.Segments[at].Shape; mixed(s) {
			bySkeleton[skeleton(s)] = append(bySkeleton[skeleton(s)], p)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(bySkeleton)) {
		members := bySkeleton[name]
		var keys int64
		for _, p := range members {
			keys += p.Keys
		}
		if n := len(members); n >= mostAlike || at > 0 && (n >= manyAlike || n >= alike && keys <= int64(fewPerWord*n)) {
			return merge{members, Segment{Shape: string(tree.TextShape)}}
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
		letter := !class.IsClass(c) && class.Kinds[c] != class.IsDivider
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
func standIns(family []*Path, at int) merge {
	if !slices.ContainsFunc(family, func(p *Path) bool { return pure(p.Segments[at].Shape) }) {
		return merge{}
	}
	if at == 0 { // a mixture with many keys is a name with a number in it
		family = slices.DeleteFunc(slices.Clone(family), func(p *Path) bool {
			return mixed(p.Segments[0].Shape) &&
				p.Keys > fewInMixture
		})
	}
	return pick(family, at, func(s Segment) bool {
		return pure(s.Shape) || len(s.Words) == 0 && insteadOfID[strings.ToLower(s.Shape)]
	}, func(members []*Path, at int) Segment {
		for _, p := range members {
			if s := &p.Segments[at]; IsLiteral(s.Shape) {
				s.Seen.Add([]byte(s.Shape))
			}
		}
		return Segment{Shape: string(tree.TextShape)}
	})
}

// rare is the share of a text's keys that a word beside it has at most to be one
// of its values that happens to look like a name.
const (
	rare     = 0.01
	rareKeys = 8 // and not more than so many, whatever the share
)

// strays: words with a key or two each beside a text with many.
func strays(family []*Path, at int) merge {
	i := slices.IndexFunc(family, func(p *Path) bool {
		return p.Segments[at].Shape == string(tree.TextShape) && len(p.Segments[at].Words) == 0
	})
	if i < 0 {
		return merge{}
	}
	wide := family[i]
	members := []*Path{wide}
	for _, p := range family {
		if s := p.Segments[at]; IsLiteral(s.Shape) && s.Shape != "" && float64(p.Keys) <= max(1, min(rareKeys,
			rare*float64(wide.Keys))) && p.MostlyExpires() == wide.MostlyExpires() && few*p.Keys <= wide.Keys {
			members = append(members, p)
		}
	}
	if len(members) <= fewWords {
		return merge{}
	}
	s := wide.Segments[at]
	for _, p := range members[1:] {
		s.Seen.Add([]byte(p.Segments[at].Shape))
	}
	return merge{members, s}
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
func collections(family []*Path, at int) merge {
	last := at == len(family[0].Segments)-1
	kind := family[0].Kind()
	enough := mostWords
	switch {
	case at == 0 && !family[0].namedAfter(0):
		return merge{}
	case at == 0: // names are there: many must have a key or two each
		enough = mostAlike
		family = slices.DeleteFunc(slices.Clone(family), func(p *Path) bool { return p.Keys > fewPerWord })
		if len(family) < enough {
			return merge{}
		}
	case last && kind != source.String && kind != source.Hash:
		enough = fewWords
	case last, IsLock(family[0]), kind != source.String && kind != source.Hash:
		enough = manyWords
	}
	if IsLock(family[0]) && !last {
		enough = fewWords
	}
	if enough == mostWords { // a word with many keys is a name, however many there are
		family = slices.DeleteFunc(slices.Clone(family), func(p *Path) bool {
			return float64(p.Keys) >= keygroup.LeastKeys(len(family))
		})
	}
	family = withoutFarAbove(family)
	m := pick(family, at, func(s Segment) bool { return IsLiteral(s.Shape) && s.Shape != "" }, enumeration(""))
	if len(m.segment.Words) < enough || !sameContent(m.members) {
		return merge{}
	}
	if len(m.segment.Words) > maxEnum || !canEnumerate(m.segment.Words) {
		m.segment.anyText()
	}
	return m
}

// farAbove says how many times the keys of all others together a word has that is a name among strays.
const farAbove = 16

// withoutFarAbove leaves out a word with far more keys than all others together: it is a name, and they are strays.
func withoutFarAbove(family []*Path) []*Path {
	var all int64
	for _, p := range family {
		all += p.Keys
	}
	return slices.DeleteFunc(slices.Clone(family), func(p *Path) bool {
		return p.Keys >= tree.AffixKeys && p.Keys > farAbove*(all-p.Keys)
	})
}

// namedAfter reports whether a name follows a segment.
func (p *Path) namedAfter(at int) bool {
	return slices.ContainsFunc(p.Segments[at+1:], func(s Segment) bool {
		return IsLiteral(s.Shape) &&
			slices.ContainsFunc(WordsOf(s.Shape), func(w string) bool { return len(w) >= tree.MinNamed })
	})
}

// anyText takes the words of an enumeration for some of any. What all begin or end with, up
// to a divider, stays.
func (s *Segment) anyText() {
	for _, w := range s.Words {
		s.Seen.Add([]byte(w))
	}
	s.Shape = string(tree.SharedShape(s.Words))
	s.Words, s.Vocab = nil, ""
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
func matrix(family []*Path, at int) merge {
	if at == 0 || at == len(family[0].Segments)-1 {
		return merge{}
	}
	bySignature := map[string][]*Path{}
	for _, p := range family {
		s := p.Segments[at]
		if IsLiteral(s.Shape) && s.Shape != "" && p.Keys >= keysInMatrix && p.behindIsData(at) {
			bySignature[p.Signature()] = append(bySignature[p.Signature()], p)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(bySignature)) {
		members := bySignature[name]
		least, most, named := members[0].Keys, members[0].Keys, false
		longest, shortest := members[0].TTL.Max, members[0].TTL.Max
		for _, p := range members {
			least, most = min(least, p.Keys), max(most, p.Keys)
			longest, shortest = max(longest, p.TTL.Max), min(shortest, p.TTL.Max)
			named = named || slices.ContainsFunc(WordsOf(p.Segments[at].Shape), func(w string) bool { return generic[w] })
		}
		if len(members) < leastInMatrix || named || float64(least) < evenly*float64(most) ||
			float64(shortest) < evenly*float64(longest) {
			continue
		}
		s := enumeration("")(members, at)
		if len(s.Words) > mostWords || !canEnumerate(s.Words) {
			s.anyText()
		}
		return merge{members, s}
	}
	return merge{}
}

// behindIsData: the segment after this one is data, or has some in it.
func (p *Path) behindIsData(at int) bool {
	return tree.HasClass(p.Segments[at+1].Shape) || len(p.Segments[at+1].Words) > 0
}

// SameTTLs reports whether all of a family expire, or none.
func SameTTLs(family []*Path) bool {
	return !slices.ContainsFunc(family, func(p *Path) bool { return (p.TTL.None == 0) != (family[0].TTL.None == 0) })
}

// sameContent: TTLs of one kind, and values of one kind.
func sameContent(family []*Path) bool {
	for _, p := range family[1:] {
		if p.Signature() != family[0].Signature() {
			return false
		}
	}
	return true
}

// pick takes the members of a family whose segment is such, if there are two.
func pick(family []*Path, at int, such func(Segment) bool, then func([]*Path, int) Segment) merge {
	var members []*Path
	for _, p := range family {
		if such(p.Segments[at]) {
			members = append(members, p)
		}
	}
	if len(members) < 2 {
		return merge{}
	}
	s := then(members, at)
	for _, p := range members {
		s.Seen.Merge(&p.Segments[at].Seen)
	}
	return merge{members, s}
}
