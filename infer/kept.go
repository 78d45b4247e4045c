package infer

import (
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
	maxKeptName = 4096
	factsAtOnce = 1 << 14
)

// fact describes what is remembered of one key besides its name.
type fact struct {
	at     uint32 // of the name: chunk and place in it
	length uint16
	kind   source.Kind
	most   int32 // elements, -1 unknown
	sample int32 // of what its value looks like; -1 none
	ttl    int64
	bytes  int64
}

// kept holds the first keys of a keyspace.
type kept struct {
	names [][]byte
	facts [][]fact
	n     int
}

// keep remembers a key. It is false if there is no room.
func (k *kept) keep(key *source.Key, sample int32) bool {
	if k.n == maxKept {
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
	if k.n%factsAtOnce == 0 {
		k.facts = append(k.facts, make([]fact, 0, factsAtOnce))
	}
	f := fact{at: uint32(at), length: uint16(len(key.Name)), kind: key.Kind, most: -1, sample: sample, ttl: int64(key.TTL),
		bytes: key.Bytes}
	if key.Facts != nil {
		f.most = int32(min(key.Facts.Elements, 1<<31-1))
	}
	k.facts[len(k.facts)-1] = append(k.facts[len(k.facts)-1], f)
	k.n++
	return true
}

func (k *kept) fact(i int) *fact { return &k.facts[i/factsAtOnce][i%factsAtOnce] }

func (k *kept) name(i int) []byte {
	f := k.fact(i)
	at := int(f.at % chunk)
	return k.names[f.at/chunk][at : at+int(f.length) : at+int(f.length)]
}

// without returns the keys that a matcher does not know. Their names are shared.
func (k *kept) without(m *match.Matcher) *kept {
	out := &kept{names: k.names}
	for i := range k.n {
		if t := m.Match(k.name(i), nil); t != match.None {
			continue
		}
		if out.n%factsAtOnce == 0 {
			out.facts = append(out.facts, make([]fact, 0, factsAtOnce))
		}
		out.facts[len(out.facts)-1] = append(out.facts[len(out.facts)-1], *k.fact(i))
		out.n++
	}
	return out
}

// samples describes what values look like, by the shape of their keys.
type samples struct {
	byShape map[uint64]int32
	looks   []sample
	roots   [1 << 16]uint16 // keys by their first segment and their length, hashed
}

type sample struct {
	content
	keys, asked int
}

// Bounds of the sample: when half of the shapes are taken, only those whose
// beginning was seen before get one, so that noise does not use them up.
const (
	maxSamples = 8000
	seenBefore = 4
)

// wants says whether the value of the next key of a shape is to be read, and
// where what it looks like is kept.
func (s *samples) wants(name []byte, words *scratch) (int32, bool) {
	shape, root := hashes(name, words)
	if n := &s.roots[root%uint64(len(s.roots))]; *n < 1<<16-1 {
		*n++
	}
	i, known := s.byShape[shape]
	if !known {
		n := s.roots[root%uint64(len(s.roots))]
		if n > 2*maxValues || len(s.looks) >= maxSamples || len(s.looks) >= maxSamples/2 && n < seenBefore {
			return -1, false
		}
		i = s.add(shape)
	}
	look := &s.looks[i]
	look.keys++
	if look.asked >= firstValues && (look.asked >= maxValues || look.keys&1023 != 0) {
		return -1, false
	}
	look.asked++
	return i, true
}

func (s *samples) add(shape uint64) int32 {
	if s.byShape == nil {
		s.byShape = map[uint64]int32{}
	}
	i := int32(len(s.looks))
	s.looks = append(s.looks, sample{})
	s.byShape[shape] = i
	return i
}

// of returns the place for a value that came without being asked for.
func (s *samples) of(name []byte, words *scratch) int32 {
	shape, _ := hashes(name, words)
	if i, known := s.byShape[shape]; known {
		return i
	}
	if len(s.looks) >= maxSamples {
		return -1
	}
	return s.add(shape)
}

// hashes returns those of a name's shape, and of its first segment and its length.
func hashes(name []byte, words *scratch) (shape, root uint64) {
	sep := separatorOf(name)
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

// named returns the keys of one kind under a glob.
func (k *kept) named(glob string, kind source.Kind) [][]byte {
	var out [][]byte
	pattern := []byte(glob)
	for i := 0; i < k.n && len(out) < maxNamed; i++ {
		if k.fact(i).kind == kind && source.Glob(pattern, k.name(i)) {
			out = append(out, k.name(i))
		}
	}
	return out
}
