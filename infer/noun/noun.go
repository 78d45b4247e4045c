// Package noun gives the word for one of many: a draft names entries and placeholders with it.
//
// It is four rules of English and their exceptions. It knows no keys, and no irregular nouns.
//
// API: may change until 1.0.
package noun

import (
	"slices"
	"strings"
)

// alike are words for one that end with s.
var alike = []string{"news", "sms", "rss"}

// Singular returns the word for one of many, in lower case; a word for one is given back as it is.
func Singular(w string) string {
	ends := func(all ...string) bool {
		return slices.ContainsFunc(all, func(end string) bool { return strings.HasSuffix(w, end) })
	}
	switch {
	case len(w) <= 3 || slices.Contains(alike, w):
		return w
	case ends("ies"):
		return w[:len(w)-3] + "y"
	case len(w) > 4 && ends("sses", "xes", "ches", "shes"):
		return w[:len(w)-2]
	case ends("s") && !ends("ss", "us", "is"):
		return w[:len(w)-1]
	}
	return w
}
