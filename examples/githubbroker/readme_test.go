package githubbroker_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/keywright/keywright/examples/internal/sitetest"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// TestReadme sends the requests of README.md to the programs that it starts, and gets the
// answers that it shows.
func TestReadme(t *testing.T) {
	gate.Skip(t, "runs programs")
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	hub, at := keywrighttest.Address(t), keywrighttest.Address(t)
	brokerd := sitetest.Program(t, "brokerd")
	sitetest.Start(t, nil, sitetest.Program(t, "hubd"), "-http", hub)
	sitetest.Start(t, nil, brokerd, "poll", "-redis", s.URL(), "-github", "http://"+hub, "-repo", "demo/demo", "-poll",
		"50ms")
	sitetest.Start(t, nil, brokerd, "serve", "-redis", s.URL(), "-http", at, "-review-delay", "1h")
	requests := sitetest.Exchanges(t, sitetest.Block(t, "README.md", "TestReadme"), 12)
	sitetest.Play(t, requests, strings.NewReplacer("localhost:8089", hub, "localhost:8090", at),
		map[string]*regexp.Regexp{"TICKET": regexp.MustCompile(`"ticket":"([^"]+)"`)}, true)
}
