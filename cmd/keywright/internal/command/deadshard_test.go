package command

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/keywrighttest"
)

const shardedKeyspace = `keywright: 1
package: p
owner: shop
owns: ["user:*", "junk:*"]
keys:
  user: {doc: A user., key: "user:{id}", type: string, ttl: 1h}
cleanup:
  - {match: "junk:*", idle: 1h}
`

// withDeadShard returns a cluster of three shards with keys, of which one is dead. The others answer.
func withDeadShard(t *testing.T, b keywrighttest.Brand) *keywrighttest.Cluster {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("keyspace.yaml", []byte(shardedKeyspace), 0o600); err != nil {
		t.Fatal(err)
	}
	c := keywrighttest.StartCluster(t, b, 3, 0)
	for _, n := range c.Nodes {
		n.Do("CONFIG", "SET", "cluster-require-full-coverage", "no")
	}
	for i := range 60 {
		for _, name := range []string{fmt.Sprint("user:", i), fmt.Sprint("junk:", i)} {
			if !slices.ContainsFunc(c.Nodes,
				func(n *keywrighttest.Server) bool { _, err := n.Try("SET", name, "v"); return err == nil }) {
				t.Fatalf("no node takes %s", name)
			}
		}
	}
	for i := range 1000 { // one finding that no other shard has
		if _, err := c.Nodes[2].Try("HSET", fmt.Sprint("user:hash", i), "f", "v"); err == nil {
			break
		}
	}
	if code, out, errs := runLine(t,
		"audit --baseline old.json --update-baseline --progress none -u "+c.URL()); code != cli.ExitClean {
		t.Fatalf("exit code %d\n%s\n%s", code, out, errs)
	}
	c.Nodes[2].Kill()
	return c
}

// TestADeadShardIsSaid: what reads without a shard says so in the table, in the document and on the
// exit line; nothing is clean, and nothing of a baseline is gone.
func TestADeadShardIsSaid(t *testing.T) {
	b := keywrighttest.Redis // what is done without a shard is the client's doing, whatever the servers are
	c := withDeadShard(t, b)
	old, err := os.ReadFile("old.json")
	if err != nil || !strings.Contains(string(old), "KW504") {
		t.Fatal(string(old), err)
	}
	missing := "shard " + c.Nodes[2].Addr() + " is missing"
	for _, r := range []struct{ args, out string }{
		{"ls", "INCOMPLETE: " + missing}, {"ls -o jsonl", ""}, {"ls -o names", ""},
		{"top", "INCOMPLETE: " + missing}, {"top -o json", `"complete": false`}, {"top -o csv", ""},
		{"infer", "# INCOMPLETE: " + missing},
		{"audit", "INCOMPLETE: " + missing}, {"audit -o json", `"verdict": "incomplete"`},
		{"audit -o jsonl", `"verdict":"incomplete"`},
		{"audit -o html", "Incomplete: " + missing}, {"audit -o junit", missing}, {"audit -o sarif", missing},
		{"audit -o github", "::error title=incomplete::" + missing}, {"audit -o csv", ""}, {"audit --keys-of KW505", ""},
		{"audit --baseline none.json --update-baseline", "INCOMPLETE: " + missing},
		{"audit --baseline old.json", "INCOMPLETE: " + missing},
		{"audit --baseline old.json --update-baseline", "INCOMPLETE: " + missing},
	} {
		code, out, errs := runLine(t, r.args+" --progress none -u "+c.URL())
		if code != cli.ExitPartial || !strings.Contains(out, r.out) || !strings.Contains(errs, missing) ||
			!strings.Contains(errs, "start the node") {
			t.Errorf("%s: exit code %d\n%s\n%s", r.args, code, out, errs)
		}
		if strings.Contains(out, "Clean") ||
			strings.Contains(strings.NewReplacer(`"gone_keys"`, "", "are not gone", "").Replace(out+errs), "gone") {
			t.Errorf("%s: says more than it knows\n%s\n%s", r.args, out, errs)
		}
	}
	if now, err := os.ReadFile("old.json"); err != nil || string(now) != string(old) {
		t.Errorf("the baseline of all shards is now %s, %v", now, err)
	}
	if _, err := os.Stat("none.json"); err == nil {
		t.Error("an incomplete audit was made a baseline")
	}
	if code, out, _ := runLine(t, "doctor -u "+c.URL()); code != cli.ExitFindings ||
		!strings.Contains(out, "not known: the node "+c.Nodes[2].Addr()) {
		t.Errorf("doctor: exit code %d\n%s", code, out)
	}
}

// TestADeadShardChangesNothing: what changes or copies keys is refused while a shard is dead, before
// it has changed any.
func TestADeadShardChangesNothing(t *testing.T) {
	b := keywrighttest.Redis // what is done without a shard is the client's doing, whatever the servers are
	c := withDeadShard(t, b)
	other := keywrighttest.Start(t, b)
	state := func() string {
		return fmt.Sprint(c.Nodes[0].Do("DBSIZE"), c.Nodes[1].Do("DBSIZE"), c.Nodes[0].Info("expires"),
			c.Nodes[0].Do("INFO", "keyspace"), c.Nodes[1].Do("INFO", "keyspace"))
	}
	before := state()
	for _, args := range []string{
		"clean", "clean --apply", "delete --entry user", "delete --entry user --apply", "ttl", "ttl --apply",
		"rename --map user:{id}=usr:{id}", "rename --map user:{id}=usr:{id} --apply", "backup --to all.kwa",
		"copy " + c.URL() + " " + other.URL(), "copy " + c.URL() + " " + other.URL() + " --apply",
	} {
		line := args + " --progress none"
		if !strings.HasPrefix(args, "copy") {
			line += " -u " + c.URL()
		}
		code, out, errs := runLine(t, line)
		if code != cli.ExitUnreachable && code != cli.ExitPartial || !strings.Contains(errs, c.Nodes[2].Addr()) {
			t.Errorf("%s: exit code %d\n%s\n%s", args, code, out, errs)
		}
		if after := state(); after != before {
			t.Fatalf("%s has changed keys: %s\n%s", args, before, after)
		}
	}
	if n := fmt.Sprint(other.Do("DBSIZE")); n != "0" {
		t.Errorf("%s keys were copied of a part of a cluster, as if it were all", n)
	}
	if _, err := os.Stat("all.kwa"); err == nil {
		t.Error("an archive of a part of a cluster has the name of a whole one")
	}
}

// runLine returns a command in this process.
func runLine(t *testing.T, line string) (code int, out, errs string) {
	t.Helper()
	var o, e strings.Builder
	code = Main(t.Context(), strings.Fields(line),
		cli.Streams{In: strings.NewReader(""), Out: &o, Err: &e, Getenv: func(string) string { return "" }})
	return code, o.String(), e.String()
}
