package mention_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/infer/page/internal/mention"
)

// TestPlaces: what is a key at its place on a page, from the column of keys, where hardly anything else is, to prose,
// and why something else is none. What is too little to be a key is not listed.
func TestPlaces(t *testing.T) {
	const places = "maybe prose listing command column"
	for raw, want := range map[string]string{
		"":                       "",
		"jobs":                   "command column",
		"x:1":                    "listing",
		"work:jobs":              "maybe listing command column",
		"work:jobs:a":            "maybe prose listing command column",
		"user:{id}":              "maybe prose listing command column",
		"user:42":                "maybe prose listing command column",
		"user-{id}":              "command column",
		"{id}:user":              "command column",
		"{prefix}:user":          "column; it is a naming scheme",
		"user:*":                 "listing column; it is a glob",
		"user:a*":                "column; it is a glob",
		"*:user":                 "column; it is a glob",
		"user:{type}":            "column; it is a naming scheme",
		"app:{type}:{kind}":      "; it is a naming scheme",
		"exporter:9121":          "command; it is a host and a port",
		"http://x:y":             "; it is an address, a version or a file",
		"main.go:12":             "; it is an address, a version or a file",
		"NX":                     "",
		"key":                    "",
		"<field>":                "",
		"key:a:b":                "maybe prose listing command column",
		"a b":                    "",
		strings.Repeat("a", 400): "",
	} {
		var got []string
		why := ""
		for i, name := range strings.Fields(places) {
			l := &mention.List{}
			l.Add(raw, mention.Mention{Place: mention.Place(i) - 1, Line: 7})
			if len(l.Found) > 0 {
				got = append(got, name)
				if m := l.Found[0]; m.Raw != raw || m.Line != 7 {
					t.Errorf("%s: %+v", raw, m)
				}
			}
			for _, p := range l.Passed {
				if p.Line != 7 || p.Text != raw && !strings.Contains(p.Text, "…") {
					t.Errorf("%s: %+v", raw, p)
				}
				why = "; " + p.Why
			}
		}
		if text := strings.Join(got, " ") + why; text != want {
			t.Errorf("%q: %q, and not %q", raw, text, want)
		}
	}
}

// TestExamples: what an example shows is one only if it has nothing but values; a pattern that is given as one is a
// key.
func TestExamples(t *testing.T) {
	for _, c := range []struct {
		raw             string
		showing, quoted bool
		want            string
	}{
		{"user:42:x", false, false, "false false"}, {"user:42:x", true, false, "true false"},
		{"user:42:x", false, true, "true true"},
		{"user:{id}:x", true, true, "false false"}, {"user:bob:x", true, true, "true true"},
		{"user:{id}:42", true, true, "false false"},
	} {
		l := &mention.List{Showing: c.showing}
		l.Add(c.raw, mention.Mention{Quoted: c.quoted})
		if len(l.Found) != 1 {
			t.Fatalf("%s: %+v", c.raw, l)
		}
		if got := fmt.Sprint(l.Found[0].Shows, " ", l.Found[0].Quoted); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestBounds: of very many mentions the first are kept, and the line is known from which on nothing is read; so it is
// with what is passed over.
func TestBounds(t *testing.T) {
	l := &mention.List{}
	for i := range mention.MaxCandidates + 5 {
		l.Add("user:{id}", mention.Mention{Line: i + 1})
		l.Pass(i+1, "x", "why")
	}
	if len(l.Found) != mention.MaxCandidates || l.Cut != mention.MaxCandidates+1 || len(l.Passed) != mention.MaxPassed {
		t.Errorf("%d found, cut at %d, %d passed over", len(l.Found), l.Cut, len(l.Passed))
	}
}

// TestPass: of what is passed over the text is kept, but of an address only the scheme, for a password may follow,
// and of a long one the beginning, cut between letters.
func TestPass(t *testing.T) {
	l := &mention.List{}
	for _, text := range []string{" a ", "", "redis://bob:secret@db:6379/0", "://x", strings.Repeat("é",
		100), "a" + strings.Repeat("é", 100), "a\xffb"} {
		l.Pass(1, text, "why")
	}
	var got []string
	for _, p := range l.Passed {
		got = append(got, p.Text)
	}
	want := []string{"a", "", "redis://…", "://…", strings.Repeat("é", 60), "a" + strings.Repeat("é", 59), "ab"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, and not %q", got, want)
	}
}
