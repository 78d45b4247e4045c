package command

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
)

// failoverKeyspace has what each verb changes.
const failoverKeyspace = `keywright: 1
package: shop
owner: shop
keys:
  jobs: {doc: d, key: jobs, type: queue, ttl: none}
  note:
    doc: d
    key: note:{id}
    type: entity
    ttl: 1d
    fields: {kind: slug, at: unix_ms}
    index: {kind: "notes:kind:{kind}", at: "notes:at", expires: "notes:ends"}
  token: {doc: d, key: "token:{id}", type: string, value: text encrypted, ttl: none}
  door: {doc: d, key: "door:{id}", type: lock, ttl: 5m}
  user: {doc: d, key: "usr:{id}", was: ["user:{id}"], type: string, value: text, ttl: none}
`

// failing runs verbs on a cluster whose primaries change while they run.
type failing struct {
	t       *testing.T
	cluster *keywrighttest.Cluster
	client  *keywright.Client
	verbs   int // that were run
}

func (f *failing) do(args ...string) string {
	f.t.Helper()
	cmd := f.client.Raw().B().Arbitrary(args[0])
	if len(args) > 1 {
		cmd = cmd.Keys(args[1]).Args(args[2:]...)
	}
	v, err := f.client.Raw().Do(f.t.Context(), cmd.Build()).ToAny()
	if err != nil {
		f.t.Fatalf("%q: %v", args, err)
	}
	return fmt.Sprint(v)
}

// run runs keywright and gives its exit code and what it says.
func (f *failing) run(args ...string) (int, string) {
	var out, errs strings.Builder
	if args[0] != "seal" || args[1] != "key" {
		args = append(args, "-f", "keyspace.yaml", "-u", f.cluster.URL())
	}
	code := Main(f.t.Context(), args,
		cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(string) string { return "" }})
	return code, out.String() + errs.String()
}

// failover makes the replica of the next shard its primary.
func (f *failing) failover() {
	f.t.Helper()
	next := f.verbs % 3
	if f.cluster.Nodes[next].Info("role") == "master" {
		next += 3
	}
	f.verbs++
	f.cluster.Nodes[next].Await("master_link_status", "up")
	f.cluster.Failover(next)
}

// until waits for a condition.
func (f *failing) until(what string, holds func() bool) {
	f.t.Helper()
	expect.Eventually(f.t, what, holds)
}

// WaitInSync waits until all nodes know the primaries, and each replica is in step.
func (f *failing) WaitInSync() {
	f.t.Helper()
	owners := func(n *keywrighttest.Server) (out []string) {
		for _, line := range strings.Split(fmt.Sprint(n.Do("CLUSTER", "NODES")), "\n") {
			if w := strings.Fields(line); len(w) > 8 {
				out = append(out, w[0]+w[8])
			}
		}
		slices.Sort(out)
		return out
	}
	for _, n := range f.cluster.Nodes {
		f.until("all nodes know the primaries", func() bool {
			want := owners(f.cluster.Nodes[0])
			return len(want) == 3 && slices.Equal(owners(n), want)
		})
		if n.Info("role") == "slave" {
			n.Await("master_link_status", "up")
		}
	}
}

// many says how many things a verb changes here, and number the name of one.
const many = 60

func number(i int) string { return strconv.Itoa(100 + i) }

// failoverCase represents a verb: what it finds, and how much is left to do.
type failoverCase struct {
	args []string
	fill func(f *failing, i string)
	left func(f *failing) int
}

// there counts the keys that are there, or that have a TTL.
func there(command, prefix, is string) func(f *failing) int {
	return func(f *failing) (n int) {
		for i := range many {
			if f.do(command, prefix+number(i)) == is {
				n++
			}
		}
		return n
	}
}

var failoverCases = map[string]failoverCase{
	"rename": {[]string{"rename"},
		func(f *failing, i string) { f.do("SET", "user:"+i, "x") },
		func(f *failing) int {
			return there("EXISTS", "user:", "1")(f) + there("EXISTS", "usr:", "0")(f) + there("TTL", "usr:", "-2")(f)
		}},
	"locks break": {lockArgs(),
		func(f *failing, i string) { f.do("SET", "door:"+i, "host-1/"+i, "EX", "300") }, there("EXISTS", "door:", "1")},
	"queues retry": {[]string{"queues", "retry", "jobs", "--all"},
		func(f *failing, i string) {
			f.do("SET", "{jobs}:job:j"+i, "q1 1 - 0 - -\nx")
			f.do("HSET", "{jobs}:runs", "j"+i, "- 6 5 1 0 0 r1\nwhy\n")
			f.do("ZADD", "{jobs}:dead", "1", "j"+i)
		},
		func(f *failing) int { n, _ := strconv.Atoi(f.do("LLEN", "jobs")); return max(many-n, n-many) }},
	"entities repair": {[]string{"entities", "repair"},
		func(f *failing, i string) {
			f.do("HSET", "note:"+i, "kind", "a", "at", i)
			f.do("EXPIRE", "note:"+i, "80000")
		},
		func(f *failing) int { n, _ := strconv.Atoi(f.do("ZCARD", "notes:at")); return many - n }},
	"seal adopt": {[]string{"seal", "adopt", "--keys-file", "ring.json"},
		func(f *failing, i string) { f.do("SET", "token:"+i, "plain") }, there("GET", "token:", "plain")},
	"acl apply": {[]string{"acl", "apply"}, func(*failing, string) {},
		func(f *failing) int { code, _ := f.run("acl", "diff"); return code }},
}

