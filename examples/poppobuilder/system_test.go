package poppobuilder_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	poppo "github.com/keywright/keywright/examples/poppobuilder"
	"github.com/keywright/keywright/examples/poppobuilder/poppokeys"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/keywrighttest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// await waits for a condition that must come to hold.
func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			t.Fatalf("after a minute: %s", what)
		case <-tick.C:
		}
	}
}

// programs are what the tests run: the daemon, the agents, and keywright.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "poppo")
	if err != nil {
		return "", err
	}
	for _, c := range [][]string{
		{".", "go", "build", "-o", filepath.Join(dir, "poppobuilderd"), "./poppobuilderd"},
		{"../../cmd/keywright", "go", "build", "-o", filepath.Join(dir, "keywright"), "."},
		{"worker", "node", "node_modules/typescript/bin/tsc"},
	} {
		cmd := exec.Command(c[1], c[2:]...)
		cmd.Dir = c[0]
		if c[0] != "." {
			cmd.Env = append(os.Environ(), "GOWORK=")
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return dir, fmt.Errorf("%s: %w\n%s(scripts/install-test-deps.sh installs what tests need)", strings.Join(c[1:], " "), err, out)
		}
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, _ := programs(); dir != "" {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// site is what runs in one namespace.
type site struct {
	t         *testing.T
	server    *keywrighttest.Server
	namespace string
	d         *poppo.Daemon // of the test: it works on nothing
	http      string
	backups   string
	running   map[string]*exec.Cmd
}

func open(t *testing.T, s *keywrighttest.Server, namespace string) *site {
	t.Helper()
	c, err := keywright.Open(t.Context(), s.URL(), keywright.Options{Attempts: 16})
	must(t, err)
	t.Cleanup(c.Close)
	d, err := poppo.New(c, poppo.Options{Name: "test", Namespace: namespace, Lease: 2 * time.Second})
	must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, l.Close())
	at := &site{t: t, server: s, namespace: namespace, d: d, http: l.Addr().String(), backups: t.TempDir(), running: map[string]*exec.Cmd{}}
	t.Cleanup(func() {
		for name := range at.running {
			at.kill(name)
		}
	})
	return at
}

// start runs a daemon or an agent, or runs it again.
func (at *site) start(name string, first bool) {
	dir, err := programs()
	must(at.t, err)
	cmd := exec.Command(filepath.Join(dir, "poppobuilderd"), "-redis", at.server.URL(), "-namespace", at.namespace, "-name", name, "-heartbeat", "3s", "-lease", "2s",
		"-look", "100ms", "-upkeep", "300ms", "-mirin-wait", "20s", "-backup", at.backups, "-keywright", filepath.Join(dir, "keywright"))
	if first {
		cmd.Args = append(cmd.Args, "-http", at.http, "-mirin")
	}
	if strings.HasPrefix(name, "agent") {
		cmd = exec.Command("node", "worker/build/worker.js", "--redis", at.server.URL(), "--namespace", at.namespace, "--name", name, "--heartbeat", "3000", "--takeover", "1500",
			"--", "sh", "-c", `read -r said; sleep 0.1; case "$said" in *slow*) sleep 60;; *fail*) echo "failed: $said"; exit 1;; esac; echo "done: $said"`)
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	must(at.t, cmd.Start())
	at.running[name] = cmd
	at.t.Cleanup(func() {
		if at.t.Failed() {
			at.t.Logf("%s in %s said:\n%s", name, at.namespace, said.String())
		}
	})
}

func (at *site) kill(name string) {
	if cmd := at.running[name]; cmd != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		delete(at.running, name)
	}
}

// ask sends a request to the first daemon, until it listens.
func (at *site) ask(method, path string, body, into any) {
	at.t.Helper()
	text, err := json.Marshal(body)
	must(at.t, err)
	var last error
	await(at.t, "an answer to "+path, func() bool {
		r, err := http.NewRequestWithContext(at.t.Context(), method, "http://"+at.http+path, bytes.NewReader(text))
		must(at.t, err)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			last = err
			return false
		}
		defer answer.Body.Close()
		said, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode == http.StatusServiceUnavailable {
			last = errors.Join(err, errors.New(string(said)))
			return false
		}
		if answer.StatusCode != http.StatusOK {
			at.t.Fatalf("%s %s: %d %s", method, path, answer.StatusCode, said)
		}
		if into != nil {
			must(at.t, json.Unmarshal(said, into))
		}
		return true
	})
	_ = last
}

func (at *site) submit(t poppo.Task) string {
	at.t.Helper()
	var said struct{ ID string }
	at.ask("POST", "/tasks", t, &said)
	return said.ID
}

func (at *site) status() poppo.Status {
	at.t.Helper()
	s, err := at.d.Status(at.t.Context())
	must(at.t, err)
	return s
}

