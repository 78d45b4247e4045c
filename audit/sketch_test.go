package audit

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/scalar"
	"github.com/keywright/keywright/source"
)

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
			k := key(fmt.Sprintf("w%[1]c%[2]c:part%[1]c%[2]c%[3]c:%[4]d", 'a'+i%20, 'a'+i/20, 'a'+j, j), source.String, no)
			s.add(-1, &k)
			s.add(-1, &k)
		}
	}
	typo := key("knd7:part:7:more", source.String, no)
	s.add(-1, &typo)
	c := s.compare(maxCompared)
	listed, others := c.list(50)
	if len(listed)+len(others) < 2000 || c.left > 0 || s.near.Work() > maxCompared || listed[0].near == nil {
		t.Errorf("%d groups, %d not compared, %d comparisons, first %+v", len(listed)+len(others), c.left, s.near.Work(),
			listed[0])
	}
	for _, room := range []int{1, 100, 1000} { // one group costs at most 1,100
		before := s.near.Work()
		c := s.compare(room)
		if c.left == 0 || s.near.Work() > before+room+1100 {
			t.Errorf("room for %d: %d left, %d made", room, c.left, s.near.Work()-before)
		}
		if room > 100 && (c.near != 1 || c.groups[0].Pattern != "knd{int}:part:{int_2}:more") {
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
		s.add(-1, &k)
		got := ""
		if near := s.compare(maxCompared).groups[0].near; near != nil {
			got = near.Pattern.String()
		}
		if got != want {
			t.Errorf("%s: near %q, want %q", name, got, want)
		}
	}
}
