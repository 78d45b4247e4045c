package files

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace/scalar"
)

// Bounds of what is remembered of the files.
const (
	maxNodes    = 4_000  // places of all documents; of what is deeper nothing is remembered
	maxMembers  = 512    // names of one object; beyond them it is a map
	maxSamples  = 32     // texts of one place
	maxSample   = 128    // bytes of a text that is remembered
	maxDistinct = 20_000 // texts of one array that are compared with each other
	maxLevels   = 6      // names above a text that it is compared with
)

// node describes what was seen at one place of the documents of a source.
type node struct {
	nulls, bools, objects, arrays int64
	ints, fractions               int64 // fractions: and whole numbers of more than 64 bits
	low, high                     int64 // of ints
	texts                         words
	same                          [maxLevels]int64 // texts that are the name so many levels above

	names   words // of the members of objects
	members map[string]*node
	each    *node // of members whose names are not kept, or all of them as one: see gather
	lost    bool  // more places than are remembered

	elements *node
	longest  int             // of arrays
	twice    bool            // an array has an element twice
	unique   map[string]bool // of elements that are objects: false: a member's text is there twice, or too often to say
	life     time.Duration   // of objects with a time of begin and end, the longest time between them
	lives    int64
}

// total returns how many values were seen; none where nothing is remembered: see reader.node.
func (n *node) total() int64 {
	if n == nil {
		return 0
	}
	return n.nulls + n.bools + n.objects + n.arrays + n.ints + n.fractions + n.texts.n
}

func (n *node) scalars() int64 { return n.nulls + n.bools + n.ints + n.fractions + n.texts.n }

// words holds texts of one place: all of them as far as it is counted, some of them by themselves.
type words struct {
	n, slugs, digits, hexes, uuids, dates, times, plain int64 // plain: a segment of a key
	least, most                                         int
	samples                                             []sample // those with the lowest hashes
}

type sample struct {
	hash uint64
	text string
}

var (
	isSlug = scalar.Type{Kind: scalar.Slug}.Prepared()
	isHex  = scalar.Type{Kind: scalar.Hex}.Prepared()
	isUUID = scalar.Type{Kind: scalar.UUID}.Prepared()
)

func count(n *int64, is bool) {
	if is {
		*n++
	}
}

// add counts a text.
func (w *words) add(text string) {
	if w.n == 0 {
		w.least, w.most = len(text), len(text)
	}
	w.n++
	w.least, w.most = min(w.least, len(text)), max(w.most, len(text))
	raw := []byte(text)
	digits := allDigits(text)
	count(&w.digits, digits && len(text) <= 20)
	count(&w.slugs, len(text) <= 128 && isSlug(raw))
	count(&w.hexes, !digits && len(text) >= 8 && len(text) <= 128 && isHex(raw))
	count(&w.uuids, len(text) == 36 && isUUID(raw))
	_, noDate := time.Parse(time.DateOnly, text)
	count(&w.dates, noDate == nil)
	_, isTime := instant(text)
	count(&w.times, isTime && noDate != nil)
	count(&w.plain, text != "" && len(text) <= maxSample && !strings.ContainsAny(text, ":{}") && isPrintable(text))
	if len(text) > maxSample {
		return
	}
	h := fnv.New64a()
	_, _ = h.Write(raw)
	w.keep(sample{h.Sum64(), text})
}

func (w *words) keep(s sample) {
	at, found := slices.BinarySearchFunc(w.samples, s, func(a, b sample) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.text, b.text))
	})
	if found || at == maxSamples {
		return
	}
	w.samples = slices.Insert(w.samples, at, s)
	w.samples = w.samples[:min(len(w.samples), maxSamples)]
}

func (w *words) merge(o *words) {
	if o.n == 0 {
		return
	}
	if w.n == 0 {
		w.least = o.least
	}
	w.least, w.most = min(w.least, o.least), max(w.most, o.most)
	for _, c := range []struct{ to, from *int64 }{{&w.n, &o.n}, {&w.slugs, &o.slugs}, {&w.digits, &o.digits},
		{&w.hexes, &o.hexes}, {&w.uuids, &o.uuids}, {&w.dates, &o.dates}, {&w.times, &o.times}, {&w.plain, &o.plain}} {
		*c.to += *c.from
	}
	for _, s := range o.samples {
		w.keep(s)
	}
}

// all reports whether every text that is remembered is a value of a type.
func (w *words) all(t scalar.Type) bool {
	is := t.Prepared()
	return len(w.samples) > 0 && !slices.ContainsFunc(w.samples, func(s sample) bool { return !is([]byte(s.text)) })
}

func allDigits(s string) bool {
	return s != "" && strings.IndexFunc(s, func(c rune) bool { return c < '0' || c > '9' }) < 0
}

func isPrintable(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool { return c <= ' ' || c == 0x7f || !strconv.IsPrint(c) }) < 0
}

// number counts a number.
func (n *node) number(text json.Number) {
	i, err := strconv.ParseInt(text.String(), 10, 64)
	if err != nil {
		n.fractions++
		return
	}
	if n.ints == 0 {
		n.low, n.high = i, i
	}
	n.ints, n.low, n.high = n.ints+1, min(n.low, i), max(n.high, i)
}

// merge adds what was seen at another place: of all members of a map.
func (n *node) merge(o *node) {
	if o == nil {
		return
	}
	if o.ints > 0 {
		if n.ints == 0 {
			n.low, n.high = o.low, o.high
		}
		n.low, n.high = min(n.low, o.low), max(n.high, o.high)
	}
	for _, c := range []struct{ to, from *int64 }{{&n.nulls, &o.nulls}, {&n.bools, &o.bools}, {&n.objects, &o.objects},
		{&n.arrays, &o.arrays}, {&n.ints, &o.ints}, {&n.fractions, &o.fractions}, {&n.lives, &o.lives}} {
		*c.to += *c.from
	}
	for i := range n.same {
		n.same[i] += o.same[i]
	}
	n.texts.merge(&o.texts)
	n.names.merge(&o.names)
	n.lost, n.twice = n.lost || o.lost, n.twice || o.twice
	n.longest, n.life = max(n.longest, o.longest), max(n.life, o.life)
	for name, is := range o.unique {
		n.say(name, is)
	}
	if o.elements != nil {
		if n.elements == nil {
			n.elements = &node{}
		}
		n.elements.merge(o.elements)
	}
	n.each = merged(n.each, o.each)
	for name, m := range o.members {
		if n.members == nil {
			n.members = map[string]*node{}
		}
		if n.members[name] == nil && len(n.members) >= maxMembers {
			n.each = merged(n.each, m)
			continue
		}
		n.members[name] = merged(n.members[name], m)
	}
}

func merged(a, b *node) *node {
	if a == nil {
		a = &node{}
	}
	if b == nil && a.total() == 0 {
		return nil
	}
	a.merge(b)
	return a
}

// say notes whether the texts of a member are unique in each array.
func (n *node) say(name string, is bool) {
	if n.unique == nil {
		n.unique = map[string]bool{}
	}
	if before, there := n.unique[name]; there {
		is = is && before
	}
	n.unique[name] = is
}

// sorted returns the names of the members that are kept.
func (n *node) sorted() []string {
	out := make([]string, 0, len(n.members))
	for name := range n.members {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// mergedMembers returns all members of a map as one.
func (n *node) mergedMembers() *node {
	out := &node{}
	for _, name := range n.sorted() {
		out.merge(n.members[name])
	}
	out.merge(n.each)
	return out
}
