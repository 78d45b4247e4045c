package audit

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/scalar"
	"github.com/keywright/keywright/source"
	"pgregory.net/rapid"
)

// fill feeds names to a sketch, each with a TTL of a minute.
func fill(t testing.TB, names ...string) *sketch {
	t.Helper()
	s := newSketch(loaded(t, declaration))
	for _, name := range names {
		k := key(name, source.String, time.Minute)
		s.add(&k)
	}
	return s
}

// TestNoKeyIsLostByGrouping: whatever is merged, every key is in one group,
// with its TTL.
func TestNoKeyIsLostByGrouping(t *testing.T) {
	segments := rapid.OneOf(
		rapid.StringMatching(`[a-z]{1,3}`), rapid.StringMatching(`[0-9]{1,13}`),
		rapid.StringMatching(`[0-9]{1,3}_[a-z]{1,3}`),
		rapid.StringMatching(`[a-z]{1,2}[-_][0-9]{1,2}`), rapid.Just(strings.Repeat("long", 20)), rapid.Just("\xff"),
		rapid.Just(""))
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		s := newSketch(loaded(&testing.T{}, declaration))
		list := rapid.SliceOfN(rapid.SliceOfN(segments, 1, 4), 1, 120).Draw(t, "names")
		for _, parts := range list {
			k := key(strings.Join(parts, ":"), source.String, time.Minute)
			s.add(&k)
		}
		var keys, ttls int64
		for _, g := range s.groups() {
			keys, ttls = keys+g.keys, ttls+g.ttls.n
		}
		if n := int64(len(list)); keys != n || ttls != n {
			t.Fatalf("%d keys in, %d in groups, %d with TTL", n, keys, ttls)
		}
	})
}

func TestLongSegmentsSurviveACollapse(t *testing.T) {
	names := []string{"p:" + strings.Repeat("x", 80)}
	for i := range 2 * maxFanOut {
		names = append(names, "p:"+strings.Repeat(string(rune('a'+i%26)), 1+i/26))
	}
	got := first(fill(t, names...).suggestions(50))
	if len(got) != 1 || got[0].pattern != "p:{text}" || got[0].keys != int64(len(names)) || got[0].ttls.n != got[0].keys {
		t.Errorf("%+v", got)
	}
}

// TestMixedSegmentsAreBounded: a number before a word is no placeholder alone,
// and every word is another one.
func TestMixedSegmentsAreBounded(t *testing.T) {
	s := newSketch(loaded(t, declaration))
	letters := func(n int) string {
		return string([]byte{byte('a' + n%26), byte('a' + n/26%26), byte('a' + n/676%26), byte('a' + n/17576%26)})
	}
	for i := range 60_000 {
		k := key(fmt.Sprintf("%d_%s:%d_%s", i, letters(i), i, letters(i*7)), source.String, no)
		s.add(&k)
	}
	if s.nodes > 2*maxNodes || size(s.root) != s.nodes+1 {
		t.Errorf("%d nodes counted, %d there", s.nodes, size(s.root))
	}
}

// TestPlaceholdersOfEveryKindAreBounded: all types at all depths would be a tree
// of twelve to the power of twelve.
func TestPlaceholdersOfEveryKindAreBounded(t *testing.T) {
	kinds := []string{"7", "007", "1700000000000", "2026-11-20", "0193aaaa-7c1a-7d3e-8f60-2b1c9a4d5e6f",
		"01ARZ3NDEKTSV4RRFFQ69G5FAV", "deadbeefdeadbe11", "\xff", "word"}
	s := newSketch(loaded(t, declaration))
	r := rand.New(rand.NewPCG(3, 4))
	for range 60_000 {
		parts := make([]string, 1+r.IntN(14))
		for i := range parts {
			parts[i] = kinds[r.IntN(len(kinds))]
		}
		k := key(strings.Join(parts, ":"), source.String, no)
		s.add(&k)
	}
	if s.nodes > 2*maxNodes || size(s.root) != s.nodes+1 {
		t.Errorf("%d nodes counted, %d there", s.nodes, size(s.root))
	}
}

func size(b *branch) int {
	n := 1
	for _, c := range b.children {
		n += size(c)
	}
	return n
}

// TestReportsStandAlone: keys added after a report do not change it.
func TestReportsStandAlone(t *testing.T) {
	a := newAudit(t, Options{})
	a.Add([]source.Key{key("zz_9", source.String, no), key("app:c:9", source.String, no)})
	r := a.Report(source.Summary{}, false)
	var before, after bytes.Buffer
	if err := finding.WriteJSON(&before, r, "  "); err != nil {
		t.Fatal(err)
	}
	a.Add([]source.Key{key("zz_1", source.String, no), key("app:c:1", source.String, no), key("zz_5", source.String, no)})
	if err := finding.WriteJSON(&after, r, "  "); err != nil || before.String() != after.String() {
		t.Errorf("%v\n%s\n%s", err, before.String(), after.String())
	}
}

// TestNoTypeTellsTheValue: reasons are in reports, values must not.
func TestNoTypeTellsTheValue(t *testing.T) {
	const secret = "sEcReT value!"
	for _, text := range []string{"text max 3", "int", "int 1..5", "float", "bool", "uuid", "ulid", "hex 4", "slug",
		"date", "date YYYYMM", "timestamp", "unix_s", "unix_ms", "a|b", "/x+/", "json", "text encrypted"} {
		typ, err := scalar.Parse(text, nil)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, value := range []string{secret, secret + "\xff", "[" + secret, "2026-13-" + secret} {
			reason := reason(typ, nil, []byte(value))
			if reason == "" && typ.Kind != scalar.Text && !typ.Encrypted {
				t.Errorf("%s takes %q", text, value)
			}
			if strings.Contains(reason, "sEcReT") || strings.Contains(reason, "value!") {
				t.Errorf("%s: %s", text, reason)
			}
		}
	}
}

