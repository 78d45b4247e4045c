package program

import (
	"cmp"
	"slices"
	"strings"

	"github.com/keywright/keywright/infer/page/internal/regex"
	"github.com/keywright/keywright/infer/page/internal/shape"
	"github.com/keywright/keywright/infer/page/internal/wording"
)

// A listing is a part of a program that names keys one after another: an object, an
// array, an enum or a class whose own name says so. times is one that names times.
var (
	keysOpen = regex.Lazy(
		`(?im)\b\w*(?:redis_?\w*(?:key|const|prefix)|cache_?key|key_?prefix|prefixes|keys\b|keyspace|key_?names?\b)\w*\b[^"']*[{(\[]?\s*$`)
	redisOpen = regex.Lazy(`(?i)redis_?\w*(?:key|const)`)
	timesOpen = regex.Lazy(`(?i)\b\w*(?:ttls?|expir\w*|lifetimes?)\w*\b[^"']*[{(\[]\s*$`)
)

// around describes what lines of a block are in: the line that opens it, and those that open
// what that line is in.
type around struct {
	at        int
	open, all string
}

// Parents are, for each line of a program, what it is in.
func Parents(lines []string) []around {
	out := make([]around, len(lines))
	var above []around
	last := ""
	for i, l := range lines {
		t := strings.TrimSpace(l)
		if t == "" || IsComment(t) {
			continue
		}
		for len(above) > 0 && above[len(above)-1].at >= Depth(l) {
			above = above[:len(above)-1]
		}
		if n := len(above); n > 0 {
			out[i] = above[n-1]
		}
		open := t
		if t == "{" { // a brace in a line of its own belongs to the line above
			open = last + " {"
		}
		if strings.ContainsAny(t[len(t)-1:], "{[(") || opensByWord.MatchString(t) {
			all := out[i].all + "\n" + open
			above = append(above, around{Depth(l), open, all[max(0, len(all)-maxParents):]})
		}
		last = t
	}
	return out
}

// maxParents bounds the bytes of the lines that open what a line is in.
const maxParents = 500

// opensByWord: class X, module Y, whose brace is in the next line, or that has none.
var opensByWord = regex.Lazy(`^(?:export\s+|public\s+|final\s+|static\s+)*(?:class|enum|interface|object|module|trait)\s+\w+`)

// keysFile is a heading that names a file of keys.
var keysFile = regex.Lazy(`(?i)redis[\s_.-]?(?:keys?|const\w*)\b|\bkeys?\.\w+$`)

// within notes what a line of a program is in.
func (c *Reader) within(in around, section string) {
	file := in.open != "" && keysFile.MatchString(section)
	c.listing = file || keysOpen.MatchString(in.all)
	c.redis = file && strings.Contains(strings.ToLower(section), "redis") || redisOpen.MatchString(in.all)
}

// given: a string is what a name, a place in an array or an enum is given.
var given = regex.Lazy(`(?:[:=(,\[]|=>)\s*(?:[frbu$@]{1,2})?$`)

// prefixLine is a string with which keys begin: "user:session:", "clinic_token_".
var (
	manyWords  = regex.Lazy(`^[A-Za-z][\w-]*(?::[\w-]+)+:$`)
	oneWord    = regex.Lazy(`^[A-Za-z][\w-]+:$`)
	underlined = regex.Lazy(`^[a-z][a-z0-9]*(?:_[a-z0-9]+)+_?$`)
)

// inKeys returns how a string reads that a part of a program for keys gives a name; false if
// it says nothing about one.
func inKeys(text string, listing, redis bool) (raw string, prefix, ok bool) {
	switch {
	case manyWords.MatchString(text), listing && oneWord.MatchString(text):
		return text + "{}", true, true
	case redis && underlined.MatchString(text):
		if strings.HasSuffix(text, "_") {
			return text + "{}", true, true
		}
		return text, false, true
	}
	return "", false, false
}

// commented returns the comment lines right above a line, without their marks.
func commented(lines []string, i int) []string {
	var out []string
	for i--; i >= 0 && len(out) < maxComment; i-- {
		t := strings.TrimSpace(lines[i])
		if !IsComment(t) && t != "*/" && t != "*" {
			break
		}
		out = append(out, markup.ReplaceAllString(strings.Trim(t, "#/-*; \t"), " "))
	}
	slices.Reverse(out)
	return out
}

// maxComment says how many lines of a comment above a key are read.
const maxComment = 12

// aboveKey returns the type and the TTL that the comment above a line tells.
func aboveKey(lines []string, i int) (typ, ttl string) {
	for _, l := range commented(lines, i) {
		if NamesAnother(l, lines[i]) {
			break // what follows it goes on about the other key
		}
		typ = cmp.Or(typ, PartType(l))
		ttl = cmp.Or(ttl, wording.TTLOfRemark(l))
	}
	return typ, ttl
}

// verbIn returns the type that a command in a remark tells: uid of conId (hSet).
func verbIn(text string) string {
	for _, w := range shape.WordIn.FindAllString(text, -1) {
		if typ, known := verbOf(strings.ToUpper(w)); known && typ != "" && len(w) > 3 {
			return typ
		}
	}
	return ""
}
