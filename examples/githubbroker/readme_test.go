package githubbroker_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/keywright/keywright/keywrighttest"
)

// exchange is a request of README.md and the answer that it shows.
type exchange struct{ method, url, body, want string }

var curl = regexp.MustCompile(`^\$ curl (?:-X (\w+) )?(?:-d '([^']*)' )?(\S+)$`)

// readme reads what README.md asks.
func readme(t *testing.T) (all []exchange) {
	t.Helper()
	text, err := os.ReadFile("README.md")
	must(t, err)
	_, rest, _ := strings.Cut(string(text), "<!-- not run: TestReadme")
	block, _, _ := strings.Cut(rest, "```\n\n")
	for line := range strings.Lines(block) {
		line = strings.TrimSpace(line)
		switch m := curl.FindStringSubmatch(line); {
		case m != nil:
			e := exchange{m[1], "http://" + m[3], m[2], ""}
			if e.method == "" {
				e.method = map[bool]string{true: "GET", false: "POST"}[e.body == ""]
			}
			all = append(all, e)
		case strings.HasPrefix(line, "{"):
			all[len(all)-1].want = line
		}
	}
	if len(all) < 12 {
		t.Fatalf("README.md has %d requests", len(all))
	}
	return all
}

// TestReadme sends the requests of README.md to the programs that it starts, and gets the
// answers that it shows.
func TestReadme(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Brands()[1])
	hub, at := address(t), address(t)
	start(t, nil, program(t, "hubd"), "-http", hub)
	start(t, nil, program(t, "brokerd"), "poll", "-redis", s.URL(), "-github", "http://"+hub, "-repo", "demo/demo", "-poll", "50ms")
	start(t, nil, program(t, "brokerd"), "serve", "-redis", s.URL(), "-http", at, "-review-delay", "1h")
	moved := strings.NewReplacer("localhost:8089", hub, "localhost:8090", at)
	ticket := regexp.MustCompile(`"ticket":"([^"]+)"`)
	last := ""
	for _, e := range readme(t) {
		want := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(e.want), "…", ".*") + "$")
		said := ""
		await(t, fmt.Sprintf("%s %s: it says what README.md says", e.method, e.url), func() bool {
			r, err := http.NewRequestWithContext(t.Context(), e.method, moved.Replace(e.url), strings.NewReader(strings.ReplaceAll(e.body, "TICKET", last)))
			must(t, err)
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				return false
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			must(t, err)
			said = strings.TrimSpace(string(text))
			if !want.MatchString(said) && e.method != "GET" {
				t.Fatalf("%s %s says\n%s\nREADME.md says\n%s", e.method, e.url, said, e.want)
			}
			return want.MatchString(said)
		})
		if m := ticket.FindStringSubmatch(said); m != nil {
			last = m[1]
		}
	}
}
