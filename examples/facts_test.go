package examples

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
)

// teams lists the folders with a keyspace.yaml and a facts.tsv.
var teams = []string{"poppobuilder", "githubbroker", "shop", "harca", "cunningbot"}

// fact represents one row of facts.tsv: something a team's page says. "" is "the page
// does not say".
type fact struct {
	line     int
	kind     string // key, lock, queue, index, ttl, pattern, channel, …
	example  string // the bytes of a key or channel
	pageType string
	kindOf   string // the Redis type declared
	pageTTL  string
	ttl      string // the TTL declared
	entry    string
	note     string // why the declaration differs from the page
}

const header = "kind\texample\tpage_type\ttype\tpage_ttl\tttl\tentry\tnote"

func readFacts(t *testing.T, team string) []fact {
	t.Helper()
	file, err := os.Open(team + "/facts.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var facts []fact
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		if text := lines.Text(); text != header && !strings.HasPrefix(text, "#") {
			facts = append(facts, parseFact(t, fmt.Sprintf("%s/facts.tsv:%d", team, n), n, text))
		}
	}
	if lines.Err() != nil || len(facts) == 0 {
		t.Fatalf("%s/facts.tsv has no facts (%v): a test over nothing proves nothing", team, lines.Err())
	}
	return facts
}

func parseFact(t *testing.T, where string, n int, text string) fact {
	t.Helper()
	c := strings.Split(text, "\t")
	if len(c) < 7 || len(c) > 8 {
		t.Fatalf("%s: %d columns; expected %s", where, len(c), header)
	}
	c = append(c, "")
	for i := range c {
		if c[i] == "-" {
			c[i] = ""
		}
	}
	return fact{n, c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]}
}

// explained reports whether a declaration that differs from the page says why.
func (f fact) explained() bool {
	differs := f.pageType != "" && f.pageType != f.kindOf || f.pageTTL != "" && f.pageTTL != f.ttl
	return !differs || f.note != ""
}
