package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// TestACLReachesReplicas: ACL rules are not replicated, so every server of a
// topology is compared and changed.
func TestACLReachesReplicas(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keyspace.yaml")
	if err := os.WriteFile(file,
		[]byte("keywright: 1\nowner: api\nkeys: {k: {key: \"k:{id}\", type: string, ttl: 1d, readers: [web]}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	topologies := map[string]func() (url string, servers int){
		"cluster":  func() (string, int) { return keywrighttest.StartCluster(t, keywrighttest.Redis, 3, 1).URL(), 6 },
		"sentinel": func() (string, int) { return keywrighttest.StartSentinel(t, keywrighttest.Valkey, 2, 3).URL(), 3 },
	}
	for name, start := range topologies {
		t.Run(name, func(t *testing.T) {
			url, servers := start()
			diff := func(want int) {
				t.Helper()
				var out, errs strings.Builder
				code := Main(t.Context(), []string{"acl", "diff", "-f", file, "-u", url, "-o", "json"},
					cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(string) string { return "" }})
				var report struct{ Servers []struct{ Changes []any } }
				if err := json.Unmarshal([]byte(out.String()), &report); err != nil || code != want ||
					len(report.Servers) != servers {
					t.Fatalf("exit code %d, %d servers, want %d and %d: %v\n%s%s", code, len(report.Servers), want, servers, err,
						out.String(), errs.String())
				}
				for _, s := range report.Servers {
					if (len(s.Changes) > 0) != (want == 1) {
						t.Errorf("%+v", report)
					}
				}
			}
			diff(1)
			var out, errs strings.Builder
			if code := Main(t.Context(), []string{"acl", "apply", "--apply", "-f", file, "-u", url},
				cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs,
					Getenv: func(string) string { return "" }}); code != 0 {
				t.Fatalf("%d %s%s", code, out.String(), errs.String())
			}
			diff(0)
		})
	}
}

// TestTheRepairUserRepairs: the user of `acl print --repair` may do what queues,
// entities and locks need, and read rankings.
func TestTheRepairUserRepairs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keyspace.yaml")
	text := "keywright: 1\npackage: p\nkeys:\n  jobs: {key: jobs, type: queue, ttl: none}\n  item: {key: \"item:{id}\", type: entity, ttl: 1h, fields: {n: int}, index: {n: \"items:n\"}}\n  held: {key: \"held:{id}\", type: lock, ttl: 1m}\n" +
		"  board: {key: \"board:{day}\", type: ranking, member: text, ttl: 7d, cached: 1m}\nvars: {day: date YYYY-MM-DD}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(want int, args ...string) string {
		t.Helper()
		var out, errs strings.Builder
		if code := Main(t.Context(), append(args, "-f", file),
			cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs,
				Getenv: func(string) string { return "" }}); code != want {
			t.Fatalf("%q: exit code %d\n%s%s", args, code, out.String(), errs.String())
		}
		return out.String()
	}
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		s := keywrighttest.Start(t, brand)
		words := strings.Fields(run(0, "acl", "print", "--repair"))
		if got := s.Do(append([]string{"ACL", "SETUSER"}, append(words[1:], ">word")...)...); got != "OK" {
			t.Fatal(got)
		}
		s.Do("SET", "{jobs}:job:7", "1763774000000 1 0 - -\nx")
		s.Do("HSET", "item:1", "n", "1")
		s.Do("PEXPIRE", "item:1", "60000")
		url := "redis://keywright-repair:word@" + s.Addr()
		run(0, "queues", "repair", "jobs", "--apply", "-u", url)
		run(0, "entities", "repair", "item", "--apply", "-u", url)
		s.Do("SET", "held:1", "host-1/token", "PX", "60000")
		run(0, "queues", "-u", url)
		run(0, "queues", "jobs", "--dead", "-u", url)
		if got := run(0, "locks", "-u", url); !strings.Contains(got, "host-1") {
			t.Errorf("%s: %s", brand, got)
		}
		s.Do("ZADD", "board:2025-01-15", "3", "first", "2", "second")
		for _, args := range [][]string{{"rankings"}, {"rankings", "top", "board:2025-01-15"},
			{"rankings", "around", "board:2025-01-15", "second"}} {
			if got := run(0, append(args, "-u", url)...); !strings.Contains(got, "first") {
				t.Errorf("%s: %s", brand, got)
			}
		}
		if got := s.Do("ACL", "DRYRUN", "keywright-repair", "ZADD", "board:2025-01-15", "1", "x"); got == "OK" {
			t.Errorf("%s: it may write to a ranking", brand)
		}
		run(0, "locks", "break", "held:1", "--apply", "-u", url)
		run(0, "entities", "-u", url)
		run(0, "entities", "index", "--apply", "-u", url)
		if got := s.Do("EXISTS", "held:1"); got != int64(0) {
			t.Errorf("%s: the lock is still held: %v", brand, got)
		}
		if got := s.Do("LRANGE", "jobs", "0", "-1"); len(got.([]any)) != 1 {
			t.Errorf("%s: the lost job is not back: %v", brand, got)
		}
		if got := s.Do("ZSCORE", "items:n", "1"); got == nil {
			t.Errorf("%s: the item is not in its index", brand)
		}
	}
}
