//go:build unix

package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keywright/keywright/keywrighttest"
)

// TestServeOneDatabase: --db is the database of all that is shown and of all that is changed, also
// database 0 where the URL names another one.
func TestServeOneDatabase(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	s.Do("EVAL", `for i, db in ipairs({'0', '3'}) do
  redis.call('SELECT', db)
  for n = 1, 2 * i do redis.call('SET', 'user:' .. db .. n, n) end
  for n = 1, 10 * i do
    redis.call('SET', '{jobs}:job:' .. n, 'q1 1 - 0 - -\nx')
    redis.call('HSET', '{jobs}:runs', n, '- 7 3 1 0 0 r1\nrefused\n')
    redis.call('ZADD', '{jobs}:dead', 1700000000000 + n, n)
  end
end`, "0")
	dir := t.TempDir()
	declaration := filepath.Join(dir, "keyspace.yaml")
	if err := os.WriteFile(declaration, []byte("keywright: 1\nkeys:\n  jobs: {key: jobs, type: queue, ttl: none}\n"+
		"  user: {key: \"user:{id}\", type: string, ttl: 1h}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for db, want := range map[string]struct {
		keys, jobs int64
		url, mine  string
		other      string
	}{
		"0": {2, 10, s.URL() + "?db=3", "user:01", "user:31"},
		"3": {4, 20, s.URL(), "user:31", "user:01"},
	} {
		t.Run(db, func(t *testing.T) {
			url, stop := serving(t, "-f", declaration, "-u", want.url, "--db", db, "--store", "none", "--allow-apply",
				"--plans", filepath.Join(t.TempDir(), "plans"))
			p := opened(t, url)
			for ask, change := range map[string]int64{
				`{"verb":"ttl","select":{"entry":"user"}}`:                                             want.keys,
				`{"verb":"queues.discard","select":{"entry":"jobs","instance":"-","error":"refused"}}`: want.jobs,
			} {
				made := p.post("plans", ask, http.StatusOK)
				if made = p.until(made.ID, "planned", "refused"); made.State != "planned" || made.Change != change {
					t.Errorf("%s: %+v, not %d changes", ask, made, change)
				}
			}
			for key, there := range map[string]bool{want.mine: true, want.other: false} {
				text, _ := get(t, url+"api/v1/t/default/explain?key="+key, http.StatusOK)
				if strings.Contains(text, `"exists":true`) != there {
					t.Errorf("%s: %s", key, text)
				}
			}
			changing(t, url, func() bool {
				text, _ := get(t, url+"api/v1/t/default/queues/jobs/-", http.StatusOK)
				return strings.Contains(text, `"jobs":`+map[string]string{"0": "10", "3": "20"}[db])
			})
			stop()
		})
	}
}
