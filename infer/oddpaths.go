package infer

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/keywright/keywright/infer/noun"
	"github.com/keywright/keywright/keyspace"
	keygroup "github.com/keywright/keywright/keyspace/group"
)

// family is words that keys have, and what they are of.
type family struct {
	words []string // one for each segment, "" for data
	sep   string
	keys  int64 // 0: of a known declaration, which needs none
	name  string
}

// knownFamily returns that of a declared pattern.
func knownFamily(k *keyspace.Key) family {
	text := k.Pattern.String()
	f := family{name: text, sep: ":"}
	for _, sep := range []string{":", "/", "|"} {
		if strings.Contains(text, sep) {
			f.sep = sep
			break
		}
	}
	for _, s := range strings.Split(text, f.sep) {
		if strings.ContainsAny(s, "{}\\") {
			s = ""
		}
		f.words = append(f.words, s)
	}
	return f
}

// Bounds of a typo: how long a word must be, and how many times more keys what it
// is a typo of must have.
const (
	minTypo  = 4
	typoKeys = 8
	mostTypo = 5 // keys with one
)

// typoOf finds a family that this path differs from in one letter of one word.
func (p *path) typoOf(families []family) (word, of string) {
	if p.keys > mostTypo {
		return "", ""
	}
	for _, f := range families {
		if f.sep != p.sep && !(f.sep == ":" && p.sep == "") || len(f.words) != len(p.segments) || f.keys > 0 &&
			f.keys < typoKeys*p.keys {
			continue
		}
		if w := p.differsBy(f); w != "" {
			return w, f.name
		}
	}
	return "", ""
}

// differsBy returns the word of a family that the path has with a letter wrong.
func (p *path) differsBy(f family) string {
	found := ""
	for i, s := range p.segments {
		switch {
		case !isLiteral(s.shape) || f.words[i] == "":
			if isLiteral(s.shape) != (f.words[i] != "") && !(f.words[i] == "") {
				return ""
			}
		case s.shape == f.words[i]:
		case found == "" && isTypo(s.shape, f.words[i]):
			found = f.words[i]
		default:
			return ""
		}
	}
	return found
}

// isTypo: one letter more, less, another one, or two that changed places; not the
// plural, and not another number.
func isTypo(a, b string) bool {
	if len(a) < minTypo || len(b) < minTypo || strings.EqualFold(a, b) || a+"s" == b || b+"s" == a ||
		noun.Singular(a) == noun.Singular(b) {
		return false
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	letters := func(s string) bool { return kinds[s[0]]&(isLower|isUpper) != 0 }
	switch len(b) - len(a) {
	case 1:
		return a[i:] == b[i+1:] && letters(b[i:])
	case 0:
		return a[i+1:] == b[i+1:] && letters(a[i:]) && letters(b[i:]) && i > 0 ||
			i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:] && letters(a[i:]) && letters(b[i:])
	}
	return false
}

// slipOf returns the path that nearly has the few keys of this one, nil if there is none: where the others
// have a date, a number or an id of one form, these have something else.
func (p *path) slipOf(paths []*path) *path {
	for _, q := range paths {
		if q == p || q.sep != p.sep || len(q.segments) != len(p.segments) || float64(p.keys) > slip*float64(q.keys) ||
			p.keys > mostTypo || p.kind() != q.kind() {
			continue
		}
		if p.nearly(q) {
			return q
		}
	}
	return nil
}

// slipOfKnown returns the declared pattern that nearly has these few keys, "" if there is none: only what
// is in place of its placeholders is not of their types.
func (p *path) slipOfKnown(families []family) string {
	for _, f := range families {
		if f.keys > 0 || p.keys > mostTypo || f.sep != p.sep || len(f.words) != len(p.segments) {
			continue
		}
		words := 0
		differs := false
		for i, s := range p.segments {
			switch {
			case f.words[i] == "":
				differs = differs || isLiteral(s.shape)
			case s.shape != f.words[i]:
				differs = true
			default:
				words++
			}
		}
		if !differs && words > 0 {
			return f.name
		}
	}
	return ""
}

// nearly: equal but for one segment, which is of a narrow class there and of
// digits here.
func (p *path) nearly(q *path) bool {
	odd := 0
	for i, s := range p.segments {
		t := q.segments[i]
		switch {
		case s.open != t.open || s.shut != t.shut:
			return false
		case s.shape == t.shape && slices.Equal(s.words, t.words):
		case len(t.shape) == 1 && isDated(class(t.shape[0])) && hasClass(s.shape) && len(s.words) == 0:
			odd++
		default:
			return false
		}
	}
	return odd == 1
}

func isDated(c class) bool {
	return c == day || c == dayHour || c == month || c == compact || c == week || c == uuid || c == ulid
}

// Bounds of noise: how many names with a key or two, that share their first word
// with nothing, are still taken for names that were given.
const (
	maxLonely  = 60
	lonelyKeys = 2
	weakShare  = 0.005
	manyKeys   = 2000
)

// noisePaths returns the paths that are noise: too many names of which each is by itself,
// and patterns without a word in a large keyspace.
func noisePaths(paths []*path, all int64) []*path {
	roots := map[string]int64{}
	for _, p := range paths {
		roots[p.root()] += p.keys
	}
	var lonely, weak []*path
	for _, p := range paths {
		switch {
		case all >= manyKeys && float64(p.keys) < weakShare*float64(all) && (p.isWeak() || p.root() == "" &&
			p.keys <= lonelyKeys):
			weak = append(weak, p)
		case roots[p.root()] <= lonelyKeys:
			lonely = append(lonely, p)
		}
	}
	if len(lonely) <= maxLonely {
		lonely = nil
	}
	return append(weak, lonely...)
}

// root returns the first segment with its separator, "" where that is no word.
func (p *path) root() string {
	if len(p.segments) == 0 || !isLiteral(p.segments[0].shape) || len(p.segments[0].shape) < 2 ||
		!isNamed(p.segments[0].shape) {
		return ""
	}
	return p.sep + "\x00" + p.segments[0].open + p.segments[0].shape
}

// isWeak: no word of three letters, or signs that no name has.
func (p *path) isWeak() bool {
	strong, many := false, float64(p.keys) >= keygroup.LeastKeys(math.MaxInt)
	for _, s := range p.segments {
		if !isNamed(s.shape) && !(many && isSpelled(s.shape)) {
			return true
		}
		strong = strong || len(s.words) > 0 || slices.ContainsFunc(strings.FieldsFunc(s.shape, isNoLetter),
			func(w string) bool { return len(w) >= 3 }) // bytes: one letter of an alphabet without small ones is a word
	}
	return !strong
}

func isNoLetter(r rune) bool { return !unicode.IsLetter(r) }

// isSpelled reports whether what is no letter of ASCII is a letter of another alphabet.
func isSpelled(shape string) bool {
	return isNamed(strings.Map(func(r rune) rune {
		if r >= utf8.RuneSelf && unicode.IsLetter(r) {
			return 'x'
		}
		return r
	}, shape))
}

// isNamed: letters, digits and what is between the words of names.
func isNamed(shape string) bool {
	for i := range len(shape) {
		if c := shape[i]; !isClass(c) && kinds[c]&(isLower|isUpper|isDigit) == 0 && !strings.ContainsRune("_-.@{}=&?+/|",
			rune(c)) {
			return false
		}
	}
	return true
}

// slip is the share of keys that differ from the others and are taken for
// mistakes.
const slip = 0.02