// quiet is whether nothing waits, works or is to be repaired.
func (at *site) quiet() bool {
	s := at.status()
	zombies, err := at.d.Keys().ProcessesZombies().Len(at.t.Context())
	must(at.t, err)
	for _, n := range s.Waiting {
		if n > 0 {
			return false
		}
	}
	return s.Running == 0 && len(s.Processing) == 0 && len(s.Active) == 0 && zombies == 0
}

// TestSystem: two namespaces on one server, daemons in Go and agents in TypeScript in
// each. Whatever is killed, each task has one outcome and is counted once, the dead
// are found, and nothing is left.
func TestSystem(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Brands()[0])
	at, other := open(t, s, "poppo"), open(t, s, "poppo-test")
	for _, name := range []string{"poppo", "second", "agenta", "agentb"} {
		at.start(name, name == "poppo")
	}
	other.start("poppo", true)
	other.start("agenta", false)

	const tasks, elsewhere = 24, 4
	ids := map[string]int64{}
	for i := range int64(tasks) {
		ids[at.submit(poppo.Task{Issue: 100 + i/2, Prompt: fmt.Sprintf("task %d", i), Priority: []poppokeys.Priority{"", "high", "low"}[i%3]})] = 100 + i/2
	}
	for i := range int64(elsewhere) {
		other.submit(poppo.Task{Issue: 100 + i, Prompt: "elsewhere"})
	}
	if len(ids) != tasks || ids["task-1"] == 0 || ids[fmt.Sprint("task-", tasks)] == 0 {
		t.Errorf("the ids are not task-1 to task-%d: %v", tasks, ids)
	}
	asked := map[string]string{
		at.submit(poppo.Task{Issue: 300, Prompt: "please", Ask: true}): "done: please",
		at.submit(poppo.Task{Issue: 301, Prompt: "now", Ask: true}):    "Mirin: it does not say please",
		at.submit(poppo.Task{Issue: 302, Prompt: "now!", Ask: true}):   "Mirin: ",
		at.submit(poppo.Task{Issue: 303, Prompt: "this will fail"}):    "failed: this will fail",
	}
	random := rand.New(rand.NewPCG(5, 8))
	for i := range 8 { // each time when there is something to lose
		before := at.ended()
		await(t, "another task is over", func() bool { return at.ended() > before || at.ended() == tasks+4 })
		victim := []string{"agenta", "second", "agentb", "poppo"}[(i+random.IntN(2))%4]
		at.kill(victim)
		at.start(victim, victim == "poppo")
	}
	await(t, "all is done", func() bool { return at.ended() == tasks+4 && at.quiet() })
	await(t, "all is done elsewhere", func() bool { return other.ended() == elsewhere && other.quiet() })

	for id := range ids {
		out, err := at.d.Keys().TaskOutcome(id).Get(t.Context())
		must(t, err)
		if !out.Ok || !strings.HasPrefix(out.Text, "done: task ") {
			t.Errorf("%s: %+v", id, out)
		}
	}
	for id, want := range asked {
		if out, err := at.d.Keys().Tasks().Result(t.Context(), id); err != nil || !strings.HasPrefix(out, want) {
			t.Errorf("%s: %q, %v, want %q", id, out, err, want)
		}
	}
	at.figures(tasks+1, 3)
	other.figures(elsewhere, 0)
	at.issue(100, "completed")
	at.issue(303, "failed")
	at.sessions()
	at.ask("PUT", "/settings", map[string]any{"claude_timeout": time.Second}, nil)
	await(t, "the new limit", func() bool {
		var s poppo.Settings
		at.ask("GET", "/settings", nil, &s)
		return s.ClaudeTimeout == time.Second
	})
	slow := at.submit(poppo.Task{Issue: 304, Prompt: "slow"})
	await(t, "an agent gives a slow task up", func() bool {
		out, err := at.d.Keys().Tasks().Result(t.Context(), slow)
		return err == nil && out == "ended by SIGKILL"
	})
	await(t, "all is done again", at.quiet)
	for _, x := range []*site{at, other} {
		await(t, "a backup", func() bool { _, err := x.d.Keys().BackupLast().Get(t.Context()); return err == nil })
		x.backedUp()
		for name := range x.running {
			x.kill(name)
		}
	}
	declared(t, s, "poppo", "poppo-test")
}

// ended counts tasks whose end is in the figures.
func (at *site) ended() int {
	at.t.Helper()
	return int(at.count("completed") + at.count("failed"))
}

// count is a figure of today and of yesterday: a test may run over midnight.
func (at *site) count(name string) (n int64) {
	at.t.Helper()
	for _, day := range []time.Time{time.Now().UTC(), time.Now().UTC().AddDate(0, 0, -1)} {
		figures, err := at.d.Keys().StatsIssuesDaily(day).All(at.t.Context())
		must(at.t, err)
		n += figures[name]
	}
	return n
}

