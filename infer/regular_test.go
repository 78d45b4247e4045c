package infer_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/infer"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/lint"
	"github.com/keywright/keywright/source"
)

// variables say what the varying part of a family is: the i-th value.
var variables = []struct {
	name string
	make func(r *rand.Rand, i int) string
}{
	{"number", func(_ *rand.Rand, i int) string { return strconv.Itoa(i + 1) }},
	{"large", func(r *rand.Rand, _ int) string { return strconv.Itoa(100_000 + r.IntN(1e9)) }},
	{"hex", func(r *rand.Rand, _ int) string { return fmt.Sprintf("%016x", r.Uint64()) }},
	{"uuid", func(r *rand.Rand, _ int) string {
		return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", r.Uint32(), r.IntN(1<<16), r.IntN(1<<12), r.IntN(1<<12),
			r.Uint64N(1<<48))
	}},
	{"day", func(_ *rand.Rand, i int) string {
		return time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, i).Format("2006-01-02")
	}},
	{"word", func(r *rand.Rand, _ int) string { return randomWord(r, 9) }},
}

// kin are families with a name in common, as patterns with # where they vary: one is
// another with a literal less or more, and some begin with what varies.
var kin = []string{
	"A:#", "A:#:B", "A:#:B:C", "A:B:#", "A:B:C:#", "A:B:#:C", "A:C:#", "A:C:#:D", "A:B:C:D:#", "A:B:#:#", "A:#:B:#",
	"#:A", "#:A:B", "#:A:#", "A-B:#", "A_#", "A_B:#:C", "A_B_#",
}

// regular represents a family: its pattern with the names of placeholders left out, and its keys.
type regular struct {
	pattern string
	keys    []string
	sure    bool // what varies does not look like a name
}

// drawFamilies draws some families of one name.
func drawFamilies(r *rand.Rand) (out []regular) {
	words := map[rune]string{}
	for _, c := range "ABCD" {
		words[c] = randomWord(r, 4+r.IntN(5))
	}
	one := []string{":", "/", ".", "-", "|"}[r.IntN(5)]
	mixed := r.IntN(3) == 0
	v := variables[r.IntN(len(variables))]
	for v.name == "uuid" && one == "-" || v.name == "day" && one == "-" {
		v = variables[r.IntN(len(variables))]
	}
	seen := map[string]bool{}
	for range 1 + r.IntN(4) {
		shape := kin[r.IntN(len(kin))]
		if seen[shape] {
			continue
		}
		seen[shape] = true
		if (v.name == "number" || v.name == "large") && strings.Count(shape, "#") > 1 && one == "." {
			continue // two numbers with a dot between them are a decimal
		}
		if v.name == "word" && strings.Count(shape, "#") > 1 && (one == "-" || one == ".") {
			continue // two words with a dash between them may be one
		}
		var b strings.Builder
		for i, c := range shape {
			switch {
			case c >= 'A' && c <= 'D':
				b.WriteString(words[c])
			case c == ':' && mixed && i > 2:
				b.WriteString([]string{":", "/"}[r.IntN(2)]) // a dot makes a decimal of two numbers
			case c == ':':
				b.WriteString(one)
			default:
				b.WriteRune(c)
			}
		}
		f := regular{pattern: strings.ReplaceAll(b.String(), "#", "{}"), sure: v.name != "word"}
		names := map[string]bool{}
		for i := range 200 + r.IntN(801) {
			name := b.String()
			for strings.Contains(name, "#") {
				name = strings.Replace(name, "#", v.make(r, i), 1)
			}
			if !names[name] {
				names[name] = true
				f.keys = append(f.keys, name)
			}
		}
		out = append(out, f)
	}
	return out
}

// regularShare is the least share of families that are drafted where what varies is random
// letters among random letters: of some patterns that overlap only one can be declared.
const regularShare = 0.9

// sureShare is that of families in which what varies does not look like a name, each with all of its keys. One in some
// hundred is not: a word beside numbers in their place is taken for one of them, two ids with a separator that nothing
// else has are one id, and a key whose id looks like that of another form is left as a mistake.
const sureShare = 0.985

// leftOf returns what a draft says of the keys with a word that it leaves out.
func leftOf(d *infer.Draft, word string) (out []string) {
	for _, l := range d.Left {
		if strings.Contains(l.String(), word) {
			out = append(out, l.String())
		}
	}
	return out
}

var named = regexp.MustCompile(`\{[^{}]*\}`)

