package match

import (
	"math/bits"
	"slices"

	"github.com/keywright/keywright/keyspace/internal/automaton"
)

// classifier represents a byte automaton over one segment. It tells which of its
// components (placeholders and mixed segments) the segment is; each answer that
// can occur has a label, and label 0 is "none of them". Classifiers are shared
// by all states in which the same components meet.
type classifier struct {
	anything bool // every non-empty segment has label 1: no need to look
	classes  [256]uint8
	shift    uint    // a row of next has 1<<shift places, at least one per class
	next     []int32 // state<<shift | class → state, or dead
	pairs    []int32 // state<<2*shift | class<<shift | class → state two bytes on; nil if too large
	labels   []int32 // by state: what the segment is if it ends here
	reached  [][]reach
}

// component represents a position automaton that a segment may be read by, and the
// positions in which the segment begins.
type component struct {
	nfa   *automaton.NFA
	from  []int32
	whole bool // ends with the segment: only whether it is fulfilled matters
}

// reach represents one component and the positions it is in after a segment.
type reach struct {
	component int
	positions []int32
}

func (c *classifier) label(segment []byte) int32 {
	if c.anything {
		if len(segment) == 0 {
			return 0
		}
		return 1
	}
	s, shift := int32(0), c.shift&7
	if c.pairs != nil {
		if len(segment)&1 == 1 {
			if s = c.next[c.classes[segment[0]]]; s < 0 {
				return 0
			}
			segment = segment[1:]
		}
		pairs := c.pairs
		for ; len(segment) >= 2; segment = segment[2:] {
			both := int32(c.classes[segment[0]])<<shift | int32(c.classes[segment[1]])
			if s = pairs[s<<(2*shift)|both]; s < 0 {
				return 0
			}
		}
		return c.labels[s]
	}
	for _, b := range segment {
		if s = c.next[s<<c.shift|int32(c.classes[b])]; s < 0 {
			return 0
		}
	}
	return c.labels[s]
}

// maxPairs bounds the table of steps over two bytes: it must stay in a core's cache.
const maxPairs = 1 << 15

// pair makes the table of steps over two bytes at once. The time of a step is
// that of one dependent load, so it halves the time of long segments.
func (c *classifier) pair() {
	width := 1 << c.shift
	if len(c.labels)*width*width > maxPairs {
		return
	}
	c.pairs = make([]int32, len(c.labels)*width*width)
	for s := range c.labels {
		for a := range width {
			for b := range width {
				to := c.next[s<<c.shift|a]
				if to >= 0 {
					to = c.next[int(to)<<c.shift|b]
				}
				c.pairs[s<<(2*c.shift)|a<<c.shift|b] = to
			}
		}
	}
}

// maxSegmentStates bounds one classifier. It is above the bound of a single
// pattern: many patterns may mix literals and placeholders in one segment.
const maxSegmentStates = 5 * automaton.MaxStates

// maxWork bounds the positions that are visited while the classifiers of one matcher
// are made: about a second.
const maxWork = 5_000_000

// newClassifier returns the product of the components by the subset construction.
// A subset holds (component, position) pairs, packed. What it costs is added to work.
func newClassifier(components []component, work *int) (*classifier, error) {
	b := classifierBuilder{components: components, ids: map[string]int32{}, labels: map[string]int32{}}
	classes := automaton.NewClasses(b.sets())
	c := &classifier{shift: uint(bits.Len(uint(len(classes.Rep) - 1))), classes: classes.Of, reached: [][]reach{nil}}
	var start []int64
	for i, comp := range components {
		for _, p := range comp.from {
			start = append(start, pack(i, p))
		}
	}
	b.intern(start)
	for s := 0; s < len(b.subsets); s++ {
		if s > maxSegmentStates {
			return nil, &automaton.TooLargeError{What: "states in one segment", Limit: maxSegmentStates}
		}
		if *work += len(b.subsets[s]) * len(classes.Rep); *work > maxWork {
			return nil, &automaton.TooLargeError{What: "steps", Limit: maxWork}
		}
		c.labels = append(c.labels, b.labelOf(b.subsets[s], c))
		for class := range 1 << c.shift {
			to := dead
			if class < len(classes.Rep) {
				if next := b.step(b.subsets[s], classes.Rep[class].Pick()); len(next) > 0 {
					to = b.intern(next)
				}
			}
			c.next = append(c.next, to)
		}
	}
	c.anything = c.isAnything(len(classes.Rep))
	c.pair()
	return c, nil
}

type classifierBuilder struct {
	components []component
	ids        map[string]int32
	subsets    [][]int64
	labels     map[string]int32
}

func pack(component int, position int32) int64 { return int64(component)<<32 | int64(position) }

func unpack(v int64) (component int, position int32) { return int(v >> 32), int32(v) }

// sets returns the byte sets that the components mention, and the separator, which
// never is in a segment and so gets a class of its own.
func (b *classifierBuilder) sets() []automaton.Set {
	var sets []automaton.Set
	for _, c := range b.components {
		sets = append(sets, c.nfa.Sets[1:]...)
	}
	return append(sets, automaton.Of(":"))
}

func (b *classifierBuilder) intern(subset []int64) int32 {
	key := make([]byte, 0, 8*len(subset))
	for _, v := range subset {
		key = append(key, byte(v), byte(v>>8), byte(v>>16), byte(v>>24), byte(v>>32), byte(v>>40), byte(v>>48), byte(v>>56))
	}
	id, known := b.ids[string(key)]
	if !known {
		id = int32(len(b.subsets))
		b.ids[string(key)] = id
		b.subsets = append(b.subsets, subset)
	}
	return id
}

func (b *classifierBuilder) step(subset []int64, by byte) []int64 {
	if by == ':' {
		return nil
	}
	var to []int64
	for _, v := range subset {
		i, p := unpack(v)
		n := b.components[i].nfa
		for _, q := range n.Follow[p] {
			if n.Sets[q].Has(by) {
				to = append(to, pack(i, q))
			}
		}
	}
	slices.Sort(to)
	return slices.Compact(to)
}

// labelOf returns the label of a subset: what its positions mean for each component
// if the segment ends here. Positions that can neither end the key nor step
// over a separator mean nothing.
func (b *classifierBuilder) labelOf(subset []int64, c *classifier) int32 {
	var got []reach
	var key []byte
	for _, v := range subset {
		i, p := unpack(v)
		n := b.components[i].nfa
		if !n.Final[p] && !slices.ContainsFunc(n.Follow[p], func(q int32) bool { return n.Sets[q].Has(':') }) {
			continue
		}
		if last := len(got) - 1; last < 0 || got[last].component != i {
			got = append(got, reach{component: i})
		} else if b.components[i].whole {
			continue
		}
		if b.components[i].whole {
			p = 0
		}
		got[len(got)-1].positions = append(got[len(got)-1].positions, p)
		key = append(key, automaton.SubsetKey([]int32{int32(i), p})...)
	}
	if len(got) == 0 {
		return 0
	}
	label, known := b.labels[string(key)]
	if !known {
		label = int32(len(c.reached))
		b.labels[string(key)] = label
		c.reached = append(c.reached, got)
	}
	return label
}

// isAnything reports whether the automaton is the one of a single `text`: any
// byte but the separator, once or more.
func (c *classifier) isAnything(classes int) bool {
	if len(c.labels) != 2 || c.labels[0] != 0 || c.labels[1] != 1 {
		return false
	}
	for class := range classes {
		separator := int(c.classes[':']) == class
		for s := range 2 {
			if (c.next[s<<c.shift|class] == 1) == separator {
				return false
			}
		}
	}
	return true
}
