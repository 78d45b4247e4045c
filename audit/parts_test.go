package audit

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
	"pgregory.net/rapid"
)

// partsOf is a declaration with every kind of row that a report has.
const partsOf = `keywright: 1
package: t
owner: o
owns: ["app:*"]
foreign: ["bull:*", "celery*"]
vars: {n: int}
keys:
  album: {key: "app:album:{n}", type: string, ttl: 1h, was: ["app:alb:{n}", "old_{n}"]}
  tags: {key: "tags:{n}", type: set, ttl: none}
  jobs: {key: "app:jobs:{n}", type: queue, ttl: none}
`

// genName returns a name of any kind, many of them near a bound or not text at all.
func genName(t *rapid.T) []byte {
	n := rapid.IntRange(0, 400).Draw(t, "n")
	word := strings.Repeat(string(rune('a'+n%26)), 1+n/26)
	switch rapid.IntRange(0, 9).Draw(t, "family") {
	case 0:
		return fmt.Appendf(nil, "app:album:%d", n)
	case 1:
		return fmt.Appendf(nil, "app:albun:%d", n)
	case 2:
		return fmt.Appendf(nil, "app:alb:%d", n)
	case 3:
		return fmt.Appendf(nil, "old_%d", n)
	case 4:
		return fmt.Appendf(nil, "bull:%s:%d", word, n)
	case 5:
		return fmt.Appendf(nil, "app:%s:%d", word, n)
	case 6:
		return fmt.Appendf(nil, "%s:x", word)
	case 7:
		return fmt.Appendf(nil, "tags:%d", n)
	case 8:
		return rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "bytes")
	}
	return fmt.Appendf(nil, "%s/%d/%s", word, n, word)
}

// TestThePartsAddUp: the keys and bytes of all rows are those of the total, in the
// report and in its table, whatever there is and however little of it is listed. Without sizes no row of
// the table has one.
func TestThePartsAddUp(t *testing.T) {
	ks := loaded(t, partsOf)
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		offenders := map[string]int64{}
		a, err := New(ks, Options{Groups: rapid.IntRange(1, 60).Draw(t, "groups"), Top: 3,
			Offender: func(codes []string, _ string, _ *source.Key) {
				for _, code := range codes {
					offenders[code]++
				}
			}})
		if err != nil {
			t.Fatal(err)
		}
		var keys, size int64
		for range rapid.IntRange(0, 300).Draw(t, "keys") {
			k := source.Key{Name: genName(t), DB: rapid.IntRange(0, 3).Draw(t, "db"),
				Kind:  source.Kind(1 + rapid.IntRange(0, 5).Draw(t, "kind")),
				Bytes: int64(rapid.IntRange(-1, 5000).Draw(t, "bytes")),
				TTL:   []time.Duration{source.NoTTL, time.Minute, 48 * time.Hour}[rapid.IntRange(0, 2).Draw(t, "ttl")]}
			a.Add([]source.Key{k})
			keys, size = keys+1, size+max(0, k.Bytes)
		}
		r := a.Report(source.Summary{}, false)
		var sum, undeclared Figures
		add := func(to *Figures, keys, bytes int64) { to.Keys, to.Bytes = to.Keys+keys, to.Bytes+bytes }
		violations := map[string]int64{}
		for _, e := range append(r.Entries, r.Legacy...) {
			add(&sum, e.Keys, e.Bytes)
			for code, n := range e.Violations {
				violations[code] += n
			}
		}
		for _, g := range r.Foreign {
			add(&sum, g.Keys, g.Bytes)
		}
		add(&sum, r.Undeclared.Owned+r.Undeclared.Other, r.Undeclared.Bytes)
		for _, s := range r.Undeclared.Suggestions {
			add(&undeclared, s.Keys, s.Bytes)
		}
		if rest := r.Undeclared.Rest; rest != nil {
			add(&undeclared, rest.Keys, rest.Bytes)
		}
		if sum != (Figures{Keys: keys, Bytes: size}) || r.Total.Keys != keys || r.Total.Bytes != size {
			t.Fatalf("the rows have %+v, the total is %+v, there are %d keys of %d bytes", sum, r.Total, keys, size)
		}
		if undeclared.Keys != r.Undeclared.Owned+r.Undeclared.Other || undeclared.Bytes != r.Undeclared.Bytes {
			t.Fatalf("the groups of undeclared keys have %+v, all of them %+v", undeclared, r.Undeclared)
		}
		violations["KW501"], violations["KW502"] = r.Undeclared.Owned, r.Undeclared.Other
		prints := map[string]bool{}
		for _, f := range r.Findings {
			if prints[finding.Fingerprint(f)] {
				t.Fatalf("two findings have one fingerprint: %+v", f)
			}
			prints[finding.Fingerprint(f)] = true
			if !OfKeys(f.Code) { // KW516, of groups of undeclared keys
				if f.Count > violations["KW501"]+violations["KW502"] {
					t.Fatalf("%d keys have near names, %v", f.Count, violations)
				}
				continue
			}
			if f.Code == "KW515" { // of undeclared keys, which are in no row of an entry
				violations[f.Code] = min(offenders[f.Code], violations["KW501"]+violations["KW502"])
			}
			if violations[f.Code] < f.Count || offenders[f.Code] != violations[f.Code] {
				t.Fatalf("%s: %d keys in a finding, %d in rows, %d told one by one", f.Code, f.Count, violations[f.Code],
					offenders[f.Code])
			}
		}
		checkRows(t, r, keys, size)
	})
}

