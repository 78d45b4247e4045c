package sample

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Fault represents a way in which a live key breaks its declaration.
type Fault string

// The faults that Soil plants.
const (
	NoTTL         Fault = "ttl missing"     // declared to expire, does not
	TTLTooLong    Fault = "ttl too long"    // expires later than declared
	UnexpectedTTL Fault = "unexpected ttl"  // declared never to expire, does
	WrongType     Fault = "wrong type"      // a list where a string is declared
	Legacy        Fault = "legacy name"     // written under a name of `was`
	Typo          Fault = "undeclared name" // a misspelt name under an owned prefix
	Stray         Fault = "nobody's name"   // a name that no declaration and no owner knows
	Foreign       Fault = "foreign"         // other software's key: no finding, only counted
)

// Faults lists all of them, in the order they are planted.
var Faults = []Fault{NoTTL, TTLTooLong, UnexpectedTTL, WrongType, Legacy, Typo, Stray, Foreign}

// Planted represents one key that was made wrong on purpose.
type Planted struct {
	Fault Fault
	Entry string // name of the declared key it belongs to, "" when it has none
	Name  []byte
}

// Manifest represents everything that was planted: what an audit has to find, no more
// and no less.
type Manifest []Planted

// Count returns how many keys have a fault.
func (m Manifest) Count(f Fault) int {
	n := 0
	for _, p := range m {
		if p.Fault == f {
			n++
		}
	}
	return n
}

// Soil spoils up to each keys per fault: some of the given ones in place, and
// new ones beside them. No key gets two faults. What a keyspace cannot show (it
// declares no `was`, say) is not planted.
func Soil(ks *keyspace.Keyspace, keys []Key, each int, opt Options) ([]Key, Manifest, error) {
	owner, err := newOwner(ks)
	if err != nil {
		return nil, nil, err
	}
	g := newMaker("dirt", opt)
	g.pools = newPools(ks, opt)
	s := &soil{maker: g, ks: ks, owner: owner, keys: slices.Clone(keys), taken: map[string]bool{}}
	for _, k := range keys {
		s.taken[string(k.Name)] = true
	}
	for _, spoil := range []func(int){s.inPlace, s.legacy, s.typos, s.strays, s.foreign} {
		spoil(each)
	}
	return soonestLast(s.keys), s.manifest, nil
}

type soil struct {
	*maker
	ks       *keyspace.Keyspace
	owner    *owner
	keys     []Key
	taken    map[string]bool
	manifest Manifest
}

// spoilers change a key, or say false when the fault cannot be shown on it.
// Keys that would expire while someone is looking are left alone.
var spoilers = []struct {
	fault Fault
	spoil func(*maker, *Key) bool
}{
	{NoTTL, func(_ *maker, k *Key) bool {
		k.TTL = 0
		return k.Decl.TTL.Policy == keyspace.TTLExpires
	}},
	{TTLTooLong, func(g *maker, k *Key) bool {
		k.TTL = 3*k.Decl.TTL.Max + time.Duration(1+g.IntN(72))*time.Hour
		return k.Decl.TTL.Policy == keyspace.TTLExpires
	}},
	{UnexpectedTTL, func(g *maker, k *Key) bool {
		k.TTL = time.Duration(1+g.IntN(72)) * time.Hour
		return k.Decl.TTL.Policy == keyspace.TTLNone
	}},
	{WrongType, func(g *maker, k *Key) bool {
		k.Kind, k.Rows = keyspace.List, [][][]byte{g.distinct(5, scalar.Type{})}
		if k.Decl.Kind != keyspace.String {
			k.Kind, k.Rows = keyspace.String, [][][]byte{{[]byte(g.json())}}
		}
		return k.TTL == 0 && k.Decl.TTL.Policy != keyspace.TTLExpires || k.TTL > 5*time.Minute
	}},
}

// perBug says how many keys of one declaration get the same fault: after such
// keys is one line of code, and it runs more than once.
const perBug = 15

func (s *soil) inPlace(each int) {
	of := map[*keyspace.Key][]int{}
	for i, k := range s.keys {
		of[k.Decl] = append(of[k.Decl], i)
	}
	spoilt := map[int]bool{}
	for _, sp := range spoilers {
		left := each
		for _, i := range s.Perm(len(s.keys)) {
			if left == 0 {
				break
			}
			left -= s.spoil(sp.fault, sp.spoil, of[s.keys[i].Decl], spoilt, min(left, perBug))
		}
	}
}

// spoil gives up to n of the keys a fault, and says how many got it.
func (s *soil) spoil(f Fault, spoil func(*maker, *Key) bool, keys []int, spoilt map[int]bool, n int) int {
	done := 0
	for _, i := range keys {
		k := s.keys[i]
		if done == n || spoilt[i] || !spoil(s.maker, &k) {
			continue
		}
		spoilt[i], s.keys[i] = true, k
		s.plant(f, k.Decl.Name, k.Name)
		done++
	}
	return done
}

