package command

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/keywright/keywright/keywrighttest"
)

// TestNamedJobsAreLookedUp: a job that is named is looked up, and not searched for page by page, in which it is missed
// while others come and go, and is then reported as missing.
func TestNamedJobsAreLookedUp(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	t.Chdir(t.TempDir())
	text := "keywright: 1\npackage: p\nowner: o\nkeys:\n  jobs: {doc: d, key: jobs, type: queue, ttl: none}\n"
	if err := os.WriteFile("keyspace.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Do("EVAL", `for i = 1, 2500 do
	for _, place in ipairs({'delayed', 'dead'}) do
		local id = place..i
		redis.call('SET', '{jobs}:job:'..id, 'q1 1 - 0 - -\nx')
		redis.call('ZADD', '{jobs}:'..place, 2000000000000 + i, id)
	end
end`, "0")
	for _, c := range []struct{ verb, named string }{{"run", "delayed"}, {"retry", "dead"}, {"discard", "dead"}} {
		s.Do("CONFIG", "RESETSTAT")
		said := runDocument(t, s, documentRun{"", 1, fmt.Sprintf("queues %s jobs -u URL %s1 %s1250 nosuch", c.verb, c.named,
			c.named), ""})
		if !strings.Contains(said, "2 jobs") {
			t.Errorf("%s: %s", c.verb, said)
		}
		if stats := fmt.Sprint(s.Do("INFO", "commandstats")); strings.Contains(stats, "cmdstat_zrange:") {
			t.Errorf("%s looks through the jobs: %s", c.verb, stats)
		}
	}
}