func checkRows(t *rapid.T, r *Report, keys, size int64) {
	for _, row := range r.Rows()[1:] {
		n, err := strconv.ParseInt(row[5], 10, 64)
		if err != nil || (row[6] == "") != r.NoBytes {
			t.Fatalf("sizes not known %v: %q", r.NoBytes, row)
		}
		b, err := strconv.ParseInt(cmp.Or(row[6], "0"), 10, 64) // a size that is not known adds nothing
		if err != nil {
			t.Fatal(row)
		}
		keys, size = keys-n, size-b
	}
	if keys != 0 || size != 0 {
		t.Fatalf("%d keys and %d bytes are in no row of the table", keys, size)
	}
}

// genValue returns a value of a type, with faults or without.
func genValue(t *rapid.T, kind source.Kind) *source.Value {
	word := func() []byte {
		return []byte(rapid.SampledFrom([]string{"1", "x", "12345", "", "2.5"}).Draw(t, "word"))
	}
	v := &source.Value{}
	for i := range rapid.IntRange(1, 4).Draw(t, "elements") {
		switch kind {
		case source.Hash:
			v.Elements = append(v.Elements,
				rapid.SampledFrom([][]byte{[]byte("n"), []byte("m"), fmt.Appendf(nil, "o%d", i)}).Draw(t, "field"), word())
		case source.ZSet:
			v.Elements, v.Scores = append(v.Elements, fmt.Appendf(word(), "%d", i)),
				append(v.Scores, rapid.SampledFrom([]float64{1, 2.5}).Draw(t, "score"))
		default:
			v.Elements = append(v.Elements, word())
		}
	}
	return v
}

