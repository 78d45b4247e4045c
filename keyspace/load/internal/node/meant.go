package node

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/internal/typo"
	"github.com/keywright/keywright/keyspace/scalar"
	yaml "go.yaml.in/yaml/v4"
)

// otherProperties are properties as other tools and languages call them.
var otherProperties = map[string]string{
	"pattern": "key", "name": "key", "template": "key", "kind": "type", "expire": "ttl", "expires": "ttl", "expiry": "ttl",
	"expiration": "ttl",
	"limit":      "rate", "desc": "doc", "description": "doc", "comment": "doc", "indices": "index", "fencing": "fence",
	"schema": "value", "elements": "member",
	"items": "member", "members": "member", "max_len": "maxlen",
}

// otherWays are properties for which there is another way: what must be allowed for it, and what to do.
var otherWays = map[string][2]string{"lanes": {"order", laneWay}, "lane": {"order", laneWay},
	"priority": {"order", laneWay}, "priorities": {"order", laneWay}}

const laneWay = "declare the lanes under vars, as in lane: high|normal|low, put {lane} into the key, write order: lane"

// otherSections are sections that people look for, and where it goes.
var otherSections = map[string]string{
	"entities": "entity", "queues": "queue", "locks": "lock", "caches": "cache", "streams": "stream", "scripts": "script",
	"rankings": "ranking",
	"counters": "counter", "hashes": "hash", "sets": "set", "lists": "list", "strings": "string",
}

// Misspelt says whether one of the properties was meant as the one that is missing.
func Misspelt(n *yaml.Node, missing string, known []string) bool {
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		if !slices.Contains(known, name) &&
			(otherProperties[name] == missing || typo.Nearest(name, append([]string{missing}, known...)) == missing) {
			return true
		}
	}
	return false
}

// meant proposes what a property was meant as.
func (r *Reader) meant(name, what string, allowed []string) string {
	if other := otherProperties[name]; slices.Contains(allowed, other) {
		return Proposal(other)
	}
	if way := otherWays[name]; slices.Contains(allowed, way[0]) {
		return way[1]
	}
	if typ := otherSections[name]; typ != "" && what == "the file" {
		return "write its entries under keys, each with type: " + typ
	}
	if (name == "entries" || name == "patterns") && what == "the file" {
		return Proposal("keys")
	}
	return r.Near(name, allowed)
}

var (
	questioned = regexp.MustCompile(`^(\w+)\?$`)
	bareRange  = regexp.MustCompile(`^-?\d*\.\.-?\d*$`)
	thousands  = regexp.MustCompile(`^(\d{1,12})([kKmM])$`)
)

// MeantType proposes what the text of a scalar type was meant as, "" if nothing is
// known.
func MeantType(text, word string) string {
	switch {
	case questioned.MatchString(word):
		return Proposal(strings.Replace(text, word, word[:len(word)-1], 1) + " optional")
	case word == "optional" && len(text) > len(word):
		return Proposal(strings.TrimSpace(strings.Replace(text, word, "", 1)) + " optional")
	case bareRange.MatchString(word) && len(word) > len(".."):
		return Proposal("int " + text)
	}
	return Proposal(otherNames[strings.ToLower(word)])
}

// MeantEnum proposes the enum that a list of words was meant as.
func MeantEnum(n *yaml.Node, what string) string {
	var words []string
	for _, item := range n.Content {
		words = append(words, item.Value)
	}
	text := strings.Join(words, "|")
	if t, err := scalar.Parse(text, nil); err != nil || t.Kind != scalar.Enum {
		return "an enum is written as a|b|c"
	}
	if name, ok := strings.CutPrefix(what, "the type of "); ok {
		text = name + ": " + text
	}
	return Proposal(text)
}

// meantNumber proposes the number that 10k was meant as.
func meantNumber(text string) string {
	m := thousands.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	n, _ := strconv.ParseInt(m[1], 10, 64)
	return Proposal(strconv.FormatInt(n*map[string]int64{"k": 1000, "m": 1_000_000}[strings.ToLower(m[2])], 10))
}

// maxProposals ends the search for near names in a file that is wrong all
// over: comparing everything with everything would take minutes.
const maxProposals = 100

// Near proposes the candidate that word was probably meant to be, "" if none is
// near.
func (r *Reader) Near(word string, candidates []string) string {
	if len(*r.Out) > maxProposals {
		return ""
	}
	return Proposal(typo.Nearest(word, candidates))
}

// NearKey returns near over the keys of a map and more.
func NearKey[V any](r *Reader, word string, m map[string]V, more ...string) string {
	if len(*r.Out) > maxProposals {
		return ""
	}
	return r.Near(word, append(slices.Sorted(maps.Keys(m)), more...))
}

// Proposal returns the way out that asks whether a text was meant, "" if there is none.
func Proposal(text string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %s?", text)
}

// otherNames are types as other languages call them.
var otherNames = map[string]string{
	"string": "text", "str": "text", "varchar": "text", "integer": "int", "number": "int", "int64": "int", "long": "int",
	"double": "float", "decimal": "float",
	"boolean": "bool", "binary": "bytes", "guid": "uuid", "datetime": "timestamp", "time": "timestamp", "object": "json",
	"map": "json", "any": "text", "enum": "a|b|c",
}
