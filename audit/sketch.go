package audit

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
	"github.com/keywright/keywright/source"
)

// The bounds of the sketch: children of one node, and nodes in all. Beyond the
// first a node's children become one placeholder, beyond the second new keys
// end as {rest} at the last node they reach.
const (
	maxFanOut     = 24
	maxNamespaces = 500 // children of the root: first segments are names, seldom ids
	maxNodes      = 20_000
	maxDepth      = 12
)

// sketch groups undeclared keys into patterns that would declare them: a tree
// of segments in which a segment that looks like an id (a number, a UUID …) is
// a placeholder, and a node with too many different children turns them into
// one. The same keys make the same tree in any order, and in any number of sketches that
// are merged, as long as none of these is full.
type sketch struct {
	root  *branch
	nodes int
	full  bool           // keys ended as {rest} for want of nodes
	near  *keyspace.Near // for "did you mean"

	fanOut, namespaces, most int // maxFanOut, maxNamespaces, maxNodes, and less in tests
}

// branch represents one segment in the tree; group is what ends here.
type branch struct {
	children  map[string]*branch
	collapsed bool // its children are one text placeholder
	group     *group
}

type group struct {
	figures
	kinds   [source.Kinds]int64
	example []byte
}

func newSketch(ks *keyspace.Keyspace) *sketch {
	return &sketch{root: &branch{}, near: keyspace.NewNear(ks), fanOut: maxFanOut, namespaces: maxNamespaces,
		most: maxNodes}
}

func (s *sketch) add(k *source.Key) {
	b := s.root
	rest := k.Name
	for depth := 0; ; depth++ {
		segment, tail, more := bytes.Cut(rest, []byte(":"))
		if depth == maxDepth {
			segment, more = rest, false
		}
		var known bool
		if b, known = s.child(b, segmentName(segment, depth == maxDepth && more)); !known || !more {
			break
		}
		rest = tail
	}
	if b.group == nil {
		b.group = &group{}
	}
	g := b.group
	g.add(k)
	g.kinds[k.Kind]++
	if name := finding.Cut(k.Name); g.example == nil || slices.Compare(name, g.example) < 0 {
		g.example = append(g.example[:0], name...)
	}
}

// child returns the node of a segment below b. It is false where the sketch is full
// and the key ends here, as {rest}: a node has one of these at most, so that
// there are never more than twice maxNodes.
func (s *sketch) child(b *branch, name string) (*branch, bool) {
	name = b.nameOf(name)
	if c := b.children[name]; c != nil {
		return c, true
	}
	if s.nodes >= s.most {
		s.full = true
		return s.leaf(b, "{rest}"), false
	}
	if !b.collapsed && len(b.children) >= s.limit(b) {
		s.collapse(b)
		return s.child(b, name)
	}
	return s.leaf(b, name), true
}

// limit returns how many children a node may have before they are made one.
func (s *sketch) limit(b *branch) int {
	if b == s.root {
		return s.namespaces
	}
	return s.fanOut
}

// leaf returns the child of that name, made if there is none.
func (s *sketch) leaf(b *branch, name string) *branch {
	if b.children == nil {
		b.children = map[string]*branch{}
	}
	if b.children[name] == nil {
		b.children[name] = &branch{}
		s.nodes++
	}
	return b.children[name]
}

// nameOf returns what a segment is called below b.
func (b *branch) nameOf(name string) string {
	if b.collapsed && !isPlaceholder(name) {
		return "{text}"
	}
	return name
}

// isPlaceholder: nothing but one placeholder. There are a dozen of these;
// {int}_word is one of any number of names.
func isPlaceholder(name string) bool {
	return strings.HasPrefix(name, "{") && strings.IndexByte(name, '}') == len(name)-1
}

// collapse merges the literal children of b into one placeholder.
func (s *sketch) collapse(b *branch) {
	b.collapsed = true
	merged := s.leaf(b, "{text}")
	for name, c := range b.children {
		if !isPlaceholder(name) {
			delete(b.children, name)
			s.nodes--
			s.merge(merged, c)
		}
	}
}

// merge takes a node of this sketch into another of its nodes.
func (s *sketch) merge(into, from *branch) { s.graft(into, from, true) }

// take adds another sketch to this one.
func (s *sketch) take(o *sketch) {
	s.full = s.full || o.full
	s.graft(s.root, o.root, false)
}

