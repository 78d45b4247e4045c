package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keywright/keywright/keywrighttest"
)

// TestACLReachesReplicas: ACL rules are not replicated, so every server of a
// topology is compared and changed.
func TestACLReachesReplicas(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keyspace.yaml")
	if err := os.WriteFile(file, []byte("keywright: 1\nowner: api\nkeys: {k: {key: \"k:{id}\", type: string, ttl: 1d, readers: [web]}}\n"), 0o600); err != nil {
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
				code := Main(t.Context(), []string{"acl", "diff", "-f", file, "-u", url, "-o", "json"}, Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(string) string { return "" }})
				var plan []struct {
					Changes []any
				}
				if err := json.Unmarshal([]byte(out.String()), &plan); err != nil || code != want || len(plan) != servers {
					t.Fatalf("exit code %d, %d servers, want %d and %d: %v\n%s%s", code, len(plan), want, servers, err, out.String(), errs.String())
				}
				for _, s := range plan {
					if (len(s.Changes) > 0) != (want == 1) {
						t.Errorf("%+v", plan)
					}
				}
			}
			diff(1)
			var out, errs strings.Builder
			if code := Main(t.Context(), []string{"acl", "apply", "--apply", "-f", file, "-u", url}, Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(string) string { return "" }}); code != 0 {
				t.Fatalf("%d %s%s", code, out.String(), errs.String())
			}
			diff(0)
		})
	}
}
