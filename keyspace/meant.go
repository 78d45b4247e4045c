package keyspace

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/internal/typo"
	"go.yaml.in/yaml/v4"
)

// otherProperties are properties as other tools and languages call them.
var otherProperties = map[string]string{
	"pattern": "key", "name": "key", "template": "key", "kind": "type", "expire": "ttl", "expires": "ttl", "expiry": "ttl", "expiration": "ttl",
	"limit": "rate", "desc": "doc", "description": "doc", "comment": "doc", "indices": "index", "fencing": "fence", "schema": "value", "elements": "member",
	"items": "member", "members": "member", "max_len": "maxlen", "lanes": "order", "priority": "order",
}

// otherTypes are types of entries as others call them.
var otherTypes = map[string]string{
	"sorted_set": "zset", "sortedset": "zset", "sorted-set": "zset", "geo": "zset", "leaderboard": "ranking", "map": "hash", "object": "hash", "dict": "hash",
	"array": "list", "mutex": "lock", "kv": "string", "text": "string", "limiter": "ratelimit", "rate_limit": "ratelimit",
	"json": "string, with value: json", "int": "counter, or string with value: int", "bitmap": "string, with value: bytes",
	"hyperloglog": "string, with value: bytes", "hll": "string, with value: bytes", "pubsub": "an entry under channels instead of keys",
	"channel": "an entry under channels instead of keys",
}

// otherSections are sections that people look for, and where it goes.
var otherSections = map[string]string{
	"entities": "entity", "queues": "queue", "locks": "lock", "caches": "cache", "streams": "stream", "scripts": "script", "rankings": "ranking",
	"counters": "counter", "hashes": "hash", "sets": "set", "lists": "list", "strings": "string",
}

// misspelt says whether one of the properties was meant as the one that is missing.
func misspelt(n *yaml.Node, missing string, known []string) bool {
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		if !slices.Contains(known, name) && (otherProperties[name] == missing || typo.Nearest(name, append([]string{missing}, known...)) == missing) {
			return true
		}
	}
	return false
}

// meant proposes what a property was meant as.
func (r *reader) meant(name, what string, allowed []string) string {
	if other := otherProperties[name]; slices.Contains(allowed, other) {
		return proposal(other)
	}
	if typ := otherSections[name]; typ != "" && what == "the file" {
		return "write its entries under keys, each with type: " + typ
	}
	if (name == "entries" || name == "patterns") && what == "the file" {
		return proposal("keys")
	}
	return r.near(name, allowed)
}

// unquoted is a line of YAML without what is in quotes and in comments.
func unquoted(line string) string { return quotedText.ReplaceAllString(line, `""`) }

var quotedText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|\s#.*`)

// bare is a line that lacks its colon.
var bare = regexp.MustCompile(`^(\s*)([A-Za-z_][\w-]*)\s*$`)

// lacksColon is the line before another, empty ones left out, if it is a name alone.
func (r *reader) lacksColon(line int) (Pos, string, bool) {
	for line--; line >= 1; line-- {
		text := unquoted(r.line(line))
		if strings.TrimSpace(text) == "" || strings.HasPrefix(strings.TrimSpace(text), "#") {
			continue
		}
		m := bare.FindStringSubmatch(text)
		if m == nil {
			return Pos{}, "", false
		}
		return Pos{File: r.file, Line: line, Column: len(m[1]) + 1, EndColumn: len(m[1]) + 1 + len(m[2])}, m[2], true
	}
	return Pos{}, "", false
}

var (
	questioned = regexp.MustCompile(`^(\w+)\?$`)
	bareRange  = regexp.MustCompile(`^-?\d*\.\.-?\d*$`)
	thousands  = regexp.MustCompile(`^(\d{1,12})([kKmM])$`)
)

// meantType proposes what the text of a scalar type was meant as, "" if nothing is
// known.
func meantType(text, word string) string {
	switch {
	case questioned.MatchString(word):
		return proposal(strings.Replace(text, word, word[:len(word)-1], 1) + " optional")
	case word == "optional" && len(text) > len(word):
		return proposal(strings.TrimSpace(strings.Replace(text, word, "", 1)) + " optional")
	case bareRange.MatchString(word) && len(word) > len(".."):
		return proposal("int " + text)
	}
	return proposal(otherNames[strings.ToLower(word)])
}

// meantNumber proposes the number that 10k was meant as.
func meantNumber(text string) string {
	m := thousands.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	n, _ := strconv.ParseInt(m[1], 10, 64)
	return proposal(strconv.FormatInt(n*map[string]int64{"k": 1000, "m": 1_000_000}[strings.ToLower(m[2])], 10))
}

// longUnits are units as words.
var longUnits = map[string]string{
	"second": "s", "seconds": "s", "sec": "s", "secs": "s", "minute": "m", "minutes": "m", "min": "m", "mins": "m", "hour": "h", "hours": "h", "hr": "h",
	"hrs": "h", "day": "d", "days": "d", "week": "w", "weeks": "w", "milliseconds": "ms", "H": "h", "S": "s", "D": "d", "W": "w",
}

// meantTTL proposes what a ttl was meant as that is a number and a unit in words, or a
// range alone.
func meantTTL(words []word) string {
	text := words[0].text
	if len(words) == 2 && (longUnits[words[1].text] != "" || unitSize(words[1].text) > 0) {
		text += words[1].text
	} else if len(words) > 1 {
		return ""
	}
	if lo, hi, ok := strings.Cut(text, ".."); ok && len(words) == 1 {
		if a, fault := duration(word{lo, 0}); fault == nil {
			if b, fault := duration(word{hi, 0}); fault == nil {
				lo, hi := min(a, b), max(a, b)
				return proposal(FormatDuration(lo) + " in " + FormatDuration(lo) + ".." + FormatDuration(hi))
			}
		}
	}
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	unit := text[digits:]
	if long := longUnits[unit]; long != "" {
		unit = long
	} else if long := longUnits[strings.ToLower(unit)]; long != "" {
		unit = long
	}
	if digits == 0 || unitSize(unit) == 0 || unit == text[digits:] && len(words) == 1 {
		return ""
	}
	if _, fault := duration(word{text[:digits] + unit, 0}); fault != nil {
		return ""
	}
	return proposal(text[:digits] + unit)
}