// TestManyGroupsReportQuickly: a thousand patterns are compared with thousands of groups,
// the smallest too, and where there are more than that allows, with those at both ends.
func TestManyGroupsReportQuickly(t *testing.T) {
	var text strings.Builder
	text.WriteString("keywright: 1\npackage: t\nowner: o\nvars: {n: int}\nkeys:\n")
	for i := range 1000 {
		fmt.Fprintf(&text, "  e%d: {key: \"kind%d:part:{n}:more\", type: string, ttl: any}\n", i, i)
	}
	s := newSketch(loaded(t, text.String()))
	for i := range 400 {
		for j := range 20 {
			k := key(fmt.Sprintf("w%cx%d:part%c:%d", 'a'+i%26, i, 'a'+j, j), source.String, no)
			s.add(&k)
			s.add(&k)
		}
	}
	typo := key("knd7:part:7:more", source.String, no)
	s.add(&typo)
	listed, others, left := s.suggestions(50)
	if len(listed)+len(others) < 2000 || left > 0 || s.near.Work() > maxCompared || listed[0].near == nil {
		t.Errorf("%d groups, %d not compared, %d comparisons, first %+v", len(listed)+len(others), left, s.near.Work(),
			listed[0])
	}
	for _, room := range []int{1, 100, 1000} { // one group costs at most 1,100
		before := s.near.Work()
		c := s.compare(room)
		if c.left == 0 || s.near.Work() > before+room+1100 {
			t.Errorf("room for %d: %d left, %d made", room, c.left, s.near.Work()-before)
		}
		if room > 1 && (c.near != 1 || c.groups[0].pattern != "knd7:part:{int}:more") {
			t.Errorf("room for %d: the typo, which has one key, is not found", room)
		}
	}
}

// TestFieldsFromTheDataAreBounded: a hash of names no one declared is some
// findings, and hides no fault of another code.
func TestFieldsFromTheDataAreBounded(t *testing.T) {
	a := newAudit(t, Options{Values: true})
	for i := range 200 {
		k := key(fmt.Sprintf("app:f:%d", i), source.Hash, no)
		k.Value = &source.Value{
			Elements: [][]byte{[]byte("s"), []byte(sealed), fmt.Appendf(nil, "x%d", i), nil, fmt.Appendf(nil, "y%d", i), nil}}
		a.Add([]source.Key{k})
	}
	r := a.Report(source.Summary{}, false)
	most := map[string]int64{}
	for _, f := range r.Findings {
		most[f.Code] = max(most[f.Code], f.Count)
	}
	if len(r.Findings) > maxValueFaults+5 || most["KW510"] != 200 || most["KW509"] < 180 {
		t.Errorf("%d findings, %v", len(r.Findings), most)
	}
}

// TestLooks: what a segment is called, and that every guess is a type.
func TestLooks(t *testing.T) {
	for segment, want := range map[string]string{
		"7": "{int}", "-7": "{int}", "007": "{digits}", "0": "{int}", "1700000000000": "{unix_ms}",
		"123456789012345678901234567890": "{digits}",
		"2026-11-20":                     "{date}", "2026-13-20": "{int}-{int}-{int}",
		"0193aaaa-7c1a-7d3e-8f60-2b1c9a4d5e6f": "{uuid}", "01ARZ3NDEKTSV4RRFFQ69G5FAV": "{ulid}",
		"deadbeefdeadbe11": "{hex}", strings.Repeat("a1", 16): "{hex}", strings.Repeat("a1", 20): "{hex}", "v2": "v2",
		"user_7": "user_{int}", "7_user": "{int}_user",
		"": "", "a{b}": `a\{b\}`, "\xff": "{bytes}", "\x1b[31m": "{bytes}", "한글": "한글",
	} {
		if got := segmentName([]byte(segment), false); got != want {
			t.Errorf("%q: %s, want %s", segment, got, want)
		}
	}
	for _, g := range looks {
		if typ, err := scalar.Parse(g.text, nil); err != nil || g.name != "{"+strings.Fields(typ.String())[0]+"}" {
			t.Errorf("%s: %v", g.text, err)
		}
	}
}

func first(listed, _ []suggestion, _ int) []suggestion { return listed }

// TestNear: a letter wrong, a segment too many, and what is no misspelling.
func TestNear(t *testing.T) {
	const text = "keywright: 1\npackage: t\nowner: o\nvars: {n: int}\nkeys:\n" +
		"  issue: {key: \"poppo:issue:{n}\", type: string, ttl: any}\n  profile: {key: \"cache:user:profile:{n}\", type: " +
		"string, ttl: any}\n"
	for name, want := range map[string]string{
		"poppo:isue:1": "poppo:issue:{n}", "popo:issue:1": "poppo:issue:{n}",
		"cache:user:profile:7:v2": "cache:user:profile:{n}", "cache:profile:7": "",
		"user_7": "", "billing:invoice:7": "", "poppo": "",
	} {
		s := newSketch(loaded(t, text))
		k := key(name, source.String, no)
		s.add(&k)
		got := ""
		if near := first(s.suggestions(50))[0].near; near != nil {
			got = near.Pattern.String()
		}
		if got != want {
			t.Errorf("%s: near %q, want %q", name, got, want)
		}
	}
}
