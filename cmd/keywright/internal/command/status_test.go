package command

import (
	"os"
	"strings"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/keywrighttest"
)

// TestStatus: quiet is one line and the exit code 0; dead jobs and entries that a group has not read are reported,
// those that
// do more harm first, with 1; a server that is away is 3.
func TestStatus(t *testing.T) {
	t.Chdir(t.TempDir())
	text := `keywright: 1
package: p
vars: {n: int}
keys:
  jobs: {key: "jobs:{n}", type: queue, ttl: none}
  log: {key: "log:{n}", type: stream, maxlen: 10, ttl: none}
  item: {key: "item:{n}", type: entity, ttl: 1h, fields: {x: int}, index: {x: "items:x"}}
`
	if err := os.WriteFile("keyspace.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	run := func(url, form string) (code int, out, errs string) {
		var o, e strings.Builder
		code = Main(t.Context(), []string{"status", "-u", url, "-o", form},
			cli.Streams{In: strings.NewReader(""), Out: &o, Err: &e, Getenv: func(string) string { return "" }})
		return code, o.String(), e.String()
	}
	if code, out, errs := run(s.URL(), "table"); code != 0 || !strings.Contains(out, "quiet: nothing is wrong") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	s.Do("RPUSH", "jobs:7", "job")
	s.Do("ZADD", "{jobs:7}:dead", "1", "a", "2", "b")
	s.Do("EVAL", `for i = 1, 10 do redis.call('XADD', 'log:1', '*', 'a', 1) end`, "0")
	s.Do("XGROUP", "CREATE", "log:1", "g", "0")
	code, out, errs := run(s.URL(), "json")
	dead, lag := strings.Index(out, `"queue-dead"`), strings.Index(out, `"stream-late"`)
	if code != cli.ExitFindings || dead < 0 || lag < dead || !strings.Contains(out, `"count": 2`) ||
		!strings.Contains(out, `"quiet": false`) {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	if code, out, errs := run(s.URL(), "table"); code != cli.ExitFindings || !strings.Contains(out, "2 dead jobs") ||
		!strings.Contains(errs, "2 things wrong") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	s.Do("ACL", "SETUSER", "blind", "on", ">secret", "~*", "+@all", "-info")
	blind := strings.Replace(s.URL(), "redis://", "redis://blind:secret@", 1)
	if code, _, errs := run(blind, "table"); code != cli.ExitRefused || !strings.Contains(errs, "acl print --self --repair") ||
		!strings.Contains(errs, strings.TrimPrefix(s.URL(), "redis://")+": NOPERM") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	s.Kill()
	if code, out, errs := run(s.URL(), "table"); code != cli.ExitUnreachable {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	cluster := keywrighttest.StartCluster(t, keywrighttest.Redis, 3, 0)
	cluster.Nodes[2].Kill()
	if code, out, errs := run(cluster.URL(), "table"); code != cli.ExitFindings ||
		!strings.Contains(out, "the primary "+cluster.Nodes[2].Addr()+" does not answer") ||
		!strings.Contains(out, "not read: jobs: ") {
		t.Errorf("of a cluster with a dead primary: exit code %d\n%s%s", code, out, errs)
	}
}
