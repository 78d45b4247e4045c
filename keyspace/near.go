package keyspace

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace/pattern"
)

// Near finds the declared keys that a key may be meant as. It is not safe for
// concurrent use.
type Near struct {
	list []candidateKey
	rows [4][]int
	key  []rune // a letter of several bytes is one letter: twins that look alike are near
	work int
}

// candidateKey represents a declared key, made ready for comparing.
type candidateKey struct {
	key     *Key
	steps   []step
	limit   int // how far a key may be from it; -1: it is near nothing
	letters letters
}

// NewNear prepares the comparison with the keys of a keyspace.
func NewNear(ks *Keyspace) *Near {
	n := &Near{}
	for _, k := range ks.Keys {
		list, count := steps(k.Pattern)
		if limit := allowed(count); limit >= 0 {
			n.list = append(n.list, candidateKey{k, list, limit, lettersOf(list)})
		}
	}
	return n
}

// Work returns how many comparisons were made so far, letter by letter; those that the
// letters alone decide cost a hundredth of one, and are counted so.
func (n *Near) Work() int { return n.work / cheap }

// cheap says how many looks at letters alone cost what one comparison does.
const cheap = 100

// letters holds the letters of a text without separators: which come at all, and which
// more than once. Letters that differ by 64 count as one.
type letters struct{ once, twice uint64 }

func (l *letters) add(c rune) {
	if c != ':' {
		bit := uint64(1) << (c & 63)
		l.twice |= l.once & bit
		l.once |= bit
	}
}

func lettersOf(list []step) (l letters) {
	for _, s := range list {
		if !s.placeholder {
			l.add(s.literal)
		}
	}
	return l
}

// missing returns how many letters a key lacks: each costs at least one.
func (l letters) missing(key letters) int {
	return bits.OnesCount64(l.once&^key.once) + bits.OnesCount64(l.twice&^key.twice)
}

// To finds the declared keys that are near a key, the nearest first, at most most:
// those whose literal text is almost the key's. A typo, a segment too many or too
// few, and a value that its placeholder does not take are near. O(declared keys),
// most of them left after a look at their letters.
func (n *Near) To(name []byte, most int) []*Key {
	type candidate struct {
		key      *Key
		distance int
	}
	var found []candidate
	n.key = append(n.key[:0], []rune(string(name[:min(len(name), maxNear)]))...)
	key := n.key
	for i := range n.rows {
		n.rows[i] = slices.Grow(n.rows[i][:0], len(key)+1)[:len(key)+1]
	}
	var has letters
	for _, c := range key {
		has.add(c)
	}
	n.work += len(n.list)
	for i := range n.list {
		if k := &n.list[i]; k.letters.missing(has) <= k.limit {
			n.work += cheap
			if d, near := n.distance(k, key); near {
				found = append(found, candidate{k.key, d})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var out []*Key
	for _, c := range found[:min(len(found), most)] {
		out = append(out, c.key)
	}
	return out
}

// maxNear says how many bytes of a key are compared.
const maxNear = 256

// step describes what a pattern has at one place: a letter, or a placeholder.
type step struct {
	literal     rune
	placeholder bool
	rest        bool // the placeholder may cross separators
}

// steps takes a pattern apart. letters is how much literal text it has.
func steps(p *pattern.Pattern) (out []step, letters int) {
	for _, e := range p.Elements() {
		if e.Placeholder >= 0 {
			out = append(out, step{placeholder: true, rest: e.Crosses})
			continue
		}
		literal := []rune(e.Literal)
		for _, c := range literal {
			out = append(out, step{literal: c})
		}
		letters += len(literal) - strings.Count(e.Literal, ":")
	}
	return out, letters
}

// allowed returns how far a key may be from a pattern with so much literal text.
func allowed(letters int) int {
	switch {
	case letters == 0:
		return -1
	case letters < 3:
		return 0
	}
	return min(3, max(1, letters/4))
}

// skipped says what a whole segment too many or too few costs; one that is too few
// costs half its text besides, so that what is left is still most of the name.
const skipped = 2

// distance returns an edit distance between literal text and a key, in which what a
// placeholder takes costs nothing. It ends where the distance can only be too large.
func (n *Near) distance(k *candidateKey, key []rune) (int, bool) {
	row, next, segment, before := n.rows[0], n.rows[1], n.rows[2], n.rows[3]
	for j := range row {
		row[j] = j
	}
	skipExtra(row, key)
	copy(segment, row) // the row where this segment of the pattern begins
	open, text := 0, 0 // the least of it, and how much text the segment has
	for i, s := range k.steps {
		if !s.placeholder && s.literal != ':' {
			text++
		}
		advance(next, row, s, key)
		if i > 0 {
			swap(next, before, k.steps[i-1], s, key)
		}
		before, row, next = row, next, before
		ends := i+1 == len(k.steps) || k.steps[i+1].literal == ':'
		if ends {
			for j := range row {
				row[j] = min(row[j], segment[j]+skipped+text/2)
			}
		}
		skipExtra(row, key)
		least := slices.Min(row)
		if least > k.limit && open+skipped > k.limit {
			return 0, false
		}
		if ends {
			copy(segment, row)
			open, text = least, 0
		}
	}
	d := row[len(key)]
	return d, d <= k.limit
}

// advance makes the row after one more step of the pattern.
func advance(next, row []int, s step, key []rune) {
	next[0] = row[0] + 1
	for j, c := range key {
		switch {
		case s.placeholder && (c != ':' || s.rest):
			next[j+1] = min(row[j+1]+1, row[j], next[j])
		case s.placeholder:
			next[j+1] = row[j+1] + 1
		case c == s.literal:
			next[j+1] = row[j]
		default:
			next[j+1] = 1 + min(row[j], row[j+1], next[j])
		}
	}
}

// swap lets two letters that changed places be one mistake; before is the row of two steps
// ago.
func swap(next, before []int, last, s step, key []rune) {
	if last.placeholder || s.placeholder || last.literal == ':' || s.literal == ':' {
		return
	}
	for j := 1; j < len(key); j++ {
		if key[j-1] == s.literal && key[j] == last.literal {
			next[j+1] = min(next[j+1], before[j-1]+1)
		}
	}
}

// skipExtra lets a whole segment of the key be one too many.
func skipExtra(row []int, key []rune) {
	begin := -1
	for end := range len(key) + 1 {
		if end < len(key) && key[end] != ':' {
			continue
		}
		if begin >= 0 {
			row[end] = min(row[end], row[begin]+skipped)
		}
		begin = end
	}
}
