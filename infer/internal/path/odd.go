package path

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/keywright/keywright/infer/internal/class"
	"github.com/keywright/keywright/infer/internal/tree"
	"github.com/keywright/keywright/infer/noun"
	"github.com/keywright/keywright/keyspace"
	keygroup "github.com/keywright/keywright/keyspace/group"
)

// Family is words that keys have, and what they are of.
type Family struct {
	Words    []string // one for each segment, "" for data
	Sep      string
	Keys     int64 // as far as they are counted
	Name     string
	Declared bool // in a known declaration, which needs no keys
}

// KnownFamily returns that of a declared pattern with so many keys.
func KnownFamily(k *keyspace.Key, keys int64) Family {
	text := k.Pattern.String()
	f := Family{Name: text, Sep: ":", Keys: keys, Declared: true}
	for _, sep := range []string{":", "/", "|"} {
		if strings.Contains(text, sep) {
			f.Sep = sep
			break
		}
	}
	for _, s := range strings.Split(text, f.Sep) {
		if strings.ContainsAny(s, "{}\\") {
			s = ""
		}
		f.Words = append(f.Words, s)
	}
	return f
}

// Bounds of a typo: how long a word must be, and how many times more keys what it
// is a typo of must have.
const (
	minTypo  = 4
	typoKeys = 8
	mostTypo = 5   // keys with one
	rareTypo = 100 // times more keys, of more keys with one than that
)

// TypoOf finds a family that this path differs from in one letter of one word. It is sure where the path has few keys,
// or a small share of those of the family; else it may be a typo.
func (p *Path) TypoOf(families []Family) (word string, of Family, sure bool) {
	for _, f := range families {
		likely := f.Declared || f.Keys >= typoKeys*p.Keys
		sure := likely && p.Keys <= mostTypo || f.Keys >= rareTypo*p.Keys
		if f.Sep != p.Sep && !(f.Sep == ":" && p.Sep == "") || len(f.Words) != len(p.Segments) || !likely ||
			!sure && word != "" {
			continue
		}
		if w := p.differsBy(f); w != "" && sure {
			return w, f, true
		} else if w != "" {
			word, of = w, f
		}
	}
	return word, of, false
}

// differsBy returns the word of a family that the path has with a letter wrong.
func (p *Path) differsBy(f Family) string {
	found := ""
	for i, s := range p.Segments {
		switch {
		case !IsLiteral(s.Shape) || f.Words[i] == "":
			if IsLiteral(s.Shape) != (f.Words[i] != "") && !(f.Words[i] == "") {
				return ""
			}
		case s.Shape == f.Words[i]:
		case found == "" && isTypo(s.Shape, f.Words[i]):
			found = f.Words[i]
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
	letters := func(s string) bool { return class.Kinds[s[0]]&(class.IsLower|class.IsUpper) != 0 }
	switch len(b) - len(a) {
	case 1:
		return a[i:] == b[i+1:] && letters(b[i:])
	case 0:
		return a[i+1:] == b[i+1:] && letters(a[i:]) && letters(b[i:]) && i > 0 ||
			i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:] && letters(a[i:]) && letters(b[i:])
	}
	return false
}

// SlipOf returns the path that nearly has the few keys of this one, nil if there is none: where the others
// have a date, a number or an id of one form, these have something else.
func (p *Path) SlipOf(paths []*Path) *Path {
	for _, q := range paths {
		if q == p || q.Sep != p.Sep || len(q.Segments) != len(p.Segments) || float64(p.Keys) > Slip*float64(q.Keys) ||
			p.Keys > mostTypo || p.Kind() != q.Kind() {
			continue
		}
		if p.nearly(q) {
			return q
		}
	}
	return nil
}

// SlipOfKnown returns the declared pattern that nearly has these few keys, "" if there is none: only what
// is in place of its placeholders is not of their types.
func (p *Path) SlipOfKnown(families []Family) string {
	for _, f := range families {
		if !f.Declared || p.Keys > mostTypo || f.Sep != p.Sep || len(f.Words) != len(p.Segments) {
			continue
		}
		words := 0
		differs := false
		for i, s := range p.Segments {
			switch {
			case f.Words[i] == "":
				differs = differs || IsLiteral(s.Shape)
			case s.Shape != f.Words[i]:
				differs = true
			default:
				words++
			}
		}
		if !differs && words > 0 {
			return f.Name
		}
	}
	return ""
}

// nearly: equal but for one segment, which is of a narrow class there and of
// digits here.
func (p *Path) nearly(q *Path) bool {
	odd := 0
	for i, s := range p.Segments {
		t := q.Segments[i]
		switch {
		case s.open != t.open || s.shut != t.shut:
			return false
		case s.Shape == t.Shape && slices.Equal(s.Words, t.Words):
		case len(t.Shape) == 1 && isDated(class.Class(t.Shape[0])) && tree.HasClass(s.Shape) && len(s.Words) == 0:
			odd++
		default:
			return false
		}
	}
	return odd == 1
}

func isDated(c class.Class) bool {
	return slices.Contains([]class.Class{class.Day, class.DayHour, class.Month, class.Compact, class.Week, class.UUID,
		class.ULID}, c)
}

// Bounds of noise: how many names with a key or two, that share their first word
// with nothing, are still taken for names that were given.
const (
	maxLonely  = 60
	lonelyKeys = 2
	weakShare  = 0.005
	manyKeys   = 2000
)

// Noise returns the paths that are noise: too many names of which each is by itself,
// and patterns without a word in a large keyspace.
func Noise(paths []*Path, all int64) []*Path {
	roots := map[string]int64{}
	for _, p := range paths {
		roots[p.root()] += p.Keys
	}
	var lonely, weak []*Path
	for _, p := range paths {
		switch {
		case all >= manyKeys && float64(p.Keys) < weakShare*float64(all) && (p.isWeak() || p.root() == "" &&
			p.Keys <= lonelyKeys):
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
func (p *Path) root() string {
	if len(p.Segments) == 0 || !IsLiteral(p.Segments[0].Shape) || len(p.Segments[0].Shape) < 2 ||
		!isNamed(p.Segments[0].Shape) {
		return ""
	}
	return p.Sep + "\x00" + p.Segments[0].open + p.Segments[0].Shape
}

// isWeak: no word of three letters, or signs that no name has.
func (p *Path) isWeak() bool {
	strong, many := false, float64(p.Keys) >= keygroup.LeastKeys(math.MaxInt)
	for _, s := range p.Segments {
		if !isNamed(s.Shape) && !(many && isSpelled(s.Shape)) {
			return true
		}
		strong = strong || len(s.Words) > 0 || slices.ContainsFunc(strings.FieldsFunc(s.Shape, isNoLetter),
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
		if c := shape[i]; !class.IsClass(c) && class.Kinds[c]&(class.IsLower|class.IsUpper|class.IsDigit) == 0 &&
			!strings.ContainsRune("_-.@{}=&?+/|", rune(c)) {
			return false
		}
	}
	return true
}

// Slip is the share of keys that differ from the others and are taken for
// mistakes.
const Slip = 0.02
