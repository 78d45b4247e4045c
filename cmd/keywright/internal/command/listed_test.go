package command

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// TestAListIsBounded: a plan of more changes than one plan lists has as many as it may, says
// that there are more, and is no plan of all: its exit code is that of what is partial.
func TestAListIsBounded(t *testing.T) {
	gate.Skip(t, "a plan of 100,000 changes")
	t.Chdir(t.TempDir())
	if err := os.WriteFile("keyspace.yaml",
		[]byte("keywright: 1\npackage: p\nkeys:\n  jobs: {key: jobs, type: queue, ttl: none}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := keywrighttest.Start(t, keywrighttest.Redis)
	for from := 0; from < plan.MaxChanges+7; from += 10_000 { // in steps, each of which ends soon
		s.Do("EVAL", `for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do redis.call('ZADD', '{jobs}:dead', i, 'j'..i) end`, "0",
			strconv.Itoa(from), strconv.Itoa(min(from+10_000, plan.MaxChanges+7)-1))
	}
	var out, errs strings.Builder
	code := Main(t.Context(), []string{"queues", "discard", "jobs", "--all", "-o", "json", "-u", s.URL()},
		cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(string) string { return "" }})
	var got struct{ Plan plan.Plan }
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err, code, errs.String())
	}
	p := &got.Plan
	if len(p.Changes) != plan.MaxChanges || p.Total.Change != plan.MaxChanges || len(p.Incomplete) != 1 ||
		p.Incomplete[0].Code != "cut" {
		t.Errorf("%d changes of %+v, %v", len(p.Changes), p.Total, p.Incomplete)
	}
	if code != cli.ExitPartial || !strings.Contains(errs.String(), "more dead jobs than the 100,000 of one plan") ||
		out.Len() > 64<<20 {
		t.Errorf("exit code %d, %d bytes, %s", code, out.Len(), errs.String())
	}
}
