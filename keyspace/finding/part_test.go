package finding

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// undeclaredIn returns a finding about groups, each as "pattern keys".
func undeclaredIn(groups ...string) []Finding {
	f := Finding{Code: "KW502", Severity: Warning, Message: "keys are declared by no entry", Examples: make([]Example, 2)}
	for _, g := range groups {
		p := Part{}
		fmt.Sscanf(g, "%s %d", &p.Name, &p.Count)
		p.Example.Key = []byte(p.Name)
		f.Parts = append(f.Parts, p)
		f.Count += p.Count
	}
	return []Finding{f}
}

// TestBaselineOfGroups: each group of keys is accepted by itself. What takes the place of one that went is new.
func TestBaselineOfGroups(t *testing.T) {
	all := func(BaselineEntry) bool { return true }
	for _, c := range []struct {
		about         string
		accepted, now []string
		fresh, grown  string // groups
		gone          string
		known         int64 // keys
	}{
		{"the same", []string{"old:{int} 1"}, []string{"old:{int} 1"}, "", "", "", 1},
		{"another in its place", []string{"old:{int} 1"}, []string{"passwords:plain 1"}, "passwords:plain", "", "old:{int}",
			0},
		{"fewer", []string{"a 3", "b 2"}, []string{"a 1"}, "", "", "b", 1},
		{"one more", []string{"a 3"}, []string{"a 3", "b 2"}, "b", "", "", 3},
		{"grown", []string{"a 3", "b 1"}, []string{"a 4", "b 1"}, "a", "a was 3", "", 1},
		{"words became a placeholder", []string{"u:ann 1", "u:bob 1", "u:eve 1"}, []string{"u:{text} 3"}, "", "", "", 3},
		{"words became a placeholder, one more", []string{"u:ann 1", "u:bob 1"}, []string{"u:{text} 3"}, "u:{text}",
			"u:{text} was 2", "", 0},
		{"a placeholder became words", []string{"u:{text} 25"}, []string{"u:ann 1", "u:bob 1"}, "", "", "", 2},
		{"no wider one", []string{"u:ann:x 1"}, []string{"u:{text} 1"}, "u:{text}", "", "u:ann:x", 0},
		{"no wider word", []string{"u:x_1 1"}, []string{"u:x_{int} 1"}, "u:x_{int}", "", "u:x_1", 0},
	} {
		var text bytes.Buffer
		if err := NewBaseline(undeclaredIn(c.accepted...)).Write(&text); err != nil {
			t.Fatal(err)
		}
		b, err := ReadBaseline(&text)
		if err != nil {
			t.Fatal(err)
		}
		s := b.Apply(undeclaredIn(c.now...), all)
		var fresh, grown, gone []string
		known := int64(0)
		for _, f := range s.Fresh {
			sum := int64(0)
			for i, p := range f.Parts {
				fresh, sum = append(fresh, p.Name), sum+p.Count
				if i < len(f.Examples) && string(f.Examples[i].Key) != p.Name {
					t.Errorf("%s: the example is %s", c.about, f.Examples[i].Key)
				}
			}
			if sum != f.Count {
				t.Errorf("%s: %d keys of %d", c.about, sum, f.Count)
			}
		}
		for _, g := range s.Grown {
			grown = append(grown, fmt.Sprintf("%s was %d", g.Group(), g.Accepted))
			if text, _ := g.MarshalJSON(); slices.ContainsFunc(b.Findings,
				func(e BaselineEntry) bool { return e.Group == g.Group() }) &&
				!slices.ContainsFunc(b.Findings, func(e BaselineEntry) bool {
					return strings.Contains(string(text),
						e.Fingerprint)
				}) {
				t.Errorf("%s: %s has no fingerprint of the baseline", c.about, text)
			}
		}
		for _, e := range s.Gone {
			gone = append(gone, e.Group)
		}
		for _, f := range s.Known {
			known += f.Count
		}
		if got := strings.Join(fresh, ","); got != c.fresh || strings.Join(grown, ",") != c.grown ||
			strings.Join(gone, ",") != c.gone || known != c.known {
			t.Errorf("%s: new %s, grown %s, gone %s, %d keys known", c.about, got, grown, gone, known)
		}
	}
}

// TestBaselineOfOneCount: a baseline that has one count for all groups still holds, and is reported.
func TestBaselineOfOneCount(t *testing.T) {
	all := func(BaselineEntry) bool { return true }
	old := undeclaredIn("a 3")
	old[0].Parts = nil
	b := NewBaseline(old)
	if s := b.Apply(undeclaredIn("b 2", "c 1"), all); len(s.Known) != 1 || s.Old != 1 || len(s.Fresh)+len(s.Gone) > 0 {
		t.Errorf("%+v", s)
	}
	if s := b.Apply(undeclaredIn("b 2", "c 2"), all); len(s.Fresh) != 1 || s.Old != 1 || len(s.Grown) != 1 {
		t.Errorf("%+v", s)
	}
	if next := b.Update(undeclaredIn("b 2"), all); len(next.Findings) != 1 || next.Findings[0].Group != "b" {
		t.Errorf("%+v", next)
	}
}

// TestOthersReadNoIdentifier: what SARIF, JUnit and GitHub show of keys has no identifier in it, and SARIF names files
// from the folder of the run.
func TestOthersReadNoIdentifier(t *testing.T) {
	f := []Finding{{Code: "KW502", Message: "keys", Count: 3, Pos: Position{File: "/srv/k.yaml", Line: 1},
		Examples: []Example{{Key: []byte("user:ann")}, {Key: []byte("user:bob")}}}}
	o := Options{Root: "/srv/", Mask: func([]byte) string { return "user:{text}" }}
	for name, write := range map[string]func(io.Writer, []Finding, Options) error{"SARIF": SARIF, "JUnit": JUnit,
		"GitHub": GitHub} {
		var out bytes.Buffer
		if err := write(&out, f, o); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); strings.Contains(text, "ann") || strings.Contains(text, "bob") ||
			!strings.Contains(text, "user:{text}  and 2 more") || name == "SARIF" && !strings.Contains(text, `"uri": "k.yaml"`) {
			t.Errorf("%s: %s", name, text)
		}
		if out.Reset(); write(&out, f, Options{}) != nil || !strings.Contains(out.String(), "ann") {
			t.Errorf("%s: %s", name, out.String())
		}
	}
	if string(f[0].Examples[0].Key) != "user:ann" {
		t.Error("the findings were changed")
	}
}
