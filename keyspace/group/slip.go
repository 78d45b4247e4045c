package group

import (
	"bytes"
	"strings"
)

// slips lists segments that a program writes by mistake: what a language prints for nothing, and what a format has
// where a value belongs. Compared in small letters.
var slips = map[string]bool{"null": true, "undefined": true, "nan": true, "none": true, "nil": true, "<nil>": true,
	"[object object]": true, "[object promise]": true, "%s": true, "%d": true, "%v": true, "%i": true, "<none>": true,
	"(null)": true, "nullptr": true, "<null>": true}

// isSlip reports whether a segment is there by mistake of the program that wrote the key.
func isSlip(segment []byte) bool {
	return len(segment) <= 40 && (slips[strings.ToLower(string(segment))] || isUnfilled(segment))
}

// unfilled lists what is around the name of a value in a format that was not filled in.
var unfilled = [][2]string{{"${", "}"}, {"{{", "}}"}, {"#{", "}"}, {"<", ">"}, {"{", "}"}, {"%(", ")s"}}

// isUnfilled reports whether a segment is the place of a value in a format. Braces alone may be a hash tag: only what
// is named as an id is is meant as one.
func isUnfilled(segment []byte) bool {
	for _, u := range unfilled {
		inner, begins := bytes.CutPrefix(segment, []byte(u[0]))
		inner, ends := bytes.CutSuffix(inner, []byte(u[1]))
		if begins && ends && len(inner) > 0 && onlyName(inner) && (u[0] != "{" || namesID(string(inner))) {
			return true
		}
	}
	return false
}

func onlyName(p []byte) bool {
	for _, c := range p {
		if !isLetter(c) && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// namesID reports whether a word is what programs call an identifier.
func namesID(word string) bool {
	word = strings.ToLower(word)
	return word == "key" || word == "name" || word == "uuid" || word == "id" || strings.HasSuffix(word, "_id") ||
		strings.HasSuffix(word, ".id") || strings.HasSuffix(word, "name") && strings.Contains(word, "_")
}

// EmptySegment is the slip of a name with a separator too many.
const EmptySegment = "empty segment"

// Slip returns the segment of a name that a program wrote by mistake, as in user:null, user:%s and user:7:, "" if there
// is none. A separator too many at the beginning is none: caches are named so (books::42 by Spring, :1:books by
// Django).
func Slip(name []byte) string {
	sep := SeparatorOf(name)
	if sep == 0 {
		return ""
	}
	at := 0
	for segment := range bytes.SplitSeq(name, []byte{sep}) {
		last := at == bytes.Count(name, []byte{sep})
		switch {
		case len(segment) == 0 && (sep == ':' || sep == '|') && (at > 1 || last):
			return EmptySegment
		case isSlip(segment):
			return string(segment)
		}
		at++
	}
	return ""
}
