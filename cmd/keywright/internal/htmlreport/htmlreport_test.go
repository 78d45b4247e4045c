package htmlreport

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
	"pgregory.net/rapid"
)

func write(t testing.TB, r *audit.Report) string {
	t.Helper()
	var out bytes.Buffer
	err := Write(&out, r, Options{Title: "shop on redis:6379",
		At: time.Date(2026, 11, 23, 12, 0, 0, 0, time.FixedZone("", 7200)), Program: "keywright 1.2.3", Rules: audit.Rules()})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// hostile are names that would be more than text if a page took them as they are.
var hostile = []string{`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `</style><script>x`,
	"a\x00b\x1b[31m\xff", `{{.Style}}`, "\u202eabc", `javascript:alert(1)`, `--><svg onload=x>`}

func example() *audit.Report {
	ttl := &audit.Spread{Min: 1, P50: 60, P90: 600, Max: 86400}
	r := &audit.Report{Verdict: "findings", Complete: true, Server: "redis 7.0.15", Endpoint: "redis:6379", Shards: 1,
		Databases: 2, Expected: 160,
		Total: audit.Figures{Keys: 160, Bytes: 16000, Share: 1, NoTTL: 9}, Notes: []string{"a note"},
		Summary: finding.Counts{Errors: 1, Warnings: 1},
		Entries: []audit.EntryRow{
			{Name: "session", Pattern: "session:{id}", Type: "string", Policy: "1h",
				Figures: audit.Figures{Keys: 100, Bytes: 9000, Share: .5625, TTL: ttl}},
			{Name: "detail", Pattern: "detail:{id}", Type: "hash", Policy: "none", Violations: map[string]int64{"KW505": 3},
				Figures: audit.Figures{Keys: 40, Bytes: 5000, Share: .3125, NoTTL: 9}},
			{Name: "foreign_keys", Pattern: "fk:{id}", Type: "set", Policy: "none"}},
		Legacy: []audit.EntryRow{{Name: "session", Pattern: "sess:{id}", Type: "string", Policy: "1h",
			Figures: audit.Figures{Keys: 2, Bytes: 100}}},
		Foreign: []audit.GlobRow{{Glob: "bull:*", Figures: audit.Figures{Keys: 8, Bytes: 900}}},
		Undeclared: audit.Undeclared{Other: 10, Bytes: 1000, Rest: &audit.Rest{Groups: 2, Keys: 2, Bytes: 200},
			Suggestions: []audit.Suggestion{
				{Pattern: "tmp:{int}", Types: map[string]int64{"string": 8}, Example: []byte(hostile[0]),
					Near: &audit.Near{Entry: "session", Pattern: "session:{id}"}, Figures: audit.Figures{Keys: 8, Bytes: 800}}}},
		Largest: []audit.LargeKey{{Key: []byte(hostile[3]), Type: "hash", Bytes: 900, Entry: "detail"}},
		Findings: []finding.Finding{
			{Code: "KW505", Severity: finding.Error, Pos: finding.Position{File: "keyspace.yaml", Line: 7, Column: 3},
				Entry: "detail", Message: "detail must expire", Count: 3,
				Examples: []finding.Example{{Key: []byte("detail:1")}, {DB: 2, Key: []byte(hostile[1])}}},
			{Code: "KW502", Severity: finding.Warning, Message: "keys are declared by no entry", Fix: "declare them",
				Count: 10}}}
	return r
}

// TestGolden: the page of one report, byte for byte. KEYWRIGHT_UPDATE=1 writes it.
func TestGolden(t *testing.T) {
	const name = "testdata/report.html.golden"
	got := write(t, example())
	if os.Getenv("KEYWRIGHT_UPDATE") != "" {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(name); err != nil || string(want) != got {
		t.Errorf("%s is not what is written now (%v); KEYWRIGHT_UPDATE=1 writes it", name, err)
	}
}

// tags returns the tags of a page and the values of their attributes, read as strictly as XML.
func tags(t testing.TB, text string) (names map[string]int, attributes map[string][]string) {
	t.Helper()
	names, attributes = map[string]int{}, map[string][]string{}
	d := xml.NewDecoder(strings.NewReader(regexp.MustCompile(`<meta [^>]*>`).ReplaceAllStringFunc(text,
		func(m string) string { return m[:len(m)-1] + "/>" })))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return names, attributes
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok {
			names[e.Name.Local]++
			for _, a := range e.Attr {
				attributes[a.Name.Local] = append(attributes[a.Name.Local], a.Value)
			}
		}
	}
}

// TestNamesAreText: whatever a name is, the page has the same tags and attributes, no
// script and no address but those within itself.
func TestNamesAreText(t *testing.T) {
	plain, _ := tags(t, write(t, example()))
	for _, name := range hostile {
		r := example()
		r.Entries[0].Name, r.Entries[0].Pattern, r.Entries[1].Owner = name, name, name
		r.Foreign[0].Glob, r.Server, r.Notes[0], r.Largest[0].Key = name, name, name, []byte(name)
		r.Undeclared.Suggestions[0].Pattern, r.Undeclared.Suggestions[0].Example, r.Undeclared.Suggestions[0].Near.Pattern = name, []byte(name), name
		r.Findings[0].Message, r.Findings[0].Pos.File, r.Findings[0].Examples[1].Key, r.Findings[1].Fix = name, name,
			[]byte(name), name
		text := write(t, r)
		names, attributes := tags(t, text)
		if fmt.Sprint(names) != fmt.Sprint(plain) {
			t.Errorf("%q: %v, not %v", name, names, plain)
		}
		if names["script"] > 0 || strings.ContainsAny(text, "\x00\x1b\u202e") {
			t.Errorf("%q is more than text", name)
		}
		for attribute, list := range attributes {
			if strings.HasPrefix(attribute, "on") || attribute == "src" || attribute == "style" {
				t.Errorf("%q: the page has %s=%q", name, attribute, list)
			}
		}
		ids := map[string]bool{}
		for _, id := range attributes["id"] {
			ids["#"+id] = true
		}
		for _, to := range attributes["href"] {
			if !ids[to] {
				t.Errorf("%q: a link to %q, which is not on the page", name, to)
			}
		}
	}
}

// TestTheStyleIsAllowed: the policy of the page names the digest of the style that it has.
func TestTheStyleIsAllowed(t *testing.T) {
	text := write(t, example())
	_, rest, _ := strings.Cut(text, "<style>")
	css, _, _ := strings.Cut(rest, "</style>")
	digest := sha256.Sum256([]byte(css))
	_, attributes := tags(t, text)
	want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'"
	if css == "" || attributes["content"][0] != want {
		t.Errorf("%q, not %q", attributes["content"], want)
	}
}

// TestAPageIsBounded: a report of very many rows is cut, says so, and has the figures of
// what it left out.
func TestAPageIsBounded(t *testing.T) {
	r := example()
	row, group, one := r.Entries[0], r.Undeclared.Suggestions[0], r.Findings[0]
	for i := range 20_000 {
		row.Name = fmt.Sprintf("e%d", i)
		r.Entries, r.Undeclared.Suggestions, r.Findings = append(r.Entries, row), append(r.Undeclared.Suggestions, group),
			append(r.Findings, one)
		r.Largest, r.Findings[0].Examples = append(r.Largest, r.Largest[0]), append(r.Findings[0].Examples, one.Examples[0])
	}
	text := write(t, r)
	for _, words := range []string{"19005 more rows (-o json)", ">1,900,310<", "19003 more groups", "19002 more findings",
		"19001 more (-o json)", "<title>39856 more:"} {
		if !strings.Contains(text, words) {
			t.Errorf("the page does not say %q", words)
		}
	}
	if len(text) > 4<<20 {
		t.Errorf("the page has %d bytes", len(text))
	}
}

// TestTreemap: the tiles fill the picture, each as large as its share, and none covers
// another.
func TestTreemap(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		var all []tile
		total := 0.0
		for i := range rapid.IntRange(0, 60).Draw(t, "tiles") {
			size := float64(rapid.Int64Range(0, 1<<40).Draw(t, "size"))
			all, total = append(all, tile{Name: fmt.Sprint(i), size: size}), total+size
		}
		made := treemap(all, func(float64) string { return "" })
		area := 0.0
		for i, a := range made {
			x, y, w, h := number(a.X), number(a.Y), number(a.W), number(a.H)
			if x < 0 || y < 0 || x+w > mapWidth+.2 || y+h > mapHeight+.2 {
				t.Fatalf("%+v is outside of the picture", a)
			}
			if math.Abs(w*h-a.size) > .11*(w+h+1) {
				t.Fatalf("%+v has the area %f", a, w*h)
			}
			area += a.size
			for _, b := range made[:i] {
				if x+w > number(b.X)+.2 && number(b.X)+number(b.W) > x+.2 && y+h > number(b.Y)+.2 &&
					number(b.Y)+number(b.H) > y+.2 {
					t.Fatalf("%+v covers %+v", a, b)
				}
			}
		}
		if len(made) > 0 && math.Abs(area-mapWidth*mapHeight) > 1 {
			t.Fatalf("%f of %f", area, mapWidth*mapHeight)
		}
	})
}

// TestRealReport: a report of an audit, with nothing in it.
func TestRealReport(t *testing.T) {
	r := &audit.Report{Verdict: "incomplete", Incomplete: source.Reasons{source.Why(source.Failed, "", errors.New("cut"))}}
	if text := write(t, r); !strings.Contains(text, "Incomplete: ") || strings.Contains(text, "<svg x=") {
		t.Error(text)
	}
}

func number(s string) (f float64) {
	_, _ = fmt.Sscan(s, &f)
	return f
}

// TestThePageIsAccessible: the map is no picture, which would hide its links, and what can be scrolled can be reached by
// the keyboard and has a name.
func TestThePageIsAccessible(t *testing.T) {
	t.Parallel()
	text := write(t, example())
	if strings.Contains(text, `role="img"`) || !strings.Contains(text, `role="group" aria-label="`) {
		t.Error("links are within a picture")
	}
	all := regexp.MustCompile(`<div class="wide"[^>]*>`).FindAllString(text, -1)
	if len(all) < 2 {
		t.Fatalf("%q", all)
	}
	for _, one := range all {
		if !strings.Contains(one, `tabindex="0" role="region" aria-label="`) {
			t.Errorf("%s cannot be reached by the keyboard", one)
		}
	}
}
