package page_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/keywright/keywright/infer/page"
)

// What the reader must reach on pages in the shapes of real ones: shares of the
// patterns and TTLs that a person wrote down.
const (
	rightPatterns = 0.90
	invented      = 0.02
	rightTTLs     = 0.85
)

// score counts what was read of pages against what a person wrote down.
type score struct{ patterns, found, invented, types, rightTypes, ttls, rightTTLs, wrongTTLs int }

func (s *score) add(o score) {
	s.patterns, s.found, s.invented = s.patterns+o.patterns, s.found+o.found, s.invented+o.invented
	s.types, s.rightTypes = s.types+o.types, s.rightTypes+o.rightTypes
	s.ttls, s.rightTTLs, s.wrongTTLs = s.ttls+o.ttls, s.rightTTLs+o.rightTTLs, s.wrongTTLs+o.wrongTTLs
}

func (s score) String() string {
	return fmt.Sprintf("patterns %d of %d (%d invented), types %d of %d, TTLs %d of %d (%d wrong)", s.found, s.patterns,
		s.invented, s.rightTypes, s.types, s.rightTTLs, s.ttls, s.wrongTTLs)
}

var placeholder = regexp.MustCompile(`\{[^{}#]*\}`)

// blank is a pattern without the names of its placeholders.
func blank(p string) string { return placeholder.ReplaceAllString(p, "{}") }

// Pages in the shapes of some forty public ones, in nine languages. Those called
// fresh, new and unseen were written before the rules that read them.
func TestWiki(t *testing.T) {
	pages, err := filepath.Glob("testdata/wiki/*.md")
	if err != nil || len(pages) < 30 {
		t.Fatal(len(pages), err)
	}
	var all score
	groups := map[string]*score{}
	for _, path := range pages {
		one := readPage(t, path)
		name, _, _ := strings.Cut(filepath.Base(path), "-")
		if groups[name] == nil {
			groups[name] = &score{}
		}
		groups[name].add(one)
		all.add(one)
	}
	for name, s := range groups {
		t.Logf("%s: %s", name, s)
	}
	if float64(all.found) < rightPatterns*float64(all.patterns) ||
		float64(all.invented) > invented*float64(all.patterns) || float64(all.rightTTLs) < rightTTLs*float64(all.ttls) ||
		all.wrongTTLs > 0 {
		t.Errorf("%s", all)
	}
}

// TestWhatIsPassedOverIsListed: a key that the reader is not sure of is named, with its
// line.
func TestWhatIsPassedOverIsListed(t *testing.T) {
	const text = "# Keys\n\n- `user:{id}`: hash\n\nThe leader holds `leader:ingest` with a lease of 15s.\n\n```js\n" +
		"await redis.xadd('events', '*', 'a', 1)\nawait redis.incr('visits')\n```\n"
	got := map[string]int{}
	for _, p := range page.Read([]byte(text)).Passed {
		got[p.Text] = p.Line
	}
	for text, line := range map[string]int{"leader:ingest": 5, "events": 8, "visits": 9} {
		if got[text] != line {
			t.Errorf("%s is in line %d: %v", text, line, got)
		}
	}
}

// readPage scores one page; -v shows what is not as a person has it.
func readPage(t *testing.T, path string) score {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wanted, err := os.ReadFile(strings.TrimSuffix(path, ".md") + ".want")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]page.Key{}
	for _, k := range page.Read(text).Keys {
		got[blank(k.Pattern)] = k
	}
	var s score
	say := func(format string, args ...any) {
		t.Logf("%s: %s", filepath.Base(path), fmt.Sprintf(format, args...))
	}
	for _, line := range strings.Split(strings.TrimSpace(string(wanted)), "\n") {
		f := strings.Split(line, " | ")
		if len(f) != 3 {
			t.Fatalf("%s: %q", path, line)
		}
		k, found := got[blank(f[0])]
		delete(got, blank(f[0]))
		s.patterns++
		if f[1] != "?" {
			s.types++
		}
		if f[2] != "?" {
			s.ttls++
		}
		if !found {
			say("missed %s", f[0])
			continue
		}
		s.found++
		switch {
		case f[1] != "?" && k.Type == f[1]:
			s.rightTypes++
		case f[1] != "?":
			say("%s: type %q, want %s", f[0], k.Type, f[1])
		}
		switch {
		case k.TTL == "" && f[2] == "?":
		case k.TTL == f[2]:
			s.rightTTLs++
		case k.TTL == "":
			say("%s: no TTL, want %s", f[0], f[2])
		default:
			s.wrongTTLs++
			say("%s: TTL %q, want %s", f[0], k.TTL, f[2])
		}
	}
	for _, k := range got {
		s.invented++
		say("invented %s (line %d)", k.Pattern, k.Line)
	}
	return s
}