// Whatever surrounds them, nearly all families of some hundred keys are drafted, each with all of its
// keys: the campaign draws them with several separators, with literals before and after
// what varies, and several that share a name.
func TestRegularFamilies(t *testing.T) {
	const size = 12_000
	campaigns, seed := gate.Count(t, "KEYWRIGHT_DECLARATIONS", 4, 60), gate.Seed(t)
	all := sortedNames(noises)
	drafted, wanted, sure, lost := 0, 0, 0, 0
	for i := range campaigns {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		noise, n := all[r.IntN(len(all))], size
		if i%30 == 29 {
			n = 100_000
		}
		var families []regular
		for range 1 + r.IntN(3) {
			families = append(families, drawFamilies(r)...)
		}
		taken := map[string]bool{}
		var keys []source.Key
		add := func(name string) {
			if !taken[name] {
				taken[name] = true
				keys = append(keys, source.Key{Name: []byte(name), Kind: source.String, TTL: source.NoTTL, Bytes: 80})
			}
		}
		for _, f := range families {
			for _, name := range f.keys {
				add(name)
			}
		}
		for range n {
			add(noises[noise](r))
		}
		r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		in, err := infer.New(infer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		in.Add(keys)
		d := in.Draft()
		for _, f := range families {
			wanted++
			if f.sure {
				sure++
			}
			at := slices.IndexFunc(d.Entries,
				func(e *infer.Entry) bool { return named.ReplaceAllString(e.Pattern, "{}") == f.pattern })
			switch {
			case at < 0:
				var near []string
				word := strings.FieldsFunc(strings.ReplaceAll(f.pattern, "{}", ""),
					func(r rune) bool { return r < 'a' || r > 'z' })[0]
				for _, e := range d.Entries {
					if strings.Contains(e.Pattern, word) {
						near = append(near, fmt.Sprintf("%s (%d)", e.Pattern, e.Keys))
					}
				}
				var kin []string
				for _, other := range families {
					kin = append(kin, fmt.Sprintf("%s (%d)", other.pattern, len(other.keys)))
				}
				if f.sure {
					lost++
				}
				t.Logf("campaign %d, %d %s: %s (%d keys, as %s) is not drafted; there is %v; all: %v; left: %v", i, n, noise,
					f.pattern, len(f.keys), f.keys[0], near, kin, leftOf(d, word))
			case int(d.Entries[at].Keys) < len(f.keys):
				lost++
				t.Logf("campaign %d, %d %s: %s has %d keys of %d", i, n, noise, f.pattern, d.Entries[at].Keys, len(f.keys))
			default:
				drafted++
			}
		}
		if findings := lint.Run(loaded(t, d.YAML())); len(findings) > 0 {
			t.Errorf("campaign %d: %v", i, findings)
		}
	}
	t.Logf("%d of %d families; of %d whose data does not look like names %d are missing or lack keys", drafted, wanted,
		sure, lost)
	if lost > int((1-sureShare)*float64(sure)) {
		t.Errorf("%d of %d families are missing or lack keys whose data does not look like names", lost, sure)
	}
	if sure < wanted/2 || drafted < int(regularShare*float64(wanted)) {
		t.Errorf("%d of %d families are drafted; %d vary in what looks like data", drafted, wanted, sure)
	}
}

// A name that some hundred numbers lead to is one, though a few strays have other names in its place.
func TestStraysTakeNoFamilyAway(t *testing.T) {
	var keys []source.Key
	add := func(name string) {
		keys = append(keys, source.Key{Name: []byte(name), Kind: source.String, TTL: source.NoTTL, Bytes: 80})
	}
	for i := range 414 {
		add(fmt.Sprintf("%d:account", i+1))
	}
	for i, stray := range []string{"UQ2y6r.", "DOVhDp>J<a", "G1]J=n{ae|^f", "OQ", "On^kr}FbF_(", "eubQFh;)s",
		"i;ed,qV<(Mbb", "zNAx"} {
		add(fmt.Sprintf("%d:%s", i, stray))
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 12_000 {
		add(randomWord(r, 6+r.IntN(10)))
	}
	in, err := infer.New(infer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	in.Add(keys)
	for _, e := range in.Draft().Entries {
		if named.ReplaceAllString(e.Pattern, "{}") == "{}:account" && e.Keys == 414 {
			return
		}
	}
	t.Error("the 414 keys of {}:account are not drafted")
}