func lockArgs() []string {
	args := []string{"locks", "break"}
	for i := range many {
		args = append(args, "door:"+number(i))
	}
	return args
}

// TestVerbsOnAClusterThatFailsOver: each verb that changes what is known by name does it on
// three shards with replicas, while (but in the gate) a replica becomes the primary of a shard: what one run has
// not done, the next one does, nothing twice. A plan of before is refused by its name, also in
// the moment after a failover in which not all nodes know of it.
func TestVerbsOnAClusterThatFailsOver(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("keyspace.yaml", []byte(failoverKeyspace), 0o600); err != nil {
		t.Fatal(err)
	}
	replicas := 0 // in the gate no primary changes
	if gate.All() {
		replicas = 1
	}
	cluster := keywrighttest.StartCluster(t, keywrighttest.Valkey, 3, replicas)
	c := servertest.Open(t, cluster.URL())
	f := &failing{t: t, cluster: cluster, client: c}
	if code, said := f.run("seal", "key", "ring.json"); code != 0 {
		t.Fatal(said)
	}
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range failoverCases {
			if !yield(name) {
				return
			}
		}
	}) {
		f.verb(name, failoverCases[name])
	}
}

// nothingLeft checks that the next plan has nothing to change.
func (f *failing) nothingLeft(name string, c failoverCase) {
	f.t.Helper()
	code, said := f.run(append(slices.Clone(c.args), "-o", "json")...)
	var report struct {
		Plan *struct {
			Total *struct{ Change *int64 }
		}
	}
	err := json.NewDecoder(strings.NewReader(said)).Decode(&report)
	if p := report.Plan; code > 1 || err != nil || p == nil || p.Total == nil || p.Total.Change == nil ||
		*p.Total.Change != 0 {
		f.t.Errorf("%s, once more: exit code %d\n%s", name, code, said)
	}
}

func (f *failing) verb(name string, c failoverCase) {
	f.t.Helper()
	for i := range many {
		c.fill(f, number(i))
	}
	all := c.left(f)
	if all == 0 {
		f.t.Fatalf("%s has nothing to do", name)
	}
	if !gate.All() {
		if code, said := f.run(append(slices.Clone(c.args), "--apply")...); code != 0 || c.left(f) != 0 {
			f.t.Errorf("%s: exit code %d, %d of %d are left to do\n%s", name, code, c.left(f), many, said)
		}
		f.nothingLeft(name, c)
		return
	}
	old := filepath.Join(f.t.TempDir(), "old.plan")
	if code, said := f.run(append(slices.Clone(c.args), "--plan", old)...); code != 0 {
		f.t.Fatalf("%s --plan: exit code %d\n%s", name, code, said)
	}
	ended := make(chan string, 1)
	go func() {
		code, said := f.run(append(slices.Clone(c.args), "--apply", "--rate", strconv.Itoa(2*many))...)
		ended <- fmt.Sprintf("exit code %d\n%s", code, said)
	}()
	var first string
	for begun := name == "acl apply"; first == "" && !begun; {
		select {
		case first = <-ended:
		default:
			begun = c.left(f) < all
		}
	}
	f.failover()
	if first == "" {
		first = <-ended
	}
	for range 3 {
		if c.left(f) == 0 {
			break
		}
		code, said := f.run(append(slices.Clone(c.args), "--apply")...)
		first += fmt.Sprintf("again: exit code %d\n%s", code, said)
	}
	if left := c.left(f); left != 0 {
		f.t.Errorf("%s: %d of %d are left to do:\n%s", name, left, many, first)
	}
	f.WaitInSync()
	f.nothingLeft(name, c)
	fresh := filepath.Join(f.t.TempDir(), "fresh.plan")
	if code, said := f.run(append(slices.Clone(c.args), "--plan", fresh)...); code > 1 {
		f.t.Errorf("%s --plan: exit code %d\n%s", name, code, said)
	}
	f.failover()
	for _, plan := range []string{old, fresh} { // at once: not all nodes know of it yet
		apply := []string{"apply", plan}
		if strings.HasPrefix(name, "seal") {
			apply = append(apply, "--keys-file", "ring.json")
		}
		if code, said := f.run(apply...); code != cli.ExitRefused || !strings.Contains(said, "failed-over") {
			f.t.Errorf("%s: a plan of before the failover: exit code %d\n%s", name, code, said)
		}
	}
	f.WaitInSync()
}
