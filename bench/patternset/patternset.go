// Package patternset makes key patterns as teams write them (segments, locks
// with underscores, hash tags, dates) in any number, and keys that match them.
// No two patterns of a set overlap, so every way of matching must give the same
// answer.
//
// It is not a worst case for an automaton; that is fuzzed in the root module.
package patternset

import (
	"strings"

	"github.com/keywright/keywright/bench/keygen"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Set represents a list of patterns.
type Set struct{ templates []*keygen.Template }

// Max is the largest set: services × resources × patterns per resource.
const Max = 16 * 16 * perResource

// perResource is how many patterns a resource has; a walk through the shapes
// with a step prime to their number keeps them different.
const (
	perResource = 6
	step        = 5
)

// New returns n patterns, at most Max; the smaller set is a prefix of the
// larger one.
func New(n int) *Set {
	s := &Set{}
	for i := range min(n, Max) {
		pair := i / perResource
		service, resource := services[pair%16], resources[(pair/16+pair)%16]
		text := strings.NewReplacer("S", service, "R", resource).Replace(shapes[i*step%len(shapes)])
		s.templates = append(s.templates, keygen.MustParse(text, makers))
	}
	return s
}

// Texts returns the patterns in the keyspace language.
func (s *Set) Texts() []string {
	texts := make([]string, len(s.templates))
	for i, t := range s.templates {
		texts[i] = t.Text
	}
	return texts
}

// Patterns parses the set with its types.
func (s *Set) Patterns() ([]*pattern.Pattern, error) {
	types := map[string]scalar.Type{}
	for name, p := range placeholders {
		t, err := scalar.Parse(p.kind, nil)
		if err != nil {
			return nil, err
		}
		types[name] = t
	}
	resolve := func(name string) (scalar.Type, bool) { t, ok := types[name]; return t, ok }
	patterns := make([]*pattern.Pattern, len(s.templates))
	for i, t := range s.templates {
		var err error
		if patterns[i], err = pattern.Parse(t.Text, resolve); err != nil {
			return nil, err
		}
	}
	return patterns, nil
}

// Key represents a generated key and the pattern it belongs to, -1 for none.
type Key struct {
	Name  []byte
	Owner int
}

// Keys makes keys, in random order, of all patterns alike; 3 % match none.
func (s *Set) Keys(n int, seed uint64) []Key {
	r, keys, arena := keygen.New(seed), make([]Key, n), make([]byte, 0, n*48)
	for i := range keys {
		owner := int(r.Below(int64(len(s.templates))))
		from := len(arena)
		arena = s.templates[owner].Append(arena, r, uint64(i))
		if r.Chance(30) {
			owner = -1
			spoil := spoilers[r.Below(int64(len(spoilers)))]
			arena = spoil(arena, from)
		}
		keys[i] = Key{arena[from:len(arena):len(arena)], owner}
	}
	return keys
}

// spoilers turn the key from arena[from:] on into one that no pattern has.
var spoilers = []func(arena []byte, from int) []byte{
	func(arena []byte, _ int) []byte { return append(arena, ":v2"...) },
	func(arena []byte, from int) []byte { arena[from]++; return arena }, // no service begins so
	func(arena []byte, from int) []byte { return append(arena[:from], "celery-task-meta-4711"...) },
	func(arena []byte, _ int) []byte { return append(arena, 0xff, ':') },
}

// S is the service, R the resource.
var shapes = []string{
	"S:R:detail:{id}",
	"S:R:{ref}",
	"S:R:stats:{id}:{day}",
	"S_R_lock_{id}",
	"S:R:{ref}:items",
	"S:R:{#{id}}:stock",
	"S:R:by:email:{name}",
	"S:R:page:{lang}:{label}",
	"S:R:{serial}:events",
	"S:R:session:{hash}",
	"S:R:ranking:{day}",
	"S:R:window:{id}:{at}",
	"S:R:idx:label:{label}",
}

// No service begins with the letter after another's first letter (a spoiler
// relies on it).
var (
	services = []string{
		"account", "auth", "catalog", "checkout", "cms", "exchange", "geo", "gift",
		"invoice", "inventory", "kiosk", "mail", "order", "query", "search", "upload",
	}
	resources = []string{
		"address", "basket", "comment", "coupon", "device", "feed", "image", "item",
		"label", "message", "payment", "product", "profile", "review", "ticket", "vendor",
	}
)

type placeholder struct {
	kind   string // in the keyspace language
	regexp string // the same as a regexp, or somewhat more, which is in the regexp's favour
	make   keygen.Maker
}

var placeholders = map[string]placeholder{
	"id":     {"int", `0|-?[1-9][0-9]*`, keygen.ID},
	"ref":    {"uuid", `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, keygen.UUID},
	"serial": {"ulid", `[0-7][0-9A-HJKMNP-TV-Z]{25}`, keygen.ULID},
	"hash":   {"hex 32", `[0-9a-f]{32}`, keygen.Hex32},
	"day":    {"date", `[0-9]{4}-[0-9]{2}-[0-9]{2}`, keygen.Day},
	"label":  {"slug", `[a-z0-9][a-z0-9_-]*`, keygen.Slug},
	"name":   {"text", `[^:]+`, keygen.Email},
	"lang":   {"ja|en|ko", `ja|en|ko`, keygen.OneOf("ja", "en", "ko")},
	"at":     {"unix_s", `0|[1-9][0-9]*`, keygen.UnixSeconds},
}

var makers = func() map[string]keygen.Maker {
	all := map[string]keygen.Maker{}
	for name, p := range placeholders {
		all[name] = p.make
	}
	return all
}()