// graft takes a node into another: own, of this sketch, whose nodes are counted.
func (s *sketch) graft(into, from *branch, own bool) {
	into.take(from.group)
	if from.collapsed && !into.collapsed { // it had too many children alone
		s.collapse(into)
	}
	for name, c := range from.children {
		name = into.nameOf(name)
		if own {
			s.nodes--
		}
		if into.children[name] == nil && s.nodes >= s.most {
			s.rest(s.leaf(into, "{rest}"), c, own)
			continue
		}
		s.graft(s.leaf(into, name), c, own)
		if !into.collapsed && len(into.children) > s.limit(into) {
			s.collapse(into)
		}
	}
}

// rest takes all that is below a node into one group, for want of nodes.
func (s *sketch) rest(into, from *branch, own bool) {
	s.full = true
	into.take(from.group)
	for _, c := range from.children {
		if own {
			s.nodes--
		}
		s.rest(into, c, own)
	}
}

// take adds a group to the one that ends at the node.
func (b *branch) take(g *group) {
	if g == nil {
		return
	}
	if b.group == nil {
		b.group = &group{}
	}
	b.group.merge(g)
}

func (g *group) merge(o *group) {
	g.figures.merge(&o.figures)
	for i, n := range o.kinds {
		g.kinds[i] += n
	}
	if g.example == nil || slices.Compare(o.example, g.example) < 0 {
		g.example = slices.Clone(o.example)
	}
}

// guess represents a type a segment is tried for. Length and alphabet are looked at
// first: a type that refuses builds a reason no program reads here.
type guess struct {
	text              string
	shortest, longest int
	alphabet          string
	is                func([]byte) bool
	name              string // of the placeholder
}

const digits = "0123456789"

// looks lists the guesses, the narrowest first.
var looks = func() []guess {
	list := []guess{
		{text: "uuid", shortest: 36, longest: 36, alphabet: digits + "abcdef-"},
		{text: "ulid", shortest: 26, longest: 26, alphabet: digits + "ABCDEFGHJKMNPQRSTVWXYZ"},
		{text: "unix_ms", shortest: 13, longest: 13, alphabet: digits},
		{text: "int", shortest: 1, longest: 20, alphabet: digits + "-"},
		{text: "date", shortest: 10, longest: 10, alphabet: digits + "-"},
		{text: "hex 40", shortest: 40, longest: 40, alphabet: digits + "abcdef"},
		{text: "hex 32", shortest: 32, longest: 32, alphabet: digits + "abcdef"},
		{text: "hex 16", shortest: 16, longest: 16, alphabet: digits + "abcdef"},
	}
	for i := range list {
		g := &list[i]
		typ, _ := scalar.Parse(g.text, nil) // held by TestLooks
		g.is = typ.Prepared()
		g.name = "{" + strings.Fields(g.text)[0] + "}"
	}
	return list
}()

func (g *guess) fits(segment []byte) bool {
	n := len(segment)
	return g.shortest <= n && n <= g.longest && len(bytes.Trim(segment, g.alphabet)) == 0 && g.is(segment)
}

// dividers are between the words of a segment.
const dividers = "_-./|,="

// segmentName returns the segment as it is in a suggested pattern. The words
// within a segment are looked at one by one.
func segmentName(segment []byte, rest bool) string {
	if rest {
		return "{rest}"
	}
	if len(segment) > 64 {
		return "{text}"
	}
	if name, ok := look(segment); ok {
		return name
	}
	if !utf8.Valid(segment) || finding.Printable(string(segment)) != string(segment) {
		return "{bytes}"
	}
	var out strings.Builder
	out.Grow(len(segment) + len("{int}"))
	for start := 0; start <= len(segment); {
		end := start
		for end < len(segment) && !strings.ContainsRune(dividers, rune(segment[end])) {
			end++
		}
		word := segment[start:end]
		if name, ok := look(word); ok {
			out.WriteString(name)
		} else {
			literal(&out, word)
		}
		if end < len(segment) {
			out.WriteByte(segment[end])
		}
		start = end + 1
	}
	return out.String()
}

func look(segment []byte) (string, bool) {
	if !bytes.ContainsAny(segment, digits) {
		return "", false
	}
	for i := range looks {
		if looks[i].fits(segment) {
			return looks[i].name, true
		}
	}
	return "{digits}", len(bytes.Trim(segment, digits)) == 0
}

// literal writes text as a pattern has it.
func literal(out *strings.Builder, word []byte) {
	for _, b := range word {
		if b == '{' || b == '}' || b == '\\' {
			out.WriteByte('\\')
		}
		out.WriteByte(b)
	}
}

// suggestion represents a group with the pattern that would declare it.
type suggestion struct {
	pattern string
	near    *keyspace.Key
	*group
}

// maxCompared bounds the comparisons of groups with what is declared: a second or two.
const maxCompared = 2_000_000