// TestOffendersOfValues: the keys that are reported one by one for a code of values are
// those of its findings, each once.
func TestOffendersOfValues(t *testing.T) {
	ks := loaded(t, "keywright: 1\npackage: t\nowner: o\nvars: {n: int}\nkeys:\n"+
		"  s: {key: \"s:{n}\", type: string, value: int, ttl: any}\n  h: {key: \"h:{n}\", type: hash, fields: {n: int, m: "+
		"text max 2}, ttl: any}\n"+
		"  e: {key: \"e:{n}\", type: set, member: int, ttl: any}\n  l: {key: \"l:{n}\", type: list, member: int, ttl: "+
		"any}\n  z: {key: \"z:{n}\", type: zset, member: text max 2, score: int, ttl: any}\n")
	kinds := map[string]source.Kind{"s": source.String, "h": source.Hash, "e": source.Set, "l": source.List,
		"z": source.ZSet}
	met := map[string]bool{}
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		told, found := map[string]int{}, map[string]int{}
		a, err := New(ks, Options{Values: true, Examples: 1000, Offender: func(codes []string, _ string, k *source.Key) {
			for _, code := range codes {
				told[code+" "+string(k.Name)]++
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range rapid.IntRange(0, 60).Draw(t, "keys") {
			name := rapid.SampledFrom([]string{"s", "h", "e", "l", "z"}).Draw(t, "entry")
			k := source.Key{Name: fmt.Appendf(nil, "%s:%d", name, i), Kind: kinds[name], Bytes: 9, TTL: source.NoTTL,
				Value: genValue(t, kinds[name])}
			a.Add([]source.Key{k})
		}
		for _, f := range a.Report(source.Summary{}, false).Findings {
			for _, e := range f.Examples {
				found[f.Code+" "+string(e.Key)] = 1
			}
			met[f.Code] = met[f.Code] || NeedsValues(f.Code)
		}
		if !maps.Equal(told, found) {
			t.Fatalf("told: %v\nfound: %v", told, found)
		}
	})
	for code := 508; code <= 512; code++ {
		if !met[fmt.Sprintf("KW%d", code)] {
			t.Errorf("no value had KW%d", code)
		}
	}
	for _, r := range Rules() {
		if NeedsValues(r.Code) != strings.Contains(r.Explain, "Found with --values") {
			t.Errorf("%s: %s", r.Code, r.Explain)
		}
	}
}

// TestTyposAreListed: a typo has few keys, and the groups that have many do not push
// it out of the report.
func TestTyposAreListed(t *testing.T) {
	a, err := New(loaded(t, partsOf), Options{Groups: 10})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		for range 10 {
			a.Add([]source.Key{key(fmt.Sprintf("zone%s:%d", strings.Repeat(string(rune('a'+i%26)), 1+i/26), i),
				source.String, no)})
		}
	}
	a.Add([]source.Key{key("app:albun:7", source.String, no)})
	r := a.Report(source.Summary{}, false)
	if len(r.Undeclared.Suggestions) != 10 || r.Undeclared.Rest == nil || r.Undeclared.Rest.Groups < 100 {
		t.Fatalf("%d groups, and %+v", len(r.Undeclared.Suggestions), r.Undeclared.Rest)
	}
	first, near := r.Undeclared.Suggestions[0], r.Findings[len(r.Findings)-1]
	if first.Near == nil || *first.Near != (Near{"album", "app:album:{n}"}) ||
		!strings.Contains(near.Fix, "app:albun:{int} may be meant as app:album:{n}") {
		t.Errorf("%+v %+v", first, r.Findings[0])
	}
}

// Sizes that no key has are not known, and are no zeros.
func TestSizesThatAreNotKnown(t *testing.T) {
	for size, want := range map[int64]bool{-1: true, 56: false} {
		a, err := New(&keyspace.Keyspace{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		a.Add([]source.Key{{Name: []byte("a"), Kind: source.String, Bytes: size, TTL: source.NoTTL}})
		r := a.Report(source.Summary{}, false)
		rows := r.Rows()
		if last := rows[len(rows)-1]; r.NoBytes != want || (last[6] == "56") == want ||
			want && (last[5] != "1" || last[6] != "") {
			t.Errorf("%d bytes: not known %v\n%v", size, r.NoBytes, rows)
		}
	}
	a, _ := New(&keyspace.Keyspace{}, Options{})
	if r := a.Report(source.Summary{}, false); r.NoBytes {
		t.Error("of no keys the size is known: 0")
	}
}