// sessions are made, read by their id, and live for 30 days.
func (at *site) sessions() {
	at.t.Helper()
	var made struct{ ID string }
	at.ask("POST", "/sessions", map[string]string{"user": "hana"}, &made)
	var s poppokeys.SessionValue
	at.ask("GET", "/sessions/"+made.ID, nil, &s)
	if left := at.server.Do("PTTL", at.namespace+":session:"+made.ID).(int64); s.User != "hana" || left < 29*86_400_000 || left > 30*86_400_000 {
		at.t.Errorf("the session %+v lives %d ms", s, left)
	}
}

// figures are those of today and of this hour: each task once.
func (at *site) figures(completed, failed int64) {
	at.t.Helper()
	if c, f := at.count("completed"), at.count("failed"); c != completed || f != failed {
		at.t.Errorf("%s: %d completed and %d failed, want %d and %d", at.namespace, c, f, completed, failed)
	}
	hours, err := at.d.Keys().StatsPerformanceHourly().All(at.t.Context())
	must(at.t, err)
	var runs int64
	for _, text := range hours {
		var hour struct{ Runs int64 }
		must(at.t, json.Unmarshal(text, &hour))
		runs += hour.Runs
	}
	if runs != completed+failed {
		at.t.Errorf("%s has %d runs by the hour, want %d", at.namespace, runs, completed+failed)
	}
	if n, err := at.d.Keys().MetricsMemoryHistory().Len(at.t.Context()); err != nil || n == 0 {
		at.t.Errorf("%d samples of memory: %v", n, err)
	}
	if _, err := at.d.Keys().MetricsCPUCurrent().Get(at.t.Context()); err != nil {
		at.t.Errorf("no CPU use: %v", err)
	}
}

func (at *site) issue(n int64, want string) {
	at.t.Helper()
	i, err := at.d.Issue(at.t.Context(), n)
	if err != nil || i.Status != want || i.Metadata["status"] != want || i.Metadata["task"] == "" {
		at.t.Errorf("issue %d: %+v, %v; want %s", n, i, err, want)
	}
}

// backedUp: the archive of the day holds keys of its namespace, and no others.
func (at *site) backedUp() {
	at.t.Helper()
	last, err := at.d.Keys().BackupLast().Get(at.t.Context())
	must(at.t, err)
	dir, err := programs()
	must(at.t, err)
	out, err := exec.Command(filepath.Join(dir, "keywright"), "archive", "ls", last.File).CombinedOutput()
	must(at.t, err)
	n := 0
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, ":") {
			n++
			if !strings.Contains(line, at.namespace+":") {
				at.t.Errorf("the backup of %s holds %s", at.namespace, line)
			}
		}
	}
	if n == 0 {
		at.t.Errorf("the backup of %s is empty:\n%s", at.namespace, out)
	}
}

// declared: every key of the server is in one of the namespaces, is declared there and
// nowhere else, and has the TTL that is declared.
func declared(t *testing.T, s *keywrighttest.Server, namespaces ...string) {
	t.Helper()
	spaces := map[string]func(string) *keyspace.Key{}
	for _, ns := range namespaces {
		spaces[ns] = finder(t, ns)
	}
	for _, key := range s.Do("SCAN", "0", "COUNT", "100000").([]any)[1].([]any) {
		name := key.(string)
		homes := 0
		for ns, find := range spaces {
			k := find(name)
			if k == nil {
				continue
			}
			homes++
			if !strings.HasPrefix(name, ns+":") {
				t.Errorf("%s is outside of %s", name, ns)
			}
			left := s.Do("PTTL", name).(int64) // -2: it has ended meanwhile
			if k.TTL.Policy == keyspace.TTLExpires && left == -1 || k.TTL.Policy == keyspace.TTLNone && left >= 0 {
				t.Errorf("%s lives %d ms, declared: %s", name, left, k.TTL.Text)
			}
		}
		if homes != 1 {
			t.Errorf("%s is declared in %d namespaces", name, homes)
		}
	}
}

// finder finds the declared key that a key belongs to in a namespace.
func finder(t *testing.T, namespace string) func(string) *keyspace.Key {
	t.Helper()
	ks, found := keyspace.LoadIn(os.DirFS("."), "keyspace.yaml", map[string]string{"poppo": namespace})
	if len(found) > 0 {
		t.Fatal(found[0].Message)
	}
	items, targets := ks.Items()
	m, _, err := match.Compile(items)
	must(t, err)
	return func(key string) *keyspace.Key {
		if i := m.Match([]byte(key), nil); i != match.None {
			return targets[i].Key
		}
		return nil
	}
}