func (s *soil) plant(f Fault, entry string, name []byte) {
	s.manifest = append(s.manifest, Planted{Fault: f, Entry: entry, Name: name})
}

// add plants a new key, if its name is free and belongs where the fault says.
func (s *soil) add(f Fault, entry string, k Key) bool {
	if s.taken[string(k.Name)] || s.owner.of(k.Name) != ranks[f] {
		return false
	}
	s.taken[string(k.Name)] = true
	s.keys = append(s.keys, k)
	s.plant(f, entry, k.Name)
	return true
}

func (s *soil) legacy(each int) {
	for _, e := range s.ks.Entries {
		for _, was := range e.Was {
			old := *e.Keys[0]
			old.Pattern = was
			for _, k := range s.plain(&old, each) {
				k.Decl, k.TTL = e.Keys[0], max(k.TTL, time.Hour)
				s.add(Legacy, e.Keys[0].Name, k)
			}
		}
	}
}

// perTypo says how many keys one misspelling makes: a typo is in code, and
// the code runs more than once.
const perTypo = 10

// typos misspells a literal of some patterns and writes keys under it.
func (s *soil) typos(each int) {
	for _, i := range s.Perm(len(s.keys)) {
		decl := s.keys[i].Decl
		right, wrong := s.misspelt(decl)
		if wrong == "" {
			continue
		}
		for _, k := range s.plain(decl, min(each, perTypo)) {
			k.Name = bytes.Replace(k.Name, []byte(right), []byte(wrong), 1)
			k.TTL = max(k.TTL, time.Hour)
			if s.add(Typo, "", k) {
				each--
			}
		}
		if each == 0 {
			return
		}
	}
}

// misspelt swaps two letters of a literal of the pattern; "" when it has no two
// letters to swap.
func (s *soil) misspelt(decl *keyspace.Key) (right, wrong string) {
	if decl == nil || len(decl.Pattern.Placeholders()) == 0 {
		return "", ""
	}
	elements := decl.Pattern.Elements()
	right = elements[s.IntN(len(elements))].Literal
	for range 4 * len(right) {
		i := s.IntN(max(1, len(right)-1))
		if i+1 < len(right) && lower(right[i]) && lower(right[i+1]) && right[i] != right[i+1] {
			return right, right[:i] + right[i+1:i+2] + right[i:i+1] + right[i+2:]
		}
	}
	return "", ""
}

func lower(c byte) bool { return 'a' <= c && c <= 'z' }

// strayNames are keys as they are found in every old Redis; the last is a Java
// object as Spring's default serializer writes it.
var strayNames = []func(*maker) string{
	func(g *maker) string { return fmt.Sprintf("test%d", g.IntN(100_000)) },
	func(g *maker) string { return fmt.Sprintf("debug/trace/%d", g.IntN(100_000)) },
	func(g *maker) string { return fmt.Sprintf("user:%d:tmp", g.IntN(100_000)) },
	func(g *maker) string { return fmt.Sprintf("OLD_CACHE_%d", g.IntN(100_000)) },
	func(g *maker) string { return "\xac\xed\x00\x05t\x00\x07" + g.pick(7, "0123456789") },
}

func (s *soil) strays(each int) {
	for i := range each {
		name := strayNames[i%len(strayNames)](s.maker)
		s.add(Stray, "", s.loose(name))
	}
}

func (s *soil) foreign(each int) {
	for i := range each * min(1, len(s.ks.Foreign)) {
		glob := s.ks.Foreign[i%len(s.ks.Foreign)].Text
		s.add(Foreign, "", s.loose(strings.ReplaceAll(glob, "*", s.randomWord()+":"+s.uuid())))
	}
}

// loose returns a string that no one declared.
func (s *soil) loose(name string) Key {
	return Key{Name: []byte(name), Kind: keyspace.String, Rows: [][][]byte{{[]byte(s.text())}}}
}

// owner tells whose a key is: the rank of the pattern that matches it.
type owner struct {
	matcher *match.Matcher
	items   []match.Item
}

// noOwner is the rank of a key that no pattern matches.
const noOwner = -1

// ranks says where the name of a planted key belongs.
var ranks = map[Fault]int{
	Legacy: keyspace.RankLegacy, Foreign: keyspace.RankForeign, Typo: keyspace.RankOwned, Stray: noOwner,
}

func newOwner(ks *keyspace.Keyspace) (*owner, error) {
	items, _ := ks.Items()
	m, _, err := match.Compile(items)
	if err != nil {
		return nil, fmt.Errorf("compile the keyspace's patterns: %w", err)
	}
	return &owner{m, items}, nil
}

func (o *owner) of(key []byte) int {
	if i := o.matcher.Match(key, nil); i != match.None {
		return o.items[i].Rank
	}
	return noOwner
}
