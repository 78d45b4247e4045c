package tree

import (
	"github.com/keywright/keywright/infer/internal/class"
	"github.com/keywright/keywright/infer/internal/content"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/source"
)

// Bounds of what is remembered of single keys. A keyspace within them is looked
// at as a whole before anything is decided; of a larger one the first keys decide,
// and all are counted in a second reading.
const (
	maxKept     = 1 << 17
	chunk       = 1 << 20 // bytes of names
	maxChunks   = 12
	MaxKeptName = 4096
	factsAtOnce = 1 << 14
)

// Fact describes what is remembered of one key besides its name.
type Fact struct {
	at     uint32 // of the name: chunk and place in it
	length uint16
	Kind   source.Kind
	most   int32 // elements, -1 unknown
	Sample int32 // of what its value looks like; -1 none
	TTL    int64
	Bytes  int64
}

// Kept holds the first keys of a keyspace.
type Kept struct {
	names [][]byte
	facts [][]Fact
	N     int
}

// Keep remembers a key. It is false if there is no room.
func (k *Kept) Keep(key *source.Key, sample int32) bool {
	if k.N == maxKept {
		return false
	}
	last := len(k.names) - 1
	if last < 0 || len(k.names[last])+len(key.Name) > chunk {
		if len(k.names) == maxChunks {
			return false
		}
		k.names = append(k.names, make([]byte, 0, chunk))
		last++
	}
	at := last*chunk + len(k.names[last])
	k.names[last] = append(k.names[last], key.Name...)
	if k.N%factsAtOnce == 0 {
		k.facts = append(k.facts, make([]Fact, 0, factsAtOnce))
	}
	f := Fact{at: uint32(at), length: uint16(len(key.Name)), Kind: key.Kind, most: -1, Sample: sample, TTL: int64(key.TTL),
		Bytes: key.Bytes}
	if key.Facts != nil {
		f.most = int32(min(key.Facts.Elements, 1<<31-1))
	}
	k.facts[len(k.facts)-1] = append(k.facts[len(k.facts)-1], f)
	k.N++
	return true
}

// Fact returns what is remembered of a key.
func (k *Kept) Fact(i int) *Fact { return &k.facts[i/factsAtOnce][i%factsAtOnce] }

// Name returns the name of a key.
func (k *Kept) Name(i int) []byte {
	f := k.Fact(i)
	at := int(f.at % chunk)
	return k.names[f.at/chunk][at : at+int(f.length) : at+int(f.length)]
}

// Without returns the keys that a matcher does not know. Their names are shared.
func (k *Kept) Without(m *match.Matcher) *Kept {
	out := &Kept{names: k.names}
	for i := range k.N {
		if t := m.Match(k.Name(i), nil); t != match.None {
			continue
		}
		if out.N%factsAtOnce == 0 {
			out.facts = append(out.facts, make([]Fact, 0, factsAtOnce))
		}
		out.facts[len(out.facts)-1] = append(out.facts[len(out.facts)-1], *k.Fact(i))
		out.N++
	}
	return out
}

// Samples describes what values look like, by the shape of their keys.
type Samples struct {
	byShape map[uint64]int32
	Looks   []Sample
	roots   [1 << 16]uint16 // keys by their first segment and their length, hashed
}

// Sample describes what the values of the keys of one shape look like.
type Sample struct {
	content.Content
	keys, asked int
}

// Bounds of the sample: when half of the shapes are taken, only those whose
// beginning was seen before get one, so that noise does not use them up.
const (
	maxSamples = 8000
	seenBefore = 4
)

// Wants says whether the value of the next key of a shape is to be read, and
// where what it looks like is kept.
func (s *Samples) Wants(name []byte, words *class.Scratch) (int32, bool) {
	shape, root := hashes(name, words)
	if n := &s.roots[root%uint64(len(s.roots))]; *n < 1<<16-1 {
		*n++
	}
	i, known := s.byShape[shape]
	if !known {
		n := s.roots[root%uint64(len(s.roots))]
		if n > 2*maxValues || len(s.Looks) >= maxSamples || len(s.Looks) >= maxSamples/2 && n < seenBefore {
			return -1, false
		}
		i = s.add(shape)
	}
	look := &s.Looks[i]
	look.keys++
	if look.asked >= firstValues && (look.asked >= maxValues || look.keys&1023 != 0) {
		return -1, false
	}
	look.asked++
	return i, true
}

func (s *Samples) add(shape uint64) int32 {
	if s.byShape == nil {
		s.byShape = map[uint64]int32{}
	}
	i := int32(len(s.Looks))
	s.Looks = append(s.Looks, Sample{})
	s.byShape[shape] = i
	return i
}

// Of returns the place for a value that came without being asked for.
func (s *Samples) Of(name []byte, words *class.Scratch) int32 {
	shape, _ := hashes(name, words)
	if i, known := s.byShape[shape]; known {
		return i
	}
	if len(s.Looks) >= maxSamples {
		return -1
	}
	return s.add(shape)
}

// hashes returns those of a name's shape, and of its first segment and its length.
func hashes(name []byte, words *class.Scratch) (shape, root uint64) {
	sep := class.SeparatorOf(name)
	shape = hashed(basis, []byte{sep})
	for at, depth := 0, 0; at >= 0; depth++ {
		var p place
		p, at = placeAt(name, sep, at, depth, words)
		shape = hashed(hashed(shape, p.name(words)), []byte{0})
		if depth == 0 {
			root = shape
		}
		root++
	}
	return shape, root
}

// basis and prime are those of FNV-1a.
const (
	basis = 14695981039346656037
	prime = 1099511628211
)

func hashed(h uint64, p []byte) uint64 {
	for _, c := range p {
		h = (h ^ uint64(c)) * prime
	}
	return h
}

// maxNamed bounds the keys that are asked for their names.
const maxNamed = 1000

// Named returns the keys of one kind under a glob.
func (k *Kept) Named(glob string, kind source.Kind) [][]byte {
	var out [][]byte
	pattern := []byte(glob)
	for i := 0; i < k.N && len(out) < maxNamed; i++ {
		if k.Fact(i).Kind == kind && source.Glob(pattern, k.Name(i)) {
			out = append(out, k.Name(i))
		}
	}
	return out
}