// compared holds groups, sorted, of which the first near ones are near a declared name.
type compared struct {
	groups []suggestion
	near   int
	left   int // that were not compared
}

// compare holds groups against what is declared, from both ends of their list in turn
// until the comparisons are used up: a typo has few keys, and what has many matters.
func (s *sketch) compare(room int) compared {
	out := s.groups()
	slices.SortFunc(out, func(a, b suggestion) int {
		return cmp.Or(cmp.Compare(b.keys, a.keys), strings.Compare(a.pattern, b.pattern))
	})
	used, left := s.near.Work(), len(out)
	for ; left > 0 && s.near.Work()-used < room; left-- {
		done := len(out) - left
		g := &out[done/2]
		if done%2 == 1 {
			g = &out[len(out)-1-done/2]
		}
		if found := s.near.To(g.example, 1); len(found) > 0 {
			g.near = found[0]
		}
	}
	slices.SortStableFunc(out, func(a, b suggestion) int { return cmp.Compare(far(a), far(b)) })
	return compared{out, len(out) - count(out, far), left}
}

func far(g suggestion) int {
	if g.near == nil {
		return 1
	}
	return 0
}

func count(list []suggestion, f func(suggestion) int) (n int) {
	for _, g := range list {
		n += f(g)
	}
	return n
}

// list divides the groups into at most limit that are listed, and the others. Those that
// are near a declared name come first, then the largest: half of the room is theirs.
func (c compared) list(limit int) (listed, others []suggestion) {
	near, far := c.groups[:c.near], c.groups[c.near:]
	first := min(len(near), max(limit/2, limit-len(far)))
	second := min(len(far), limit-first)
	return slices.Concat(near[:first], far[:second]), slices.Concat(near[first:], far[second:])
}

// suggestions are at most limit groups, the others, and how many were not compared with
// what is declared.
func (s *sketch) suggestions(limit int) (listed, others []suggestion, left int) {
	c := s.compare(maxCompared)
	listed, others = c.list(limit)
	return listed, others, c.left
}

// groups returns the groups of the tree, those alike made one.
func (s *sketch) groups() []suggestion {
	var out []suggestion
	var walk func(b *branch, prefix string)
	walk = func(b *branch, prefix string) {
		if b.group != nil && b.group.keys > 0 {
			out = append(out, suggestion{pattern: prefix, group: b.group})
		}
		for name, c := range b.children {
			p := name
			if b != s.root {
				p = prefix + ":" + name
			}
			walk(c, p)
		}
	}
	walk(s.root, "")
	return gather(out)
}

// alike says how many groups must differ in words beside placeholders only to
// become one: delta-{int}, maple-{int} and oak-{int} are {text}-{int}.
const alike = 3

// gather merges groups that are alike, and finishes the patterns.
func gather(groups []suggestion) []suggestion {
	families := map[string][]suggestion{}
	for _, g := range groups {
		name := skeleton(g.pattern)
		families[name] = append(families[name], g)
	}
	var out []suggestion
	for name, family := range families {
		if len(family) < alike {
			out = append(out, family...)
			continue
		}
		merged := &group{}
		for _, g := range family {
			merged.merge(g.group)
		}
		out = append(out, suggestion{pattern: name, group: merged})
	}
	for i := range out {
		out[i].pattern = number(out[i].pattern)
	}
	return out
}

// skeleton replaces the words in segments that also hold a placeholder.
func skeleton(p string) string {
	segments := strings.Split(p, ":")
	for i, segment := range segments {
		if strings.Contains(segment, "{") && !strings.Contains(segment, `\`) && segment[0] != '{' {
			if end := strings.IndexAny(segment, dividers); end > 0 && !strings.Contains(segment[:end], "{") {
				segments[i] = "{text}" + segment[end:]
			}
		}
	}
	return strings.Join(segments, ":")
}

// number makes the placeholders of a suggested pattern differ: {int}, {int_2}.
func number(p string) string {
	seen := map[string]int{}
	var out strings.Builder
	for p != "" {
		open := strings.IndexByte(p, '{')
		if open < 0 || open > 0 && p[open-1] == '\\' {
			cut := len(p)
			if open >= 0 {
				cut = open + 1
			}
			out.WriteString(p[:cut])
			p = p[cut:]
			continue
		}
		end := strings.IndexByte(p, '}')
		if end < open {
			break
		}
		name := p[open+1 : end]
		seen[name]++
		out.WriteString(p[:open+1] + name)
		if n := seen[name]; n > 1 {
			out.WriteString("_" + strconv.Itoa(n))
		}
		out.WriteByte('}')
		p = p[end+1:]
	}
	return out.String() + p
}
