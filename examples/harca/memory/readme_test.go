package memory_test

import (
	"bufio"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/keywright/keywright/examples/internal/sitetest"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// TestReadme sends the requests of README.md to a harcad, gets the answers that it shows, and
// receives the events.
func TestReadme(t *testing.T) {
	gate.Skip(t, "runs a program")
	t.Parallel()
	s := protected(t, keywrighttest.Valkey)
	p := harcad(t, sitetest.URL(s, user))
	at := strings.NewReplacer("localhost:8080", strings.TrimPrefix(p.url, "http://"))
	response, err := http.Get(p.url + "/events")
	must(t, err)
	defer response.Body.Close()
	id := func(before string) *regexp.Regexp { return regexp.MustCompile(before + `"id":"([0-9a-f-]{36})"`) }
	requests := sitetest.Exchanges(t, sitetest.Block(t, "../README.md", "TestReadme sends"), 17)
	sitetest.Play(t, requests, at, map[string]*regexp.Regexp{
		"CONTEXT": regexp.MustCompile(`^{"id":"([0-9a-f-]{36})","name"`), "BATCHED": id(`^{"results":\[{`),
		"ITEM":    regexp.MustCompile(`^{"id":"([0-9a-f-]{36})","version"`),
		"VERSION": regexp.MustCompile(`"version":([1-9][0-9]*)[,}]`),
	}, false)
	lines := bufio.NewScanner(response.Body)
	for _, want := range sitetest.Block(t, "../README.md", "TestReadme hears")[1:] {
		pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*") + "$")
		for lines.Scan() && !pattern.MatchString(lines.Text()) {
		}
		if !pattern.MatchString(lines.Text()) {
			t.Fatalf("not heard: %s", want)
		}
	}
}
